//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/slottest"
)

func TestConformance(t *testing.T) {
	inMemory(t)
	backendtest.Run(t, harness)
}

func TestSlots(t *testing.T) {
	inMemory(t)
	slottest.Run(t, harness)
}

// inMemory is for what needs no disk.
func inMemory(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

var harness = backendtest.Harness{Bubble: true, Open: func(t *testing.T) *backendtest.World {
	dir := t.TempDir()
	o := options
	o.Dates.Own = false // the suite makes them lie
	w := backendtest.NewWorld(t, o, func() cas.Store { return newStore(dir, bubbleClock{clock.System}) })
	file := func(name string) string { return filepath.Join(dir, filesOf(name).record) }
	w.Delete = func(name string) error { return os.Remove(file(name)) }
	w.Read = func(name string) []byte {
		stored, _ := os.ReadFile(file(name)) // whole, where a store reads no more than it has to
		data, _ := split(stored)
		return data
	}
	return w
}}

// bubbleClock is the clock of a bubble, in which the boot clock stays real
// otherwise.
type bubbleClock struct{ clock.Clock }

func (bubbleClock) Boot() (clock.Boot, bool) {
	return clock.Boot{ID: "bubble", Since: time.Since(time.Unix(0, 0))}, true
}
