package show

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is the same clock in every process of a machine, and nobody sets it.
func uptime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // every Linux since 2.6.39 has it
	}
	return time.Duration(ts.Nano())
}
