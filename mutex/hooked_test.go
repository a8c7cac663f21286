package mutex_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/mutex"
)

// hooked is a backend whose calls a test can replace. It carries a clock.
type hooked struct {
	backends.Backend
	clock.Carrier
	acquire  hook[func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error)]
	renew    hook[func(ctx context.Context, g backends.Grant) (backends.Grant, error)]
	release  hook[func(ctx context.Context, g backends.Grant) error]
	acquires atomic.Int32
	renewals atomic.Int32
	releases atomic.Int32
	instant  atomic.Pointer[instant]
}

// An instant counts the renewals in it. In a bubble, code that spins stops the time.
type instant struct {
	at    time.Time
	calls atomic.Int32
}

func (h *hooked) countInstant() {
	i := h.instant.Load()
	if now := time.Now(); i == nil || !now.Equal(i.at) {
		i = &instant{at: now}
		h.instant.Store(i)
	}
	if i.calls.Add(1) > 10_000 {
		panic("renewals without a pause")
	}
}

// A hook is a call that a test may replace while it is made elsewhere.
type hook[F any] struct{ f atomic.Pointer[F] }

func (h *hook[F]) set(f F) { h.f.Store(&f) }
func (h *hook[F]) unset()  { h.f.Store(nil) }

func (h *hooked) Acquire(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
	h.acquires.Add(1)
	if f := h.acquire.f.Load(); f != nil {
		return (*f)(ctx, name, c)
	}
	return h.Backend.Acquire(ctx, name, c)
}

func (h *hooked) Renew(ctx context.Context, g backends.Grant) (backends.Grant, error) {
	h.renewals.Add(1)
	h.countInstant()
	if f := h.renew.f.Load(); f != nil {
		return (*f)(ctx, g)
	}
	return h.Backend.Renew(ctx, g)
}

func (h *hooked) Release(ctx context.Context, g backends.Grant) error {
	h.releases.Add(1)
	if f := h.release.f.Load(); f != nil {
		return (*f)(ctx, g)
	}
	return h.Backend.Release(ctx, g)
}

// blackHole never answers, and looks at no context: the worst that a backend
// can do. It ends with the test.
func blackHole(t *testing.T) chan struct{} {
	t.Helper()
	c := make(chan struct{})
	t.Cleanup(func() { close(c) })
	return c
}

// on returns a fresh client of store on machine c.
func on(c clock.Clock, store *memstore.Store) *hooked {
	type carrying struct {
		cas.Store
		carrier
	}
	engine := cas.New(carrying{store, clock.Carry(c)}, cas.Options{})
	return &hooked{Backend: engine, Carrier: clock.Carry(c)}
}

type carrier = clock.Carrier

// alone is a client with a machine and a store to itself.
func alone() (*hooked, *sim.Machine) {
	machine := sim.NewMachine(1, 0)
	return on(machine, memstore.New(clock.System)), machine
}

func lock(t *testing.T, b backends.Backend, o *mutex.Options) *mutex.Lease {
	t.Helper()
	l, err := newMutex(t, b, o).Lock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Release(context.Background()) })
	return l
}

// awaitEnd waits for the end of l, but not for ever.
func awaitEnd(t *testing.T, l *mutex.Lease) {
	t.Helper()
	select {
	case <-l.Done():
	case <-time.After(24 * time.Hour):
		require.Fail(t, "the lease does not end")
	}
}

const (
	ttl  = 30 * time.Second
	hold = 29100 * time.Millisecond // 0.98·30 s − 300 ms
)
