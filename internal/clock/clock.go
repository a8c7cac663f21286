// Package clock is the one place where this module asks what time it is.
//
// Three clocks matter to a lease. The monotonic clock never jumps, but on
// Linux and macOS it stands still while the machine is suspended. The wall
// clock runs on through a suspend, but jumps when somebody sets it. The boot
// clock (CLOCK_BOOTTIME, Linux only) has neither fault, but costs a system
// call. A holder believes none of them alone; see package mutex.
//
// Every Mutex and every engine has a Clock of its own, [System] unless it was
// built on something that carries another (see [Of]). Simulations need that: a
// testing/synctest bubble has a single clock, and the boot clock stays real in
// it, so suspends, wall clock jumps and clocks that run at different rates
// cannot be expressed there otherwise. Nothing of this is visible in the public
// API.
package clock

import (
	"context"
	"time"
)

// A Clock is one machine's view of time. It is safe for concurrent use.
type Clock interface {
	// Now looks at the monotonic and the wall clock.
	Now() Reading
	// Boot looks at the boot clock; ok is false where there is none.
	Boot() (b Boot, ok bool)
	// NewTimer is time.NewTimer on this clock. Like a Go timer it counts
	// monotonic time, so it stands still in a suspend.
	NewTimer(d time.Duration) Timer
	// WithTimeout is context.WithTimeout on this clock.
	WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Int64N is rand.Int64N. Chance decides how long a contender waits, so it
	// is the machine's own too: what a simulation did, it can do again.
	Int64N(n int64) int64
}

// A Reading is one look at a clock. Only differences between two readings of
// one clock mean anything; Wall alone is also a date.
type Reading struct {
	Mono time.Duration // since some moment in this process's life
	Wall time.Duration // since 1970-01-01 00:00 UTC
}

// Date is the wall clock part of r.
func (r Reading) Date() time.Time { return time.Unix(0, int64(r.Wall)).UTC() }

// A Boot is one look at the boot clock.
type Boot struct {
	// ID names the life of the machine that Since counts from. Readings with
	// different IDs cannot be compared.
	ID string
	// Since is the time since the machine started, suspended time included.
	Since time.Duration
}

// A Timer is a *time.Timer behind an interface.
type Timer interface {
	C() <-chan time.Time
	Stop() bool
	Reset(d time.Duration) bool
}

// Sleep waits for d on c, or until ctx ends; then it returns the cause.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := context.Cause(ctx); err != nil || d <= 0 {
		return err
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Jitter returns d, give or take 20 %, so that those who began to wait together do
// not go on together.
func Jitter(c Clock, d time.Duration) time.Duration {
	return d - d/5 + time.Duration(c.Int64N(2*int64(d/5)+1))
}

// A Carrier is embedded, under an unexported name, by types that bring a
// Clock of their own. The zero Carrier brings [System].
type Carrier struct{ c Clock }

// Carry returns a Carrier of c.
func Carry(c Clock) Carrier { return Carrier{c} }

func (c Carrier) carried() Clock { return c.c }

// Of returns the Clock that x carries, or [System].
func Of(x any) Clock {
	if carrier, ok := x.(interface{ carried() Clock }); ok {
		if c := carrier.carried(); c != nil {
			return c
		}
	}
	return System
}
