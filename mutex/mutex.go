package mutex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/setup"
)

// A Mutex is the configuration to take one lease: of one name, in one store.
// It holds nothing itself, may be shared, and is safe for concurrent use; a
// process holds at most one lease by it at a time. It has nothing to be closed.
type Mutex struct {
	backend backends.Backend
	name    string
	options Options
	clock   clock.Clock
	carrier
	log     *slog.Logger
	reached atomic.Bool // a request has succeeded

	mu   sync.Mutex
	busy chan struct{} // closed when the attempt in progress has ended; nil if none is
	live *Lease        // not yet gone
}

type carrier = clock.Carrier

// New returns a Mutex for the lease called name. A nil o means the defaults. It
// makes no request; it refuses what the backend's limits or arithmetic forbid,
// with an error that names the value and the rule.
func New(b backends.Backend, name string, o *Options) (*Mutex, error) {
	if b == nil {
		return nil, errors.New("mutex: the backend is nil")
	}
	check := backends.CheckName
	if c, ok := b.(backends.NameChecker); ok {
		check = c.CheckName
	}
	if err := check(name); err != nil {
		return nil, fmt.Errorf("mutex: %w", err)
	}
	options, err := o.filled(b)
	if err != nil {
		return nil, fmt.Errorf("mutex %q: %w", name, err)
	}
	c := clock.Of(b)
	return &Mutex{
		backend: b,
		name:    name,
		options: options,
		clock:   c,
		carrier: clock.Carry(c),
		log:     options.Logger.With("lease", name),
	}, nil
}

// Name returns the name of the lease.
func (m *Mutex) Name() string { return m.name }

// Options returns the settings in force, with the defaults filled in. Its Meta
// must not be changed.
func (m *Mutex) Options() Options { return m.options }

// TryLock makes one attempt to take the lease. If somebody holds it, the error
// is a *backends.HeldError, which matches ErrHeld and says who: perhaps this
// Mutex itself, since holds are not reentrant. Any other error says that the
// store could not be asked.
//
// If ctx ends first, TryLock returns its cause at once. Whatever the attempt may
// have taken although it failed is freed in the background. That lasts at most
// min(TTL/3, 5 s), and the next attempt on this Mutex waits for it.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) {
	l, err := m.attempt(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", m.name, err)
	}
	return l, nil
}

// Lock waits until it has taken the lease, or until ctx ends; then it returns
// ctx's cause. ctx bounds the wait, not the lease. Whoever waits gets no place
// in a queue: who wins is not deterministic.
//
// Until the store has answered for the first time, errors that tell of a
// wrong set-up end the wait: those that match backends.ErrDenied,
// ErrNoContainer, ErrUnsupported or ErrForeign, and a host name that does not
// exist. All other trouble, and later these too, is ridden out.
//
// Ended by ctx, Lock cleans up like TryLock.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) {
	var last error // the store's last word
	for failures := 0; ; {
		l, err := m.attempt(ctx, true)
		switch {
		case err == nil:
			return l, nil
		case context.Cause(ctx) != nil:
			if errors.Is(err, ErrHeld) { // by this Mutex itself
				last = err
			}
			return nil, m.gaveUp(ctx, last)
		case m.final(err):
			return nil, fmt.Errorf("lock %q: %w", m.name, err)
		}
		last = err
		if errors.Is(err, ErrHeld) {
			failures = 0
		} else {
			failures++
		}
		if clock.Sleep(ctx, m.clock, m.pause(failures, err)) != nil {
			return nil, m.gaveUp(ctx, last)
		}
	}
}

// gaveUp is what Lock returns when ctx has ended, with what it waited for.
func (m *Mutex) gaveUp(ctx context.Context, last error) error {
	if last == nil {
		return fmt.Errorf("lock %q: %w", m.name, context.Cause(ctx))
	}
	return fmt.Errorf("lock %q: %w; last answer: %w", m.name, context.Cause(ctx), last)
}

// Do runs f while it holds the lease: it waits like Lock, gives f the context of
// the lease within ctx, keeps renewing until f has returned, even when ctx has
// ended, and then releases. It returns nil only if f returned nil and the lease
// was still in force then; an error that matches ErrLost if it was not.
//
// If f panics, or ends its goroutine, nothing is released: the lease is
// abandoned, and runs out at the store.
func (m *Mutex) Do(ctx context.Context, f func(context.Context, *Lease) error) error {
	if f == nil {
		return fmt.Errorf("do %q: the function is nil", m.name)
	}
	l, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			l.Abandon(errors.New("the task did not return"))
		}
	}()
	within, cancel := l.Context(ctx)
	defer cancel()
	err = f(within, l)
	returned = true
	lost := l.Err()
	if released := l.Release(ctx); lost == nil && errors.Is(released, ErrLost) {
		lost = released
	}
	switch {
	case err == nil:
		return lost
	case lost == nil || errors.Is(err, ErrLost):
		return err
	default:
		return fmt.Errorf("%w; %w", err, lost)
	}
}

