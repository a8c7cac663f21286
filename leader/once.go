package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/setup"
	"github.com/bloblease/bloblease/mutex"
)

// ErrNotRecorded is what Once returns when the job has been done but the store does
// not say so, or cannot be asked. It may be done again.
var ErrNotRecorded = errors.New("slot is not recorded as done")

// ErrSlotAhead is what Once returns for Every when the record says of a slot that it is
// done which is more than a period after the one that is due by the store's clock: that
// clock was wrong when the slot was recorded, or it is wrong now. The error names both.
// Until the due slot has caught up nothing is run; docs/cron.md says what to do.
var ErrSlotAhead = errors.New("slot is far ahead of the store's clock")

// What Every assumes of clocks, if it is not told: no more than this, and no more than
// an eighth of the period.
const usualSkew = 5 * time.Minute

// longestRetryAfter bounds what a store may ask of a waiter.
const longestRetryAfter = time.Minute

// OnceOptions are the settings of Once. Zero values mean the defaults.
type OnceOptions struct {
	// NoWait makes Once return mutex.ErrHeld if somebody else is at it, instead
	// of waiting for what becomes of that; and the first error of the store.
	NoWait bool
	// StopTimeout and Liveness are those of Options.
	StopTimeout time.Duration
	Liveness    time.Duration

	// Skew is how much the clock that starts the job may differ from the
	// store's, for Every. Default 5 min, or an eighth of the period if that is
	// less.
	Skew time.Duration
	// Grace is how long before its time a slot of Every may be run. It is more
	// than Skew, and less than half of the period. Default twice the Skew.
	Grace time.Duration

	// MinHold is for a job without a slot: the lease is held for so long even if
	// the job takes less, so that others who start by a clock that is somewhat
	// behind find it held. It is longer than clocks differ, and shorter than the
	// time between two runs.
	MinHold time.Duration
}

// filled returns o with the defaults for s in place, or an error that names the value
// that breaks a rule.
func (o *OnceOptions) filled(s Slot) (OnceOptions, error) {
	var f OnceOptions
	if o != nil {
		f = *o
	}
	common, err := (&Options{StopTimeout: f.StopTimeout, Liveness: f.Liveness}).filled()
	if err != nil {
		return f, err
	}
	f.StopTimeout = common.StopTimeout
	if err = f.checkSlot(s); err == nil && s.kind == kindEvery {
		err = f.fillGrace(s.period)
	}
	if err != nil {
		return f, fmt.Errorf("leader: %w", err)
	}
	return f, nil
}

func (o *OnceOptions) checkSlot(s Slot) error {
	switch {
	case s.err != nil:
		return s.err
	case o.MinHold < 0:
		return fmt.Errorf("MinHold %v is negative", o.MinHold)
	case s.kind == "" && o.MinHold == 0:
		return errors.New("the slot is missing; without one, MinHold is needed")
	case s.kind != "" && o.MinHold > 0:
		return fmt.Errorf("MinHold %v is for a job without a slot", o.MinHold)
	case s.kind != kindEvery && (o.Skew != 0 || o.Grace != 0):
		return errors.New("only Every takes Skew and Grace")
	}
	return nil
}

func (o *OnceOptions) fillGrace(period time.Duration) error {
	if o.Skew == 0 {
		o.Skew = min(usualSkew, period/8)
		if o.Grace > 0 {
			o.Skew = min(o.Skew, o.Grace/2)
		}
	}
	if o.Grace == 0 {
		o.Grace = 2 * o.Skew
	}
	switch {
	case o.Skew < 0 || o.Grace <= o.Skew:
		return fmt.Errorf("the Grace of %v is not above the Skew of %v, which is not negative", o.Grace, o.Skew)
	case o.Grace >= period-o.Grace:
		return fmt.Errorf("the Grace of %v is not below half of the period of %v", o.Grace, period)
	}
	return nil
}

