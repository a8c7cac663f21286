package cas_test

import (
	"testing"
	"time"

	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
)

// The engine over a perfect store, which gives dates of different worth.
func TestConformance(t *testing.T) {
	for name, dates := range map[string]cas.Dates{
		"ExactDates":     {Trusted: true},
		"WholeSeconds":   {Trusted: true, Granularity: time.Second, Skew: 2 * time.Second},
		"UntrustedDates": {},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, backendtest.Harness{
				Bubble: true,
				Open:   func(t *testing.T) *backendtest.World { return world(t, dates) },
			})
		})
	}
}

func world(t *testing.T, dates cas.Dates) *backendtest.World {
	objects := memstore.New(clock.System)
	w := backendtest.NewWorld(t, cas.Options{Dates: dates}, func() cas.Store { return objects })
	w.Delete = func(name string) error { objects.Delete(name); return nil }
	if g := dates.Granularity; g > 0 {
		round(w, g)
	}
	return w
}

// round makes the store tell whole multiples of g, even while a check has it lie.
func round(w *backendtest.World, g time.Duration) {
	redate := w.Redate
	w.Redate = func(lie func(string, time.Time, time.Time) (time.Time, time.Time)) {
		redate(func(name string, modified, now time.Time) (time.Time, time.Time) {
			modified, now = modified.Truncate(g), now.Truncate(g)
			if lie != nil {
				modified, now = lie(name, modified, now)
			}
			return modified, now
		})
	}
	w.Redate(nil)
}