// Observe tells who holds the lease, without contending for it. It is one
// request, and writes nothing. It waits at most min(TTL/3, 10 s) for the answer.
func (m *Mutex) Observe(ctx context.Context) (backends.Record, error) {
	within, cancel := m.clock.WithTimeout(ctx, m.patience())
	defer cancel()
	r, err := m.backend.Observe(within, m.name)
	if err != nil {
		return backends.Record{}, fmt.Errorf("observe %q: %w", m.name, err)
	}
	return r, nil
}

// release frees g, in an attempt of bounded time. It has a goroutine of its own, so
// that the bound of ctx holds even if the backend takes no notice of it.
func (m *Mutex) release(ctx context.Context, g backends.Grant) error {
	request, cancel := m.clock.WithTimeout(ctx, m.settlement())
	answer := make(chan error, 1)
	go func() { defer cancel(); answer <- m.backend.Release(request, g) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	}
}

// final reports whether err ends a Lock: a wrong set-up must not look like
// waiting.
func (m *Mutex) final(err error) bool { return !m.reached.Load() && setup.Wrong(err) }

// enter waits until no attempt is in progress on m and no lease of m is live,
// and marks m as busy. Without wait a live lease is a HeldError.
func (m *Mutex) enter(ctx context.Context, wait bool) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for {
		busy, live := m.tryEnter()
		switch {
		case busy == nil && live == nil:
			return nil
		case live == nil:
			if !await(ctx, busy) {
				return context.Cause(ctx)
			}
		case live.Err() == nil && !wait:
			return live.heldError()
		case !await(ctx, live.gone) && wait:
			return live.heldError() // Lock adds ctx's cause
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// tryEnter marks m as busy, or returns what it has to wait for: an attempt in
// progress, or a live lease.
func (m *Mutex) tryEnter() (busy <-chan struct{}, live *Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.busy == nil && m.live == nil {
		m.busy = make(chan struct{})
		return nil, nil
	}
	if m.live != nil {
		m.log.Debug("lease is held by this mutex itself", "token", m.live.token)
	}
	return m.busy, m.live
}

// await reports whether c was closed before ctx ended.
func await(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

// leave ends what enter began; l is the lease that came of it, or nil.
func (m *Mutex) leave(l *Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.busy)
	m.busy, m.live = nil, l
}

// forget makes room for the next lease once l no longer counts.
func (m *Mutex) forget(l *Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live == l {
		m.live = nil
		close(l.gone)
	}
}

type acquired struct {
	grant backends.Grant
	err   error
}

// attempt asks for the lease once. The request has a goroutine of its own, so
// that a caller whose ctx ends need not wait even for a store that hangs.
func (m *Mutex) attempt(ctx context.Context, wait bool) (*Lease, error) {
	if err := m.enter(ctx, wait); err != nil {
		return nil, err
	}
	asked := stampOf(m.clock) // trust starts at the question
	request, cancel := m.clock.WithTimeout(ctx, m.patience())
	answer := make(chan acquired, 1)
	go func() {
		defer cancel()
		g, err := m.backend.Acquire(request, m.name, m.options.claim())
		if err != nil && request.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("no answer within %v: %w", m.patience(), err)
		}
		answer <- acquired{g, err}
	}()
	select {
	case a := <-answer:
		return m.conclude(asked, a)
	case <-ctx.Done():
		go func() { m.abandon(<-answer) }()
		return nil, context.Cause(ctx)
	}
}

// patience bounds one attempt. An answer that takes longer would be worth
// little: the deadline counts from the question.
func (m *Mutex) patience() time.Duration { return min(m.options.TTL/3, 10*time.Second) }

// settlement bounds a release.
func (m *Mutex) settlement() time.Duration { return min(m.options.TTL/3, 5*time.Second) }

// conclude makes a lease of an answer.
func (m *Mutex) conclude(asked stamp, a acquired) (*Lease, error) {
	if a.err == nil || errors.Is(a.err, ErrHeld) {
		m.reached.Store(true)
	}
	if a.err != nil {
		m.abandon(a)
		return nil, a.err
	}
	l := newLease(m, a.grant, asked)
	if l.over() {
		m.abandon(a)
		return nil, fmt.Errorf("the store took too long to answer: %w", l.Err())
	}
	m.leave(l)
	l.start()
	m.log.Info("lease acquired", "token", l.token, "holder", l.holder)
	return l, nil
}

// abandon ends an attempt that gave no lease. If it has taken something all the
// same, or may have, that is freed in the background, and m is busy until then.
func (m *Mutex) abandon(a acquired) {
	if a.err != nil && (a.grant.Proof == nil || turnedAway(a.err)) {
		m.leave(nil)
		return
	}
	go func() { m.settle(a); m.leave(nil) }()
}

// turnedAway reports whether the store would not even look at a request. Another
// one, to settle it, would fare no better; the next attempt finds out.
func turnedAway(err error) bool {
	var retry *backends.RetryError
	return errors.As(err, &retry) || errors.Is(err, backends.ErrDenied) ||
		errors.Is(err, backends.ErrNoContainer) || errors.Is(err, backends.ErrUnsupported)
}

// settle frees what an attempt took for nobody.
func (m *Mutex) settle(a acquired) {
	ctx, cancel := m.clock.WithTimeout(context.Background(), m.settlement())
	defer cancel()
	err := m.release(ctx, a.grant)
	m.log.Debug("attempt settled", "token", a.grant.Token, "error", err)
}