// Once runs a job unless its slot is done, and records the slot as done when run has
// returned nil: in the write that releases the lease, or on Azure right before it.
// However many replicas call it, in whatever order and however far apart, the job of
// a slot that is recorded is not begun again. Nil means that the slot is done: ran
// tells whether by this very call.
//
// If the slot is done already, Once returns (false, nil) after one request, a read.
// If somebody else is at it, Once waits to see it done, and takes the lease over if
// that one dies, so that the slot is not lost; until ctx ends. With NoWait it returns
// mutex.ErrHeld. A store that cannot be reached is waited for as well, but errors of
// the set-up are returned as by mutex.Lock.
//
// Once calls run on its own goroutine, at most once, and does not return before run
// has. The context of run is that of Run's lead: it ends when ctx does or when the
// lease is lost, carries the token, and may be given to Beat; see also SlotTime. The
// lease is renewed until run has returned, for StopTimeout at most after ctx has
// ended. Then it is released, though ctx may have ended.
//
// A slot of Every that is recorded more than a period ahead of the store's clock is an
// error, ErrSlotAhead.
//
// What comes after run has returned:
//
//	nil                      the slot is recorded; Once returns (true, nil)
//	an error                 the slot stays open, and whoever waits may run it at
//	                         once; Once returns (true, that error)
//	nil, but it was not      (true, an error that matches ErrNotRecorded): the
//	recorded                 release failed, for a TTL or until ctx ended, and,
//	                         read again, the record does not say that the slot
//	                         is done. It may be run again.
//	anything, but the lease  the error matches mutex.ErrLost: somebody else may
//	was lost meanwhile       have run the slot at the same time. ErrNotRecorded
//	                         tells as above whether the slot is recorded.
//
// So a slot is run once if nothing happens, and again if the process crashes, or
// loses the lease, before it is recorded: what the job does should bear that, or be
// guarded by the token. After a panic in run, which passes through, and after
// runtime.Goexit, nothing is released nor recorded: the lease runs out, the slot stays
// open.
//
// The slots of a lease are in its record, in the mark that Lease.Mark tells. If that
// is none of Once's, Once returns an error that matches backends.ErrForeign.
//
// Without a slot, the zero Slot, MinHold takes its place: Once runs the job if nobody
// holds the lease, else it returns mutex.ErrHeld at once, and it returns no sooner
// than MinHold after the lease was acquired, whatever run returned. If ctx ends before
// that, the lease is left to run out. Nil means that it was run.
//
// When ctx ends, Once returns as soon as run has and the lease is released: within
// 10 s, if the store is silent. A nil o means the defaults.
func Once(ctx context.Context, m *mutex.Mutex, slot Slot, run func(context.Context, *mutex.Lease) error, o *OnceOptions) (ran bool, err error) {
	options, err := o.filled(slot)
	if err != nil {
		return false, err
	}
	if m == nil || run == nil {
		return false, errors.New("leader: the mutex or the task is nil")
	}
	j := newJob(m, slot, run, options)
	lease, err := j.win(ctx)
	switch {
	case err != nil:
		return false, fmt.Errorf("once %q: %w", m.Name(), err)
	case lease == nil:
		return false, nil
	case j.slot.kind == "":
		err = j.hold(ctx, lease)
	default:
		err = j.record(ctx, lease)
	}
	return true, err
}

// A job is one call of Once.
type job struct {
	campaign
	options OnceOptions
	slot    Slot
	next    string // the mark with the slot as done
	reached bool   // the store has been seen to keep leases; a read alone does not say so
}

func newJob(m *mutex.Mutex, slot Slot, run func(context.Context, *mutex.Lease) error, o OnceOptions) *job {
	j := &job{options: o, slot: slot}
	j.campaign = campaign{m: m, options: Options{StopTimeout: o.StopTimeout, Liveness: o.Liveness}, clock: clock.Of(m)}
	j.log = m.Options().Logger.With("lease", m.Name())
	j.lead = func(ctx context.Context, l *mutex.Lease) error {
		return run(context.WithValue(ctx, slotKey{}, j.slot), l)
	}
	return j
}

// win waits for the lease, or until the slot is done; then there is no lease.
func (j *job) win(ctx context.Context) (*mutex.Lease, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for failures := 0; ; {
		lease, done, err := j.attempt(ctx)
		switch {
		case err == nil && (done || lease != nil):
			return lease, nil
		case ctx.Err() != nil:
			return nil, waited(ctx, err)
		case j.options.NoWait || j.slot.kind == "" || j.final(err):
			return nil, err
		}
		if errors.Is(err, mutex.ErrHeld) {
			failures = 0
		} else {
			failures++
		}
		if clock.Sleep(ctx, j.clock, j.pause(failures, err)) != nil {
			return nil, waited(ctx, err)
		}
	}
}

// waited is what Once returns when ctx has ended, with what it waited for.
func waited(ctx context.Context, last error) error {
	cause := context.Cause(ctx)
	if errors.Is(last, cause) {
		return last
	}
	return fmt.Errorf("%w; last answer: %w", cause, last)
}

// attempt looks whether the slot is done, and contends for the lease only if it is
// not, and nobody holds it.
func (j *job) attempt(ctx context.Context) (lease *mutex.Lease, done bool, err error) {
	r, err := j.m.Observe(ctx)
	if err != nil {
		return nil, false, err
	}
	if err = j.resolve(r); err != nil {
		return nil, false, hopeless{err}
	}
	if done, err = j.look(r.Done); done || err != nil {
		return nil, done, err
	}
	if r.State == backends.Held {
		j.reached = true
		return nil, false, &backends.HeldError{Record: r}
	}
	lease, err = j.m.TryLock(ctx)
	j.reached = j.reached || err == nil || errors.Is(err, mutex.ErrHeld)
	if err != nil {
		return nil, false, err
	}
	if done, err = j.look(lease.Mark()); done || err != nil { // it was recorded meanwhile
		_ = lease.Release(ctx) // else it runs out
		return nil, done, err
	}
	return lease, false, nil
}

