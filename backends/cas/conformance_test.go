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
	for name, o := range map[string]cas.Options{
		"ExactDates":     {Dates: cas.Dates{Trusted: true}},
		"WholeSeconds":   {Dates: cas.Dates{Trusted: true, Granularity: time.Second, Skew: 2 * time.Second}},
		"UntrustedDates": {},
		"Doubtful":       {Dates: cas.Dates{Trusted: true}, Doubtful: true},
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, backendtest.Harness{
				Bubble: true,
				Open:   func(t *testing.T) *backendtest.World { return world(t, o) },
			})
		})
	}
}

func world(t *testing.T, o cas.Options) *backendtest.World {
	objects := memstore.New(clock.System)
	w := backendtest.NewWorld(t, o, func() cas.Store { return objects })
	w.Delete = func(name string) error { objects.Delete(name); return nil }
	if g := o.Dates.Granularity; g > 0 {
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
