package mutex

import (
	"time"

	"github.com/bloblease/bloblease/internal/clock"
)

const (
	// epsilon is 1/ε: the rate of a process's clock may be off by 1 %.
	epsilon = 100
	// apart is how far the wall and the monotonic clock may have moved apart
	// before the boot clock is asked too. It is well within the margin.
	apart = 50 * time.Millisecond
)

// hold is H, how long a holder may trust a lease of TTL t:
//
//	H = 0.98·T − max(100 ms, 1 % of T)
//
// The contender waits T(1+ε) by a clock that may run fast by ε, hence 1−2ε; the
// rest is a margin for the time between a look at the clock and the act.
func hold(t time.Duration) time.Duration {
	return t - 2*t/epsilon - max(100*time.Millisecond, t/100)
}

// A stamp is one look at all three clocks.
type stamp struct {
	clock.Reading
	boot  clock.Boot
	hasBt bool
}

func stampOf(c clock.Clock) stamp {
	s := stamp{Reading: c.Now()}
	s.boot, s.hasBt = c.Boot()
	return s
}

// A deadline is the moment, on each of the clocks, from which on a lease must
// not be trusted. It is never changed once it is made.
type deadline stamp

// deadlineOf counts h from the moment before a request was first sent.
func deadlineOf(asked stamp, h time.Duration) *deadline {
	asked.Mono += h
	asked.Wall += h
	asked.boot.Since += h
	return (*deadline)(&asked)
}

// left is the time until d by the first clock that gets there. It asks the boot
// clock, a system call, if thorough, or if the other two moved apart: they do in
// a suspend, when the monotonic clock stands still.
func (d *deadline) left(c clock.Clock, thorough bool) time.Duration {
	now := c.Now()
	mono, wall := d.Mono-now.Mono, d.Wall-now.Wall
	left := min(mono, wall)
	if d.hasBt && (thorough || (mono-wall).Abs() > apart) {
		if b, ok := c.Boot(); ok && b.ID == d.boot.ID {
			left = min(left, d.boot.Since-b.Since)
		}
	}
	return left
}
