package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/mutex"
)

var (
	// ErrResign is returned by a task to give the lease up: Run releases it,
	// holds back for one poll so that others may have it, and campaigns again.
	ErrResign = errors.New("leader resigns")
	// ErrHung is why the context of a task ends that has not beaten in time,
	// and what Run returns if a task outstayed StopTimeout.
	ErrHung = errors.New("leader's task hangs")
)

const defaultStopTimeout = 30 * time.Second

// Options are the settings of Run. Zero values mean the defaults.
type Options struct {
	// StopTimeout is how long the lease is still renewed for a task that has
	// not returned since ctx ended; and how long after that, or after a loss, a
	// task that has not returned is logged as an error. Default 30 s.
	StopTimeout time.Duration
	// Liveness, if set, is the longest time that a task may go without a call
	// of Beat, from its start on. At least 10 ms.
	Liveness time.Duration
}

func (o *Options) filled() (Options, error) {
	var f Options
	if o != nil {
		f = *o
	}
	if f.StopTimeout == 0 {
		f.StopTimeout = defaultStopTimeout
	}
	switch {
	case f.StopTimeout < 0:
		return f, fmt.Errorf("leader: StopTimeout %v is negative", f.StopTimeout)
	case f.Liveness < 0:
		return f, fmt.Errorf("leader: Liveness %v is negative", f.Liveness)
	case f.Liveness > 0 && f.Liveness < 10*time.Millisecond:
		return f, fmt.Errorf("leader: Liveness %v is below the minimum of 10ms", f.Liveness)
	}
	return f, nil
}

// Run campaigns for the lease of m and calls lead each time it has won, until
// ctx ends or lead gives a reason to stop. It calls lead on its own goroutine,
// once for each term, never twice at once, and does not return before lead has.
//
// The context of lead ends when ctx does or when the lease is lost; lead should
// then return soon. Guarded writes carry the token of the lease, since what lead
// has under way at that moment may still arrive.
//
// What comes after lead has returned:
//
//	the lease was lost       campaign again, whatever lead returned
//	ctx has ended            release; Run returns nil, or lead's error if that
//	                         is another than the end of its context
//	lead returned ErrResign  release, hold back for one poll, campaign again
//	anything else            release; Run returns it, nil included
//
// While lead is still busy after ctx has ended, the lease is renewed, so that no
// other leader starts meanwhile: for StopTimeout at most. After that renewal
// stops, the lease runs out, and Run's error, once lead has returned at last,
// matches ErrHung.
//
// A panic in lead passes through Run. Then, as after runtime.Goexit, nothing is
// released, since lead's work may be half done: the lease runs out.
//
// Errors of the set-up are returned as by mutex.Lock. A nil o means the defaults.
func Run(ctx context.Context, m *mutex.Mutex, lead func(context.Context, *mutex.Lease) error, o *Options) error {
	options, err := o.filled()
	if err != nil {
		return err
	}
	if m == nil || lead == nil {
		return errors.New("leader: the mutex or the task is nil")
	}
	c := &campaign{m: m, lead: lead, options: options, clock: clock.Of(m)}
	c.log = m.Options().Logger.With("lease", m.Name())
	for {
		again, err := c.term(ctx)
		if !again {
			return err
		}
	}
}

// A campaign is one call of Run.
type campaign struct {
	m       *mutex.Mutex
	lead    func(context.Context, *mutex.Lease) error
	options Options
	clock   clock.Clock
	log     *slog.Logger
}

// term waits for the lease and leads once. It reports whether to campaign again,
// and if not, what Run returns.
func (c *campaign) term(ctx context.Context) (again bool, err error) {
	lease, err := c.m.Lock(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return false, err
	}
	led, hung := c.run(ctx, lease)
	ended := lease.Err()
	lost := lossOf(ended)
	if released := lease.Release(ctx); lost == nil {
		lost = lossOf(released)
	}
	switch {
	case ctx.Err() != nil:
		return false, stopped(ctx, led, ended, hung)
	case lost != nil:
		c.log.Warn("campaigning again", "lost", lost, "result", led)
	case errors.Is(led, ErrResign):
		c.log.Info("resigned", "result", led)
	default:
		return false, led
	}
	if lost == nil || errors.Is(lost, ErrHung) { // let others go first
		_ = clock.Sleep(ctx, c.clock, c.m.Options().Poll)
	}
	return true, nil
}

// lossOf is err if it tells of a loss. A task may release its lease itself.
func lossOf(err error) error {
	if errors.Is(err, mutex.ErrLost) {
		return err
	}
	return nil
}

// stopped is what Run returns after ctx has ended. The lease had ended with ended, if
// it had.
func stopped(ctx context.Context, led, ended error, hung bool) error {
	if onlyTheEnd(led, ended, context.Canceled, ctx.Err(), context.Cause(ctx), mutex.ErrLost, mutex.ErrReleased, ErrResign) {
		led = nil
	}
	switch {
	case !hung:
		return led
	case led == nil:
		return fmt.Errorf("%w: it outstayed StopTimeout", ErrHung)
	default:
		return fmt.Errorf("%w: it outstayed StopTimeout; %w", ErrHung, led)
	}
}

// onlyTheEnd reports whether err says no more than one of ends. Of errors that are
// joined, each must.
func onlyTheEnd(err error, ends ...error) bool {
	same := func(end error) bool { return end != nil && reflect.TypeOf(end).Comparable() && err == end } //nolint:errorlint // step by step
	if slices.ContainsFunc(ends, same) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // step by step
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(part error) bool { return !onlyTheEnd(part, ends...) })
	case interface{ Unwrap() error }:
		return onlyTheEnd(e.Unwrap(), ends...)
	default:
		return false
	}
}

// run calls the task, under supervision.
func (c *campaign) run(ctx context.Context, lease *mutex.Lease) (led error, hung bool) {
	within, cancel := lease.Context(ctx)
	pulse := newPulse(c.clock)
	s := &supervisor{campaign: c, lease: lease, pulse: pulse, returned: make(chan struct{}), over: make(chan struct{})}
	go s.watch(ctx)
	returned := false
	defer func() {
		if !returned {
			lease.Abandon(errors.New("the task did not return"))
		}
		cancel()
		close(s.returned)
		<-s.over
	}()
	led = c.lead(withPulse(within, pulse), lease)
	returned = true
	return led, s.outstayed.Load()
}
