package mutex_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/mutex"
)

func TestReleaseUnderAContextThatHasEndedFreesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, l.Release(ctx))
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Free, r.State)
	})
}

func TestReleaseIsOneWriteHoweverOftenItIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := l.Release(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.NoError(t, l.Release(t.Context()))
		require.EqualValues(t, 1, b.releases.Load())
		require.ErrorIs(t, l.Err(), mutex.ErrReleased)
		require.NotErrorIs(t, l.Err(), mutex.ErrLost)
	})
}

func TestReleaseIsRetriedWithinItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.release.set(func(ctx context.Context, g backends.Grant) error {
			if b.releases.Load() < 3 {
				return errors.New("500")
			}
			return b.Backend.Release(ctx, g)
		})
		start := time.Now()
		require.NoError(t, l.Release(t.Context()))
		require.Less(t, time.Since(start), 5*time.Second)
	})
}

func TestReleaseReturnsInTimeWhenTheStoreIsGone(t *testing.T) {
	for name, release := range map[string]func(context.Context) error{
		"failing": func(context.Context) error { return errors.New("500") },
		"silent":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := alone()
				l := lock(t, b, nil)
				b.release.set(func(ctx context.Context, _ backends.Grant) error { return release(ctx) })
				start := time.Now()
				err := l.Release(t.Context())
				require.Error(t, err)
				require.NotErrorIs(t, err, mutex.ErrLost)
				require.LessOrEqual(t, time.Since(start), 5*time.Second)
				require.ErrorIs(t, l.Err(), mutex.ErrReleased, "it is not held any more, whatever the store says")
				b.release.unset()
				next := lock(t, b, nil) // after a TTL
				require.NoError(t, next.Release(t.Context()))
			})
		})
	}
}

func TestReleaseSettlesARenewalUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			g, err := b.Backend.Renew(ctx, g)
			<-ctx.Done() // applied, but the answer does not come
			return g, err
		})
		time.Sleep(12 * time.Second)
		require.NoError(t, l.Release(t.Context()))
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Free, r.State)
	})
}

// A backend that passes on why its context ended does not thereby say that the
// term is over at the store.
func TestTheCauseOfTheOwnEndIsNotTheStoresWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			<-ctx.Done()
			return g, context.Cause(ctx)
		})
		time.Sleep(12 * time.Second)
		l.Abandon(errors.New("the task hangs"))
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
		require.EqualValues(t, 1, b.releases.Load(), "it is freed, for it may still be ours")
	})
}

func TestReleaseIsBoundedThoughTheBackendIsDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		hole := blackHole(t)
		l := lock(t, b, nil)
		b.release.set(func(context.Context, backends.Grant) error { <-hole; return nil })
		start := time.Now()
		require.Error(t, l.Release(t.Context()))
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

func TestASecondReleaseReturnsWhatTheFirstDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		require.NoError(t, l.Release(t.Context()))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			require.NoError(t, l.Release(ended))
		}
	})
}

// The store's word comes with the very answer that Release waits for.
func TestALossThatARenewalUnderWayTellsIsNotHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			<-ctx.Done()
			return g, mutex.ErrLost
		})
		time.Sleep(12 * time.Second)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
		require.Zero(t, b.releases.Load())
	})
}

func TestReleaseIsNotRetriedForACallerWhoHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.release.set(func(context.Context, backends.Grant) error { return errors.New("500") })
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, l.Release(ended))
		require.EqualValues(t, 1, b.releases.Load())
	})
}

func TestAfterALossAReleaseIsTriedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		b.release.set(func(context.Context, backends.Grant) error { return errors.New("500") })
		l.Abandon(nil)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
		require.EqualValues(t, 1, b.releases.Load())
	})
}

func TestReleaseDoesNotWaitForARenewalThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		hole := blackHole(t)
		l := lock(t, b, nil)
		b.renew.set(func(_ context.Context, g backends.Grant) (backends.Grant, error) { <-hole; return g, nil })
		time.Sleep(12 * time.Second)
		start := time.Now()
		require.Error(t, l.Release(t.Context()))
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

func TestReleaseAfterALossFreesWhatIsStillOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		l := lock(t, b, nil)
		machine.Jump(time.Hour)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Free, r.State, "the others need not wait")
		machine.Jump(-time.Hour)
	})
}

func TestTheContextOfALeaseEndsWithEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)

		parent, cancelParent := context.WithCancelCause(t.Context())
		within, cancel := l.Context(parent)
		defer cancel()
		child, cancelChild := context.WithTimeout(within, time.Hour)
		defer cancelChild()
		why := errors.New("why")
		cancelParent(why)
		require.ErrorIs(t, within.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(within), why)
		require.ErrorIs(t, context.Cause(child), why)
		require.NoError(t, l.Err(), "the lease goes on")

		own, cancel := l.Context(t.Context())
		cancel()
		require.ErrorIs(t, own.Err(), context.Canceled)
		require.NoError(t, l.Err())

		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		timed, cancel := l.Context(late)
		defer cancel()
		<-timed.Done()
		require.ErrorIs(t, timed.Err(), context.DeadlineExceeded)

		last, cancel := l.Context(t.Context())
		defer cancel()
		grandchild, cancel := context.WithCancel(context.WithValue(last, contextKey{}, 1))
		defer cancel()
		require.NoError(t, l.Release(t.Context()))
		require.ErrorIs(t, context.Cause(last), mutex.ErrReleased)
		require.ErrorIs(t, context.Cause(grandchild), mutex.ErrReleased)

		after, cancel := l.Context(t.Context())
		defer cancel()
		require.ErrorIs(t, after.Err(), context.Canceled)
		require.ErrorIs(t, context.Cause(after), mutex.ErrReleased)
	})
}

type contextKey struct{}

func TestTheContextCarriesTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		ctx, cancel := l.Context(t.Context())
		defer cancel()
		token, ok := backends.TokenFrom(context.WithoutCancel(ctx))
		require.True(t, ok)
		require.Equal(t, l.Token(), token)
		_, ok = backends.TokenFrom(t.Context())
		require.False(t, ok)
	})
}

func TestAbandonNeedsNoReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		l.Abandon(nil)
		require.ErrorIs(t, l.Err(), mutex.ErrLost)
		require.NotContains(t, l.Err().Error(), "nil")
	})
}

func TestDoWithoutAFunctionLocksNothing(t *testing.T) {
	b, _ := alone()
	require.ErrorContains(t, newMutex(t, b, nil).Do(t.Context(), nil), "nil")
	require.Zero(t, b.acquires.Load())
}

func TestDoKeepsTheLeaseWhileTheTaskDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		ctx, cancel := context.WithCancel(t.Context())
		err := newMutex(t, b, nil).Do(ctx, func(within context.Context, l *mutex.Lease) error {
			cancel()
			<-within.Done()
			time.Sleep(10 * ttl)
			require.NoError(t, l.Err())
			require.Zero(t, b.releases.Load())
			return nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 1, b.releases.Load())
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Free, r.State)
	})
}

func TestDoTellsOfALossThatTheTaskDidNotSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		m := newMutex(t, b, nil)
		failed := errors.New("task failed")
		for _, result := range []error{nil, failed} {
			err := m.Do(t.Context(), func(context.Context, *mutex.Lease) error {
				b.renew.set(unreachable)
				time.Sleep(time.Minute)
				return result
			})
			require.ErrorIs(t, err, mutex.ErrLost)
			if result != nil {
				require.ErrorIs(t, err, result)
			}
			b.renew.unset()
		}
		require.ErrorIs(t, m.Do(t.Context(), func(context.Context, *mutex.Lease) error { return failed }), failed)
	})
}

func TestDoTellsOfABreakThatNobodySaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		err := newMutex(t, b, nil).Do(t.Context(), func(ctx context.Context, _ *mutex.Lease) error {
			return b.Backend.(backends.Breaker).Break(ctx, "job", "")
		})
		require.ErrorIs(t, err, mutex.ErrLost)
	})
}

func TestAfterAPanicNothingIsReleasedAndNothingRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		var l *mutex.Lease
		require.PanicsWithValue(t, "boom", func() {
			_ = newMutex(t, b, nil).Do(t.Context(), func(_ context.Context, held *mutex.Lease) error {
				l = held
				panic("boom")
			})
		})
		require.ErrorIs(t, l.Err(), mutex.ErrLost)
		time.Sleep(time.Hour)
		require.Zero(t, b.releases.Load())
		require.Zero(t, b.renewals.Load())
	})
}
