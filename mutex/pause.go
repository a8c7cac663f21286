package mutex

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
)

// longestRetryAfter bounds what a store may ask of a waiter.
const longestRetryAfter = time.Minute

// pause is how long a waiter sleeps after err, its n-th failure in a row, or
// after it found the lease held.
func (m *Mutex) pause(n int, err error) time.Duration {
	var held *backends.HeldError
	if errors.As(err, &held) {
		m.log.Debug("lease is held", "holder", held.Record.Holder, "token", held.Record.Token)
		return m.untilNextLook(held.Record)
	}
	pause := m.untilRetry(n, err)
	m.log.Log(context.Background(), levelOf(n), "lease cannot be asked for", "error", err, "retry_in", pause)
	return pause
}

// levelOf keeps a long outage from filling the log, and from being forgotten: the
// first failure is a warning, and so are the second, the fourth, the eighth and so on.
func levelOf(failures int) slog.Level {
	if failures&(failures-1) == 0 {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// untilNextLook is how long a waiter sleeps: a poll, or until the lease can be
// taken over if that is sooner. A short random wait on top keeps waiters that
// saw the same renewal from meeting at its end.
func (m *Mutex) untilNextLook(r backends.Record) time.Duration {
	poll := clock.Jitter(m.clock, m.options.Poll)
	if r.Left <= 0 {
		return poll
	}
	late := time.Duration(m.clock.Int64N(int64(m.options.Poll/10) + 1))
	return min(poll, r.Left+late)
}

// untilRetry is how long a waiter sleeps after its n-th failure in a row.
func (m *Mutex) untilRetry(n int, err error) time.Duration {
	pause := backoff(m.clock, m.options.Poll/8, m.options.Poll, n)
	return max(pause, notBefore(m.clock, min(retryAfter(err), longestRetryAfter)))
}

// untilRenewalRetry is how long a holder sleeps after its n-th failed renewal in
// a row, when left remains of the lease: never so long that no time is left for
// another try, and to the end once there is too little for one.
func untilRenewalRetry(c clock.Clock, ttl time.Duration, n int, err error, left time.Duration) time.Duration {
	shortest := ttl / 60
	pause := max(backoff(c, shortest, ttl/12, n), retryAfter(err))
	switch {
	case pause < left-ttl/6: // there is time for a whole attempt after it
		return pause
	case left/2 > shortest:
		return left / 2
	default:
		return left
	}
}

// backoff doubles from first to most over n tries, with jitter.
func backoff(c clock.Clock, first, most time.Duration, n int) time.Duration {
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	return clock.Jitter(c, min(d, most))
}

// notBefore is d, or up to half as much more: those whom a store sent away
// together must not come back together.
func notBefore(c clock.Clock, d time.Duration) time.Duration { return clock.Jitter(c, d+d/4) }

func retryAfter(err error) time.Duration {
	var retry *backends.RetryError
	if errors.As(err, &retry) {
		return retry.After
	}
	return 0
}
