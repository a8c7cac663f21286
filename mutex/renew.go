package mutex

import (
	"context"
	"errors"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
)

// lookEvery is how often the watchdog compares the clocks: a timer alone would
// not do, since timers stand still while the machine is suspended.
const lookEvery = 250 * time.Millisecond

// watch is the watchdog: it ends the lease at its deadline, whatever the
// renewing goroutine is waiting for.
func (l *Lease) watch() {
	t := l.mutex.clock.NewTimer(lookEvery)
	defer t.Stop()
	for left := l.remaining(true); left > 0; left = l.remaining(true) {
		t.Reset(min(left, lookEvery))
		select {
		case <-t.C():
		case <-l.ctx.Done():
			return
		}
	}
}

// keep renews the lease every TTL/3 until it ends.
func (l *Lease) keep(limit *deadline) {
	failures := 0
	pause := l.untilRenewal(limit)
	for clock.Sleep(l.ctx, l.mutex.clock, pause) == nil && !l.over() {
		asked := stampOf(l.mutex.clock)
		switch err := l.renew(); {
		case l.over(): // what has lapsed is never revived
			return
		case err == nil:
			failures = 0
			limit := deadlineOf(asked, hold(l.ttl))
			l.limit.Store(limit)
			pause = l.untilRenewal(limit)
		case errors.Is(err, ErrLost):
			l.end(err)
			return
		default:
			failures++
			pause = untilRenewalRetry(l.mutex.clock, l.ttl, failures, err, l.Remaining())
			l.mutex.log.Log(l.ctx, levelOf(failures), "renewal failed",
				"token", l.token, "error", err, "remaining", l.Remaining(), "retry_in", pause)
		}
	}
}

// untilRenewal is the time until TTL/3 has passed since the question that limit
// counts from.
func (l *Lease) untilRenewal(limit *deadline) time.Duration {
	asked := limit.Mono - hold(l.ttl)
	return max(0, asked+l.ttl/3-l.mutex.clock.Now().Mono)
}

// renew makes one attempt, bounded by min(TTL/6, 5 s) and by the deadline. Its
// context ends with the lease, but not with the lease's cause: a backend that
// passed that on would say that the term is over at the store.
func (l *Lease) renew() error {
	bound := min(l.ttl/6, 5*time.Second, l.Remaining())
	ctx, cancel := l.mutex.clock.WithTimeout(context.Background(), bound)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	g, err := l.mutex.backend.Renew(ctx, l.currentGrant())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grant, l.lastError = g, err
	return err
}

func (l *Lease) currentGrant() backends.Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant
}
