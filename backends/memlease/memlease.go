// Package memlease keeps leases in memory: for one process, for examples, and
// for testing what your program does when its lease is lost.
//
// It behaves like every other backend, so that a program tested on it needs no
// change but the backend. In a testing/synctest bubble a lease of hours expires
// in a millisecond. Two methods bring about what is hard to bring about in a
// cloud: [Backend.Fail] takes the store away, and Break, which the engine
// provides, ends a term by force.
package memlease

import (
	"context"
	"sync/atomic"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
)

// A Backend keeps leases in memory. It is safe for concurrent use. Contenders
// compete only if they share one.
type Backend struct {
	*cas.Engine
	store *failing
}

// New returns an empty Backend. TTLs of 1 s to 24 h are allowed, and polls down to
// 10 ms.
func New() *Backend {
	store := &failing{Store: memstore.New(clock.System)}
	return &Backend{
		Engine: cas.New(store, cas.Options{Dates: cas.Dates{Trusted: true, Own: true}}),
		store:  store,
	}
}

// Fail makes every request fail with err from now on, without effect, like a
// store that cannot be reached. Fail(nil) heals it. It may be called at any
// time.
func (b *Backend) Fail(err error) {
	b.store.failure.Store(&err)
}

// failing is a store that can be told to fail.
type failing struct {
	*memstore.Store
	failure atomic.Pointer[error]
}

func (s *failing) fails() error {
	if err := s.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Load implements cas.Store.
func (s *failing) Load(ctx context.Context, name string) (cas.Object, error) {
	if err := s.fails(); err != nil {
		return cas.Object{}, err
	}
	return s.Store.Load(ctx, name)
}

// Put implements cas.Store.
func (s *failing) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	if err := s.fails(); err != nil {
		return cas.Object{}, err
	}
	return s.Store.Put(ctx, name, version, data)
}

// Touch implements cas.Store.
func (s *failing) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.Put(ctx, name, version, data)
}

// Describe implements cas.Verifiable.
func (s *failing) Describe() string { return "memory" }

// Fresh implements cas.Verifiable: there are no connections.
func (s *failing) Fresh() (cas.Store, func()) { return s, func() {} }

// Right implements cas.Verifiable.
func (s *failing) Right(r cas.Right, _ error) string { return r.String() }

// Inspect implements cas.Verifiable.
func (s *failing) Inspect(context.Context, string, string) ([]backends.Check, error) {
	return nil, nil
}
