package mutex

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
)

// A Lease is one term, won by Lock or TryLock. It is renewed in the background
// until it ends: by Release, by Abandon, or because it is lost. An ended
// Lease never comes back; lock again for a new one.
//
// All methods are safe for concurrent use.
type Lease struct {
	mutex  *Mutex
	name   string
	holder string
	token  Token
	ttl    time.Duration
	limit  atomic.Pointer[deadline] // of the newest confirmed write
	ctx    context.Context          // ends with the lease, and its cause says why
	cancel context.CancelCauseFunc
	idle   chan struct{} // closed when the renewing goroutine has returned
	gone   chan struct{} // closed when this lease no longer keeps m from the next

	mu        sync.Mutex
	grant     backends.Grant
	mark      string // for the release to record; "" for none
	children  map[*leaseContext]struct{}
	lastError error // of the renewals since the last confirmed one

	releasing atomic.Bool
	released  chan struct{} // closed when result is set
	result    error
}

func newLease(m *Mutex, g backends.Grant, asked stamp) *Lease {
	l := &Lease{
		mutex:    m,
		name:     g.Name,
		holder:   g.Holder,
		token:    g.Token,
		ttl:      g.TTL,
		grant:    g,
		idle:     make(chan struct{}),
		gone:     make(chan struct{}),
		released: make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	l.limit.Store(deadlineOf(asked, hold(l.ttl)))
	return l
}

// start begins to renew and to watch the clocks. Both goroutines end when the
// lease does; Release waits for them.
func (l *Lease) start() {
	watched := make(chan struct{})
	go func() { defer close(watched); l.watch() }()
	go func() { defer close(l.idle); l.keep(l.limit.Load()); <-watched }()
}

// Name returns the name of the lease.
func (l *Lease) Name() string { return l.name }

// Token returns the fencing token of this term. It is higher than that of every
// earlier term of this lease, and constant over the term. Send it along with
// every write that the lease guards, and have the resource refuse a lower one
// than it has seen.
func (l *Lease) Token() Token { return l.token }

// Version returns the store's own condition for the lock object as last written
// by this term: an ETag, a generation. It tells which write, not which is newer:
// compare it for equality, and tokens for order.
func (l *Lease) Version() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Version
}

// Mark returns the mark that the record of this lease bore when the term began: what
// the last release that had one has recorded, "" if none has.
func (l *Lease) Mark() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant.Done
}

// SetMark makes Release record mark, in the place of the one that is there, when it
// frees the lease: what is done, for the terms that come. It is at most 1,024 bytes
// of UTF-8 without control characters; else the error says so. "" leaves the old
// one. Of several calls the last one before Release counts; a call after that is in
// vain. leader.Once keeps its slots there, and takes no other mark beside them.
func (l *Lease) SetMark(mark string) error {
	if err := backends.CheckDone(mark); err != nil {
		return fmt.Errorf("mark lease %q: %w", l.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mark = mark
	return nil
}

// Done returns a channel that is closed when the lease ends. Err tells sooner:
// it looks at the clocks, while the channel is closed up to a quarter of a
// second of running time later when the machine was suspended.
func (l *Lease) Done() <-chan struct{} { return l.ctx.Done() }

// Err returns nil while the lease is in force. Afterwards it returns why it
// ended: an error that matches ErrReleased or ErrLost. It asks the clocks
// itself, so it is right even at the moment after a pause, and it ends the lease
// if they say so. It costs about as much as a look at a clock.
func (l *Lease) Err() error {
	if l.ctx.Err() == nil && l.remaining(false) > 0 {
		return nil
	}
	return context.Cause(l.ctx)
}

// Remaining returns how long the lease will be in force without another renewal,
// and 0 once it has ended. Like Err it asks the clocks.
func (l *Lease) Remaining() time.Duration {
	if l.ctx.Err() != nil {
		return 0
	}
	return l.remaining(false)
}

// remaining asks the clocks; if the time is up it ends the lease, and returns 0.
func (l *Lease) remaining(thorough bool) time.Duration {
	left := l.limit.Load().left(l.mutex.clock, thorough)
	if left > 0 {
		return left
	}
	l.end(l.expired())
	return 0
}

// over asks all clocks whether the lease has ended. It is asked when an answer
// has come: what has changed then is how long the lease may be trusted, and the
// machine may have slept meanwhile.
func (l *Lease) over() bool { return l.ctx.Err() != nil || l.remaining(true) == 0 }

func (l *Lease) expired() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastError != nil {
		return fmt.Errorf("%w: not renewed in time: %w", ErrLost, l.lastError)
	}
	return fmt.Errorf("%w: not renewed in time", ErrLost)
}

// Context returns a context that ends when parent does, when the lease does, or
// when cancel is called. After the lease's end context.Cause of it matches
// ErrLost or ErrReleased. It carries the token; see backends.TokenFrom. Its Err
// and Done ask the clocks, like the Err of the lease.
func (l *Lease) Context(parent context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(backends.WithToken(parent, l.token))
	c := &leaseContext{Context: inner, lease: l, cancel: cancel}
	l.mu.Lock()
	if l.ctx.Err() == nil {
		if l.children == nil {
			l.children = make(map[*leaseContext]struct{})
		}
		l.children[c] = struct{}{}
	}
	l.mu.Unlock()
	c.check()
	return c, func() {
		cancel(context.Canceled)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.children, c)
	}
}

