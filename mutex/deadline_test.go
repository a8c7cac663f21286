package mutex_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/mutex"
)

func TestTheDeadlineCountsFromTheQuestionOfTheAcquisition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			defer time.Sleep(5 * time.Second) // the answer takes that long
			return b.Backend.Acquire(ctx, name, c)
		})
		asked := time.Now()
		l := lock(t, b, nil)
		require.Equal(t, asked.Add(hold), time.Now().Add(l.Remaining()))
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestTheDeadlineCountsFromTheQuestionOfTheRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			defer time.Sleep(4 * time.Second)
			return b.Backend.Renew(ctx, g)
		})
		asked := time.Now()
		l := lock(t, b, nil)
		time.Sleep(15 * time.Second) // renewed at 10 s, answered at 14 s
		require.Equal(t, asked.Add(10*time.Second+hold), time.Now().Add(l.Remaining()))
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestAnAnswerAfterTheDeadlineIsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			defer time.Sleep(time.Minute)
			return b.Backend.Acquire(ctx, name, c)
		})
		l, err := newMutex(t, b, nil).TryLock(t.Context())
		require.Nil(t, l)
		require.ErrorIs(t, err, mutex.ErrLost)
		synctest.Wait()
		require.EqualValues(t, 1, b.releases.Load(), "what came too late is freed")
	})
}

func TestARenewalThatNeverAnswersDoesNotHoldUpTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		hole := blackHole(t)
		start := time.Now()
		l := lock(t, b, nil)
		ctx, cancel := l.Context(t.Context())
		defer cancel()
		b.renew.set(func(_ context.Context, g backends.Grant) (backends.Grant, error) {
			<-hole
			return g, errors.New("closed")
		})
		<-ctx.Done()
		require.Equal(t, hold, time.Since(start))
		require.ErrorIs(t, context.Cause(ctx), mutex.ErrLost)
	})
}

func TestASuccessAfterTheDeadlineRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			time.Sleep(25 * time.Second)
			return b.Backend.Renew(context.WithoutCancel(ctx), g)
		})
		time.Sleep(time.Minute)
		require.ErrorIs(t, l.Err(), mutex.ErrLost)
		require.Zero(t, l.Remaining())
		require.EqualValues(t, 1, b.renewals.Load())
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
	})
}

func TestAnUnknownRenewalDoesNotProlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		start := time.Now()
		l := lock(t, b, nil)
		lost := errors.New("the answer is lost")
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			g, _ = b.Backend.Renew(ctx, g) // it was applied, but who knows
			return g, lost
		})
		awaitEnd(t, l)
		require.Equal(t, hold, time.Since(start))
		require.ErrorIs(t, l.Err(), lost)
		require.GreaterOrEqual(t, b.renewals.Load(), int32(4), "it was tried again")
	})
}

func TestAFailedRenewalIsRetriedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		fails := 0
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			if fails++; fails%3 != 0 {
				return g, &backends.RetryError{After: 10 * time.Second, Err: errors.New("busy")}
			}
			return b.Backend.Renew(ctx, g)
		})
		time.Sleep(time.Hour)
		require.NoError(t, l.Err())
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestARenewalThatHangsIsGivenUpInTimeForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			if b.renewals.Load()%3 != 0 {
				asked := time.Now()
				<-ctx.Done()
				require.LessOrEqual(t, time.Since(asked), ttl/6)
				return g, ctx.Err()
			}
			return b.Backend.Renew(ctx, g)
		})
		time.Sleep(time.Hour)
		require.NoError(t, l.Err())
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestARetryAfterJustBeforeTheDeadlineLeavesTimeForATry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			if b.renewals.Load() == 1 {
				return g, &backends.RetryError{After: 19 * time.Second, Err: errors.New("busy")}
			}
			time.Sleep(200 * time.Millisecond)
			return b.Backend.Renew(ctx, g)
		})
		time.Sleep(time.Hour)
		require.NoError(t, l.Err())
	})
}

func TestARetryAfterBeyondTheDeadlineLeavesTimeForATry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			if b.renewals.Load() == 1 {
				return g, &backends.RetryError{After: time.Hour, Err: errors.New("busy")}
			}
			return b.Backend.Renew(ctx, g)
		})
		time.Sleep(time.Hour)
		require.NoError(t, l.Err())
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestATakeoverIsLearntAtTheNextRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		start := time.Now()
		l := lock(t, b, nil)
		require.NoError(t, b.Backend.(backends.Breaker).Break(t.Context(), "job", ""))
		awaitEnd(t, l)
		require.Equal(t, ttl/3, time.Since(start))
		require.ErrorIs(t, l.Err(), mutex.ErrLost)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
		require.Zero(t, b.releases.Load(), "there is nothing to free")
	})
}

// silence is a store that answers a holder more slowly each time, and at some
// random moment, in the middle of a request or between two, no more.
type silence struct {
	from  time.Time
	asked time.Time // when the last request was sent that was answered
}

func (s *silence) renew(b *hooked) func(context.Context, backends.Grant) (backends.Grant, error) {
	return func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
		sent, takes := time.Now(), time.Duration(rand.Int64N(int64(5*time.Second)))
		if sent.Add(takes).After(s.from) {
			<-ctx.Done()
			return g, ctx.Err()
		}
		time.Sleep(takes)
		g, err := b.Backend.Renew(ctx, g)
		if err == nil {
			s.asked = sent
		}
		return g, err
	}
}

func TestInABlackHoleTheContextEndsBeforeAContenderHolds(t *testing.T) {
	trials := 1000
	if raced {
		trials = 200
	}
	for range trials {
		synctest.Test(t, func(t *testing.T) {
			store, rate := memstore.New(clock.System), 0.99+0.02*rand.Float64()
			holder := on(sim.NewMachine(rate, 0), store)
			contender := on(sim.NewMachine(0.99+0.02*rand.Float64(), 0), store)
			s := &silence{asked: time.Now(), from: time.Now().Add(time.Duration(rand.Int64N(int64(time.Minute))))}
			holder.renew.set(s.renew(holder))
			l := lock(t, holder, nil)
			ctx, cancel := l.Context(t.Context())
			defer cancel()
			ended := make(chan time.Time, 1)
			go func() { <-ctx.Done(); ended <- time.Now() }()
			next := lock(t, contender, &mutex.Options{Poll: time.Second})
			select {
			case at := <-ended:
				require.LessOrEqual(t, machineTime(at.Sub(s.asked), rate), hold)
			default:
				require.Fail(t, "the contender holds before the context of the holder has ended")
			}
			require.Greater(t, next.Token(), l.Token())
		})
	}
}

// machineTime is d on a clock of this rate, less what rounding may add.
func machineTime(d time.Duration, rate float64) time.Duration {
	return time.Duration(float64(d)*rate) - time.Microsecond
}
