package cas_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
	"github.com/bloblease/bloblease/internal/sim"
)

type carrier = clock.Carrier

// on is an engine over store whose clocks are those of m.
func on(m *sim.Machine, store cas.Store) *cas.Engine {
	type carrying struct {
		cas.Store
		carrier
	}
	return cas.New(carrying{store, clock.Carry(m)}, cas.Options{})
}

func acquired(t *testing.T, e *cas.Engine) backends.Grant {
	t.Helper()
	g, err := e.Acquire(t.Context(), "job", backends.Claim{Holder: "x", TTL: time.Minute})
	require.NoError(t, err)
	return g
}

// A life of the record comes and goes between a process's last look and its
// acquisition. What the look showed, nothing, still holds; its date does not.
func TestTokensRiseOverALifeThatWasNotSeen(t *testing.T) {
	for name, pass := range map[string]func(m *sim.Machine, d time.Duration){
		"awake":  func(_ *sim.Machine, d time.Duration) { time.Sleep(d) },
		"asleep": func(m *sim.Machine, d time.Duration) { m.Suspend(); time.Sleep(d); m.Resume() },
	} {
		for _, d := range []time.Duration{5 * time.Second, 20 * time.Second, time.Minute, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				store, machine := memstore.New(clock.System), sim.NewMachine(1, 0)
				early := on(machine, store)
				_, err := early.Observe(t.Context(), "job")
				require.NoError(t, err)
				pass(machine, d)
				unseen := acquired(t, on(sim.NewMachine(1, 0), store))
				store.Delete("job")
				pass(machine, 2*time.Second)
				require.Greater(t, acquired(t, early).Token, unseen.Token, "%s for %v", name, d)
			})
		}
	}
}
