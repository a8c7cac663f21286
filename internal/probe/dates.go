package probe

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
)

// dates are what the store's clock can be to be by its answers: so much ahead of
// this process's monotonic clock, at least and at most.
type dates struct {
	clock clock.Clock
	since time.Duration

	mu              sync.Mutex
	atLeast, atMost time.Duration
	told            int
}

func (d *dates) begin(c clock.Clock) {
	d.clock, d.since = c, c.Now().Mono
	d.atLeast, d.atMost = math.MinInt64, math.MaxInt64
}

// see notes a date that the store gave between two moments of this process.
func (d *dates) see(date time.Time, sent, got time.Duration) {
	if date.IsZero() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	shown := time.Duration(date.UnixNano())
	d.atLeast, d.atMost = max(d.atLeast, shown-got), min(d.atMost, shown-sent)
	d.told++
}

// apart is how far two dates are apart that no single clock can have given.
func (d *dates) apart() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told == 0 {
		return 0
	}
	return max(0, d.atLeast-d.atMost)
}

// epsilon is 1/ε: a clock's rate may be off by 1 %.
const epsilon = 100

// checkDates finds out whether the dates can be relied on. Leases do not depend
// on it.
func (r *run) checkDates(ctx context.Context) error {
	warn := func(saw string, args ...any) error {
		return r.note(backends.Check{
			Name: r.current, Result: backends.Warned, Saw: fmt.Sprintf(saw, args...),
			Means: "that a holder has died is noticed by watching its lease for a TTL, never at the first look",
			Do:    "nothing, unless your processes live for less than a TTL",
		})
	}
	if !r.Dated {
		return r.note(backends.Check{Name: r.current, Saw: "nothing depends on the dates of this store"})
	}
	first, err := r.touched(ctx)
	if err != nil {
		return err
	}
	// Within a step of the dates none would move.
	if err = clock.Sleep(ctx, r.Clock, r.Granularity+r.Granularity/10+time.Millisecond); err != nil {
		return err
	}
	second, err := r.touched(ctx)
	if err != nil {
		return err
	}
	allowed := r.Slack + 2*(r.Clock.Now().Mono-r.dates.since)/epsilon
	switch apart := r.dates.apart(); {
	case first.Modified.IsZero() || first.Now.IsZero() || second.Modified.IsZero() || second.Now.IsZero():
		return warn("the answers do not tell when the object was written, and what time it is")
	case !second.Modified.After(first.Modified):
		return warn("the date of an object does not move when it is written anew")
	case apart > allowed:
		return warn("the dates of its answers contradict each other by %v, where %v is allowed", apart, allowed)
	default:
		r.report.Dates = true
		return r.pass("%d dates agree, and an object's moves when it is written anew", r.dates.told)
	}
}

// touched renews the object, and reads it.
func (r *run) touched(ctx context.Context) (Object, error) {
	sent := r.Clock.Now().Mono
	if err := r.apply(ctx, r.Touch, Replace); err != nil {
		return Object{}, err
	}
	got := r.Clock.Now().Mono
	o, err := r.look(ctx)
	r.dates.see(o.Modified, sent, got)
	return o, err
}
