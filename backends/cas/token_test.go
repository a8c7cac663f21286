package cas_test

import (
	"context"
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

// A clock that carries a date on for an hour runs ahead of the store's.
func TestATokenIsNotAheadOfTheStoresClock(t *testing.T) {
	for _, pause := range []time.Duration{time.Second, 20 * time.Second, time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New(clock.System)
			e := on(sim.NewMachine(1.01, 0), store)
			_, err := e.Observe(t.Context(), "job")
			require.NoError(t, err)
			time.Sleep(pause)
			require.LessOrEqual(t, acquired(t, e).Token>>20, backends.Token(time.Now().Unix()), "%v later", pause)
		})
	}
}

// slow holds up one read's answer, or one write on its way.
type slow struct {
	cas.Store
	load, put time.Duration
}

func (s *slow) Load(ctx context.Context, name string) (cas.Object, error) {
	o, err := s.Store.Load(ctx, name)
	time.Sleep(s.load)
	s.load = 0
	return o, err
}

func (s *slow) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	time.Sleep(s.put)
	s.put = 0
	return s.Store.Put(ctx, name, version, data)
}

// The same while the acquisition itself is under way.
func TestTokensRiseOverALifeDuringASlowAcquisition(t *testing.T) {
	for _, held := range []slow{{load: 8 * time.Second}, {put: 8 * time.Second}, {load: 4 * time.Second, put: 4 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New(clock.System)
			held.Store = store
			var unseen backends.Grant
			go func() {
				time.Sleep(3 * time.Second)
				unseen = acquired(t, on(sim.NewMachine(1, 0), store))
				store.Delete("job")
			}()
			g := acquired(t, on(sim.NewMachine(1, 0), &held))
			require.Greater(t, g.Token, unseen.Token)
			stored, err := store.Load(t.Context(), "job")
			require.NoError(t, err)
			require.Equal(t, g.Version, stored.Version, "what was granted is what stands there")
		})
	}
}

func TestAQuickAcquisitionIsOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(clock.System)
		time.Sleep(990 * time.Millisecond) // the answer and the write are of two seconds
		g := acquired(t, on(sim.NewMachine(1, 0), &slow{Store: store, load: time.Second / 2, put: time.Second / 2}))
		stored, err := store.Load(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, "1", stored.Version)
		require.Equal(t, g.Version, stored.Version)
	})
}
