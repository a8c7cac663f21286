package memlease

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
	"github.com/bloblease/bloblease/internal/slottest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A Backend is one client only. The suite needs several, so it gets the store.
var harness = backendtest.Harness{Bubble: true, Open: func(t *testing.T) *backendtest.World {
	objects := memstore.New(clock.System)
	o := cas.Options{Dates: cas.Dates{Trusted: true}}
	w := backendtest.NewWorld(t, o, func() cas.Store { return &failing{Store: objects} })
	w.Delete = func(name string) error { objects.Delete(name); return nil }
	return w
}}

func TestConformance(t *testing.T) { backendtest.Run(t, harness) }

func TestSlots(t *testing.T) { slottest.Run(t, harness) }
