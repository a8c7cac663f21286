package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// A store does what it is told instead of what it should.
type store struct {
	cas.Store
	load func(context.Context, string) (cas.Object, error)
	put  func(ctx context.Context, name, version string, data []byte) (cas.Object, error)
	free func(ctx context.Context, name, version string, data []byte) (cas.Object, error)
}

func (s store) Load(ctx context.Context, name string) (cas.Object, error) {
	if s.load == nil {
		return s.Store.Load(ctx, name)
	}
	return s.load(ctx, name)
}

func (s store) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	switch {
	case s.free != nil && stateOf(data) == `"free"`:
		return s.free(ctx, name, version, data)
	case s.put != nil:
		return s.put(ctx, name, version, data)
	}
	return s.Store.Put(ctx, name, version, data)
}

func (s store) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.Put(ctx, name, version, data)
}

func stateOf(data []byte) string { return string(fieldsOf(data)["state"]) }

// redated is a store whose answers have other dates.
func redated(f func(*cas.Object)) func(cas.Store) cas.Store {
	return answering(func(_ string, o *cas.Object) { f(o) })
}

// answering is a store whose answers are changed on their way.
func answering(f func(name string, o *cas.Object)) func(cas.Store) cas.Store {
	return func(inner cas.Store) cas.Store {
		change := func(name string, o cas.Object, err error) (cas.Object, error) {
			if err == nil {
				f(name, &o)
			}
			return o, err
		}
		return store{
			Store: inner,
			load: func(ctx context.Context, name string) (cas.Object, error) {
				o, err := inner.Load(ctx, name)
				return change(name, o, err)
			},
			put: func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
				o, err := inner.Put(ctx, name, version, data)
				return change(name, o, err)
			},
		}
	}
}

// editing is a store to which records are written differently.
func editing(f func(fields map[string]json.RawMessage)) func(cas.Store) cas.Store {
	return func(inner cas.Store) cas.Store {
		return store{
			Store: inner,
			put: func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
				fields := fieldsOf(data)
				f(fields)
				edited, err := json.Marshal(fields)
				if err != nil {
					return cas.Object{}, err
				}
				return inner.Put(ctx, name, version, edited)
			},
		}
	}
}

// unconditional is a store that ignores conditions.
func unconditional(inner cas.Store) cas.Store {
	return store{
		Store: inner,
		put: func(ctx context.Context, name, _ string, data []byte) (cas.Object, error) {
			for {
				o, err := inner.Load(ctx, name)
				if err != nil {
					return o, err
				}
				if o, err = inner.Put(ctx, name, o.Version, data); err == nil {
					return o, nil
				}
			}
		},
	}
}

// A spy sees what the engine is told.
type spy struct {
	carrier
	cas.Store
	deaf bool // reads fail after a write has

	mu      sync.Mutex
	failed  bool       // the last write has
	refused bool       // a write has been
	loaded  cas.Object // by the last load
	asked   time.Time  // before it
}

func (s *spy) Load(ctx context.Context, name string) (cas.Object, error) {
	if s.deaf && s.hasFailed() {
		return cas.Object{}, ErrReset
	}
	asked := time.Now()
	o, err := s.Store.Load(ctx, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.loaded = asked, o
	return o, err
}

func (s *spy) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	o, err := s.Store.Put(ctx, name, version, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err != nil
	s.refused = s.refused || errors.Is(err, cas.ErrConflict)
	return o, err
}

func (s *spy) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.Put(ctx, name, version, data)
}

func (s *spy) hasFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// wasRefused reports whether a write was refused since the last time.
func (s *spy) wasRefused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.refused
	s.refused = false
	return was
}

func (s *spy) last() cas.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// A client is an engine some of whose methods are replaced.
type client struct {
	*cas.Engine
	spy   *spy
	notes map[string]backends.Grant // what some replacements remember

	acquire func(context.Context, string, backends.Claim) (backends.Grant, error)
	renew   func(context.Context, backends.Grant) (backends.Grant, error)
	release func(context.Context, backends.Grant) error
	observe func(context.Context, string) (backends.Record, error)
	brk     func(ctx context.Context, name, version string) error
	limits  func() backends.Limits
}