// end ends the lease, for the first cause that is given.
func (l *Lease) end(cause error) {
	l.mu.Lock()
	if l.ctx.Err() != nil {
		l.mu.Unlock()
		return
	}
	l.cancel(cause)
	children := l.children
	l.children = nil
	l.mu.Unlock()
	for c := range children {
		c.cancel(cause)
	}
	if errors.Is(cause, ErrLost) { // else Release still has to write
		l.mutex.forget(l)
		l.mutex.log.Warn("lease lost", "token", l.token, "error", cause)
	}
}

// Abandon ends the lease on this side only: renewing stops, and contexts end
// with an error that matches ErrLost and cause. The record stays as it is and
// runs out after a TTL, unless Release is called. It is for work that may not
// have stopped, such as a task that hangs.
func (l *Lease) Abandon(cause error) {
	if cause == nil {
		cause = errors.New("no reason was given")
	}
	l.end(fmt.Errorf("%w: abandoned: %w", ErrLost, cause))
}

// Release ends the lease and frees it for others. Call it when the work that it
// guards has ended: the contexts of the lease end now, and another process may
// hold it before Release returns. Releasing twice is releasing once.
//
// Nil means that it is free. An error that matches ErrLost means that the lease
// had ended before, by itself: then somebody else may have held it while the
// work went on. After any other error it is not known to be free, but will be
// within a TTL.
//
// Release waits at most min(TTL/3, 5 s). It retries until ctx ends, and makes one
// attempt even if ctx has ended before, so that a SIGTERM frees the lease. With a
// mark to record (SetMark) it retries for a TTL, as long as ctx has not ended.
func (l *Lease) Release(ctx context.Context) error {
	if l.releasing.Swap(true) {
		return l.awaitRelease(ctx)
	}
	err := l.Err()
	l.end(ErrReleased)
	if freed := l.free(ctx, err == nil); err == nil {
		err = freed
	}
	if err == nil {
		l.mutex.log.Info("lease released", "token", l.token)
	} else {
		err = fmt.Errorf("release %q: %w", l.name, err)
		l.mutex.log.Warn("lease ended without a release", "token", l.token, "error", err)
	}
	l.result = err
	close(l.released)
	l.mutex.forget(l)
	return err
}

// awaitRelease returns what the first Release did, unless ctx ends before that has
// returned.
func (l *Lease) awaitRelease(ctx context.Context) error {
	select {
	case <-l.released:
		return l.result
	default:
	}
	select {
	case <-l.released:
		return l.result
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// free writes the release, within its bound; after a loss, to spare the others a
// wait, it tries but once. It waits for a renewal that is under way, since it has
// to know what that wrote.
func (l *Lease) free(ctx context.Context, insist bool) error {
	c, bound := l.mutex.clock, l.mutex.settlement()
	if l.marked().Done != l.Mark() && ctx.Err() == nil {
		bound = l.ttl
	}
	within, cancel := c.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	select {
	case <-l.idle:
	case <-within.Done():
		return errors.New("a renewal is stuck")
	}
	if err := l.storesWord(); err != nil {
		return err // there is nothing to free
	}
	g := l.marked()
	for n := 1; ; n++ {
		err := l.mutex.release(within, g)
		if err == nil || errors.Is(err, ErrLost) || ctx.Err() != nil || !insist {
			return err
		}
		pause := max(backoff(c, l.ttl/60, l.ttl/12, n), retryAfter(err))
		if !l.rest(ctx, within, pause) {
			return err
		}
	}
}

// rest sleeps between two attempts. It reports whether there is time for another one:
// until within ends; when ctx does, it is the last, and comes at once.
func (l *Lease) rest(ctx, within context.Context, pause time.Duration) bool {
	either, cancel := context.WithCancel(within)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	_ = clock.Sleep(either, l.mutex.clock, pause)
	return within.Err() == nil
}

// marked is the grant to release, with the mark to record.
func (l *Lease) marked() backends.Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.grant
	if l.mark != "" {
		g.Done = l.mark
	}
	return g
}

// storesWord returns the error by which the store has said that the term is over,
// if it has.
func (l *Lease) storesWord() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.lastError, ErrLost) {
		return l.lastError
	}
	return nil
}

// heldError tells a second locker of the same Mutex whom it waits for.
func (l *Lease) heldError() error {
	return fmt.Errorf("this Mutex holds it: %w", &backends.HeldError{Record: l.record()})
}

// record describes the own lease to a second locker.
func (l *Lease) record() backends.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return backends.Record{
		State:   backends.Held,
		Holder:  l.holder,
		ID:      l.grant.ID,
		Token:   l.token,
		TTL:     l.ttl,
		Done:    l.grant.Done,
		Meta:    l.mutex.options.Meta,
		Version: l.grant.Version,
	}
}
