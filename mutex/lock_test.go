package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
	"github.com/bloblease/bloblease/mutex"
)

func TestASecondLockOfOneMutexWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		m := newMutex(t, b, nil)
		first, err := m.Lock(t.Context())
		require.NoError(t, err)
		time.AfterFunc(time.Hour, func() { _ = first.Release(context.Background()) })
		start := time.Now()
		second, err := m.Lock(t.Context())
		require.NoError(t, err)
		require.Equal(t, time.Hour, time.Since(start), "it learns of a local release at once")
		require.Greater(t, second.Token(), first.Token())
		require.EqualValues(t, 2, b.acquires.Load(), "it asked nobody while it waited")
		require.NoError(t, second.Release(t.Context()))
	})
}

func TestALockThatWaitsForItsOwnMutexSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		m := newMutex(t, b, &mutex.Options{Holder: "me"})
		l, err := m.Lock(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = m.Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var held *backends.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, l.Token(), held.Record.Token)
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestTryLockOfAMutexThatHoldsNamesTheOwnLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		m := newMutex(t, b, &mutex.Options{Holder: "me"})
		l, err := m.Lock(t.Context())
		require.NoError(t, err)
		_, err = m.TryLock(t.Context())
		var held *backends.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, "me", held.Record.Holder)
		require.Equal(t, l.Token(), held.Record.Token)
		require.EqualValues(t, 1, b.acquires.Load(), "nobody was asked")
		require.NoError(t, l.Release(t.Context()))
		again, err := m.TryLock(t.Context())
		require.NoError(t, err)
		require.NoError(t, again.Release(t.Context()))
	})
}

func TestALostLeaseDoesNotBlockItsMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		m := newMutex(t, b, nil)
		first, err := m.Lock(t.Context())
		require.NoError(t, err)
		first.Abandon(errors.New("enough"))
		require.ErrorIs(t, first.Err(), mutex.ErrLost)
		second, err := m.Lock(t.Context())
		require.NoError(t, err)
		require.Greater(t, second.Token(), first.Token())
		require.ErrorIs(t, first.Release(t.Context()), mutex.ErrLost)
		require.NoError(t, second.Err(), "the late release of the first does not touch the second")
		require.NoError(t, second.Release(t.Context()))
	})
}

func TestManyLockersOfOneMutexHoldOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		m := newMutex(t, b, &mutex.Options{Poll: 100 * time.Millisecond})
		var mu sync.Mutex
		var inside, terms int
		var highest mutex.Token
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				err := m.Do(t.Context(), func(_ context.Context, l *mutex.Lease) error {
					mu.Lock()
					inside++
					terms++
					rising := l.Token() > highest
					highest = l.Token()
					ok := inside == 1 && rising
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					defer mu.Unlock()
					inside--
					if !ok {
						return errors.New("not alone, or a token that does not rise")
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, 20, terms)
	})
}

func TestLockReturnsAtOnceWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(clock.System)
		l := lock(t, on(clock.System, store), nil)
		waiter := newMutex(t, on(clock.System, store), nil)
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		time.AfterFunc(33*time.Second, func() { cancel(why) })
		_, err := waiter.Lock(ctx)
		require.Equal(t, 33*time.Second, time.Since(start))
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, mutex.ErrHeld, "it tells what it waited for")
		require.NoError(t, l.Release(t.Context()))
		time.Sleep(time.Hour)
		r, err := waiter.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, l.Token(), r.Token, "nobody has taken it since")
	})
}

func TestAnAcquisitionUnderWayIsSettledInTheBackground(t *testing.T) {
	for name, applied := range map[string]bool{"applied": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memstore.New(clock.System)
				slow := on(clock.System, store)
				slow.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
					if !applied {
						<-ctx.Done()
						return backends.Grant{}, ctx.Err()
					}
					g, err := slow.Backend.Acquire(ctx, name, c)
					<-ctx.Done()
					time.Sleep(time.Second)
					return g, err
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				m := newMutex(t, slow, nil)
				start := time.Now()
				_, err := m.Lock(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, time.Second, time.Since(start))

				slow.acquire.unset()
				l, err := m.TryLock(t.Context()) // waits for the settlement
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(start), 3*time.Second)
				require.NoError(t, l.Release(t.Context()))
			})
		})
	}
}

func TestAnAttemptThatEndsUnknownIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			g, _ := b.Backend.Acquire(ctx, name, c) // it has its effect, but
			return g, errors.New("connection reset")
		})
		_, err := newMutex(t, b, nil).TryLock(t.Context())
		require.ErrorContains(t, err, "connection reset")
		synctest.Wait()
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Free, r.State)
	})
}

func TestWhoIsTurnedAwayAsksNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			g, _ := b.Backend.Acquire(ctx, name, c)
			return g, &backends.RetryError{After: time.Minute, Err: errors.New("429")}
		})
		_, err := newMutex(t, b, nil).TryLock(t.Context())
		require.Error(t, err)
		synctest.Wait()
		require.Zero(t, b.releases.Load())
	})
}

func TestAWrongSetUpEndsLockAtOnce(t *testing.T) {
	for _, wrong := range []error{
		backends.ErrDenied, backends.ErrNoContainer, backends.ErrUnsupported, backends.ErrForeign,
		&net.DNSError{Err: "no such host", Name: "exampel.invalid", IsNotFound: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, _ := alone()
			b.acquire.set(func(context.Context, string, backends.Claim) (backends.Grant, error) {
				return backends.Grant{}, fmt.Errorf("put: %w", wrong)
			})
			start := time.Now()
			_, err := newMutex(t, b, nil).Lock(t.Context())
			require.ErrorIs(t, err, wrong)
			require.Zero(t, time.Since(start))
		})
	}
}

func TestTroubleAfterTheFirstAnswerIsRiddenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			switch n := b.acquires.Load(); {
			case n == 1:
				return backends.Grant{}, &backends.HeldError{}
			case n < 50:
				return backends.Grant{}, backends.ErrDenied
			}
			return b.Backend.Acquire(ctx, name, c)
		})
		start := time.Now()
		l := lock(t, b, nil)
		require.Less(t, time.Since(start), 50*6*time.Second, "the pauses are capped")
		require.Greater(t, time.Since(start), 40*4*time.Second, "the pauses grow")
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestLockRidesOutAnOutageFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		back := time.Now().Add(10 * time.Minute)
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			if time.Now().Before(back) {
				return backends.Grant{}, errors.New("connection refused")
			}
			return b.Backend.Acquire(ctx, name, c)
		})
		l := lock(t, b, nil)
		require.Less(t, time.Since(back), 6*time.Second+time.Millisecond)
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestARetryAfterIsHonouredByAWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			if b.acquires.Load() == 1 {
				return backends.Grant{}, &backends.RetryError{After: 40 * time.Second, Err: errors.New("busy")}
			}
			return b.Backend.Acquire(ctx, name, c)
		})
		start := time.Now()
		l := lock(t, b, nil)
		require.GreaterOrEqual(t, time.Since(start), 40*time.Second)
		require.LessOrEqual(t, time.Since(start), time.Minute)
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestAHangingReadIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			if b.acquires.Load() == 1 {
				<-ctx.Done()
				return backends.Grant{}, ctx.Err()
			}
			return b.Backend.Acquire(ctx, name, c)
		})
		start := time.Now()
		l := lock(t, b, nil)
		require.Less(t, time.Since(start), 11*time.Second)
		require.NoError(t, l.Release(t.Context()))
	})
}

// By the stopwatch the successor waits 1.01 TTL from the look that first showed
// the last renewal. That is at most a poll and its jitter after it, and a tenth of
// a poll is added so that not all come at once: 30.3 s + 6 s + 0.5 s.
func TestASuccessorGetsInAboutATTLAfterTheHolderHasDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			store := memstore.New(clock.System)
			l := lock(t, on(clock.System, store), nil)
			started := make(chan *mutex.Lease)
			m := newMutex(t, on(clock.System, store), nil)
			go func() {
				next, err := m.Lock(context.Background())
				if err != nil {
					t.Error(err)
				}
				started <- next
			}()
			time.Sleep(time.Minute)
			l.Abandon(errors.New("it dies"))
			died := time.Now()
			next := <-started
			require.LessOrEqual(t, time.Since(died), 36800*time.Millisecond)
			require.NoError(t, next.Release(t.Context()))
		}
	})
}

func TestATimeoutOfLockDoesNotBoundTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		l, err := newMutex(t, b, nil).Lock(ctx)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, l.Err())
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestRenewalsComeOncePerThirdOfTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		m := newMutex(t, b, nil)
		for range 50 { // quick terms leave nothing behind
			l, err := m.Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, l.Release(t.Context()))
		}
		l := lock(t, b, nil)
		time.Sleep(time.Hour + time.Second)
		require.EqualValues(t, 360, b.renewals.Load())
		require.NoError(t, l.Release(t.Context()))
	})
}
