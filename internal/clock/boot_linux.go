package clock

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func boot() (Boot, bool) {
	id := bootID()
	if id == "" {
		return Boot{}, false
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return Boot{}, false
	}
	return Boot{ID: id, Since: time.Duration(ts.Nano())}, true
}

// bootID is the kernel's boot ID, with the time namespace behind it: two
// containers of one machine may see boot clocks that are offset.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, _ := os.Readlink("/proc/self/ns/time") // kernels before 5.6 have none
	return strings.TrimSpace(string(id)) + strings.TrimPrefix(namespace, "time:")
})