// resolve finds the slot of Every, once, and each time refuses a record that is ahead of
// the slot that is due by now, which after a long wait is a later one.
func (j *job) resolve(r backends.Record) error {
	if j.slot.kind != kindEvery || r.Now.IsZero() && !j.slot.at.IsZero() {
		return nil
	}
	due, err := j.slot.resolved(r.Now, j.options.Grace)
	if err != nil {
		return err
	}
	if j.slot.at.IsZero() {
		j.slot = due
	}
	l, err := ledgerOf(r.Done)
	if err != nil {
		return err
	}
	return l.notAhead(due)
}

// look reports whether a mark says that the slot is done. If not, it makes the mark
// that will.
func (j *job) look(mark string) (done bool, err error) {
	if j.slot.kind == "" {
		return false, nil
	}
	l, err := ledgerOf(mark)
	if err != nil {
		return false, hopeless{err}
	}
	if l.has(j.slot) {
		return true, nil
	}
	j.next = l.with(j.slot).mark()
	if err = backends.CheckDone(j.next); err != nil {
		return false, hopeless{err}
	}
	return false, nil
}

// A hopeless error is one that waiting does not mend.
type hopeless struct{ error }

func (h hopeless) Unwrap() error { return h.error }

// final reports whether err ends the wait. A wrong set-up must not look like waiting.
func (j *job) final(err error) bool {
	return errors.As(err, new(hopeless)) || !j.reached && setup.Wrong(err)
}

// pause is how long a waiter sleeps after err, its n-th failure in a row, or after it
// found the lease held: a poll, or until the lease can be taken over if that is
// sooner, or as long as the store has asked for.
func (j *job) pause(n int, err error) time.Duration {
	poll := j.m.Options().Poll
	pause := clock.Jitter(j.clock, poll)
	var held *backends.HeldError
	if errors.As(err, &held) {
		if left := held.Record.Left; left > 0 {
			pause = min(pause, left+time.Duration(j.clock.Int64N(int64(poll/10)+1)))
		}
		return pause
	}
	var retry *backends.RetryError
	if errors.As(err, &retry) {
		pause = max(pause, min(retry.After, longestRetryAfter)+pause/4)
	}
	level := slog.LevelDebug
	if n&(n-1) == 0 {
		level = slog.LevelWarn
	}
	j.log.Log(context.Background(), level, "slot cannot be looked at", "slot", j.slot, "error", err, "retry_in", pause)
	return pause
}

// record runs the job, and records its slot with the release.
func (j *job) record(ctx context.Context, lease *mutex.Lease) error {
	led, _ := j.run(ctx, lease)
	ended := lease.Err()
	if led == nil {
		_ = lease.SetMark(j.next) // look has checked it
	}
	released := lease.Release(ctx)
	switch lost := firstLoss(ended, released); {
	case led != nil:
		return withLoss(led, lost)
	case ended == nil && released == nil:
		j.log.Info("slot recorded", "slot", j.slot)
		return nil
	case j.recorded(ctx):
		return lost
	default:
		return j.notRecorded(ended, released)
	}
}

func firstLoss(ended, released error) error {
	if lost := lossOf(ended); lost != nil {
		return lost
	}
	return lossOf(released)
}

// withLoss is led, and lost if it does not tell of that itself.
func withLoss(led, lost error) error {
	switch {
	case led == nil:
		return lost
	case lost == nil || errors.Is(led, mutex.ErrLost):
		return led
	default:
		return fmt.Errorf("%w; %w", led, lost)
	}
}

func (j *job) notRecorded(ended, released error) error {
	why := released
	if why == nil {
		why = ended // the job has released the lease itself
	}
	j.log.Error("slot is not recorded", "slot", j.slot, "error", why)
	return fmt.Errorf("once %q: %v: %w: %w", j.m.Name(), j.slot, ErrNotRecorded, why)
}

// recorded reports whether the record says that the slot is done. It asks until it has
// an answer, though ctx may have ended, for min(TTL/3, 5 s) at most.
func (j *job) recorded(ctx context.Context) bool {
	ttl := j.m.Options().TTL
	within, cancel := j.clock.WithTimeout(context.WithoutCancel(ctx), min(ttl/3, 5*time.Second))
	defer cancel()
	for {
		r, err := j.m.Observe(within)
		if err == nil {
			l, err := ledgerOf(r.Done)
			return err == nil && l.has(j.slot)
		}
		pause := clock.Jitter(j.clock, ttl/60)
		if retry := (*backends.RetryError)(nil); errors.As(err, &retry) {
			pause = max(pause, retry.After)
		}
		if clock.Sleep(within, j.clock, pause) != nil {
			return false
		}
	}
}

// hold runs a job without a slot, and keeps the lease for MinHold at least.
func (j *job) hold(ctx context.Context, lease *mutex.Lease) error {
	began := j.clock.Now().Mono
	led, _ := j.run(ctx, lease)
	within, cancel := lease.Context(ctx)
	defer cancel()
	var cut error
	if left := j.options.MinHold - (j.clock.Now().Mono - began); left > 0 {
		cut = clock.Sleep(within, j.clock, left)
	}
	ended := lease.Err()
	if cut != nil && ended == nil { // ctx has ended
		lease.Abandon(fmt.Errorf("it ends before MinHold: %w", cut))
		return led
	}
	return withLoss(led, firstLoss(ended, lease.Release(ctx)))
}