func (c *client) Acquire(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
	if c.acquire == nil {
		return c.Engine.Acquire(ctx, name, claim)
	}
	return c.acquire(ctx, name, claim)
}

func (c *client) Renew(ctx context.Context, g backends.Grant) (backends.Grant, error) {
	if c.renew == nil {
		return c.Engine.Renew(ctx, g)
	}
	return c.renew(ctx, g)
}

func (c *client) Release(ctx context.Context, g backends.Grant) error {
	if c.release == nil {
		return c.Engine.Release(ctx, g)
	}
	return c.release(ctx, g)
}

func (c *client) Observe(ctx context.Context, name string) (backends.Record, error) {
	if c.observe == nil {
		return c.Engine.Observe(ctx, name)
	}
	return c.observe(ctx, name)
}

func (c *client) Break(ctx context.Context, name, version string) error {
	if c.brk == nil {
		return c.Engine.Break(ctx, name, version)
	}
	return c.brk(ctx, name, version)
}

func (c *client) Limits() backends.Limits {
	if c.limits == nil {
		return c.Engine.Limits()
	}
	return c.limits()
}

// granting changes what an acquisition returns.
func granting(f func(g *backends.Grant, err error) error) func(*client) {
	return func(c *client) {
		c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
			g, err := c.Engine.Acquire(ctx, name, claim)
			err = f(&g, err)
			return g, err
		}
	}
}

// renewing changes what a renewal returns.
func renewing(f func(old backends.Grant, g *backends.Grant, err error) error) func(*client) {
	return func(c *client) {
		c.renew = func(ctx context.Context, old backends.Grant) (backends.Grant, error) {
			g, err := c.Engine.Renew(ctx, old)
			err = f(old, &g, err)
			return g, err
		}
	}
}

// observing changes what is observed.
func observing(f func(*backends.Record)) func(*client) {
	return func(c *client) {
		c.observe = func(ctx context.Context, name string) (backends.Record, error) {
			r, err := c.Engine.Observe(ctx, name)
			f(&r)
			return r, err
		}
	}
}

// seize takes a lease away from whoever holds it.
func (c *client) seize(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
	if err := c.Engine.Break(ctx, name, ""); err != nil {
		return backends.Grant{}, err
	}
	return c.Engine.Acquire(ctx, name, claim)
}

// A look is what an impatient client remembers of its first one.
type look struct {
	asked time.Time // before it
	at    time.Time // after it
}

// impatient takes over when due says so, though the engine says no. key tells
// which looks are taken for ones at the same record.
func impatient(key func(backends.Record) string, due func(first look, last cas.Object, r backends.Record, own time.Duration) bool) func(*client) {
	return func(c *client) {
		looks := map[string]look{}
		c.acquire = func(ctx context.Context, name string, claim backends.Claim) (backends.Grant, error) {
			g, err := c.Engine.Acquire(ctx, name, claim)
			var held *backends.HeldError
			if !errors.As(err, &held) {
				return g, err
			}
			k := name + key(held.Record)
			if _, seen := looks[k]; !seen {
				looks[k] = look{c.spy.asked, time.Now()}
			}
			if due(looks[k], c.spy.last(), held.Record, claim.TTL) {
				return c.seize(ctx, name, claim)
			}
			return g, err
		}
	}
}

func byVersion(r backends.Record) string { return r.Version }

// skewed is the clock of an engine whose monotonic clock runs at another rate.
type skewed struct {
	clock.Clock
	start clock.Reading
	rate  float64
}

func (c skewed) Now() clock.Reading {
	now := c.Clock.Now()
	now.Mono = c.start.Mono + time.Duration(float64(now.Mono-c.start.Mono)*c.rate)
	return now
}

// atRate gives an engine such a clock.
func atRate(rate float64) func(cas.Store) cas.Store {
	return func(inner cas.Store) cas.Store {
		return clocked{clock.Carry(skewed{clock.System, clock.System.Now(), rate}), inner}
	}
}

type clocked struct {
	carrier
	cas.Store
}
