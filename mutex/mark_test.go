package mutex_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/mutex"
)

func recorded(t *testing.T, b backends.Backend) string {
	t.Helper()
	r, err := b.Observe(t.Context(), "job")
	require.NoError(t, err)
	return r.Done
}

func TestAMarkIsRecordedByTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		require.Empty(t, l.Mark())
		require.NoError(t, l.SetMark("not this"))
		require.NoError(t, l.SetMark("one"))
		time.Sleep(2 * ttl) // over renewals
		require.Empty(t, recorded(t, b), "not before")
		require.Empty(t, l.Mark(), "it is that of the beginning")
		require.NoError(t, l.Release(t.Context()))
		require.Equal(t, "one", recorded(t, b))

		l = lock(t, b, nil)
		require.Equal(t, "one", l.Mark())
		time.Sleep(2 * ttl)
		require.Equal(t, "one", l.Mark())
		require.NoError(t, l.SetMark("two"))
		require.NoError(t, l.SetMark(""))
		require.NoError(t, l.Release(t.Context()))
		require.Equal(t, "one", recorded(t, b), "an empty mark leaves the old one")
		require.NoError(t, l.SetMark("late"))
		require.NoError(t, l.Release(t.Context()))
		require.Equal(t, "one", recorded(t, b), "after the release it is in vain")
	})
}

func TestABadMarkIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		for _, bad := range []string{strings.Repeat("x", backends.MaxDone+1), "a\nb", "\xff"} {
			require.ErrorContains(t, l.SetMark(bad), `mark lease "job": done`)
		}
		require.NoError(t, l.Release(t.Context()))
		require.Empty(t, recorded(t, b))
	})
}

// A release that has something to record is not given up sooner than others could
// take the lease over, unless the caller is in a hurry.
func TestAReleaseWithAMarkIsRetriedForATTL(t *testing.T) {
	after := func(d time.Duration, err error) (time.Duration, error) {
		var took time.Duration
		var result error
		synctest.Test(t, func(t *testing.T) {
			b, _ := alone()
			l := lock(t, b, nil)
			require.NoError(t, l.SetMark("done"))
			start := time.Now()
			b.release.set(func(ctx context.Context, g backends.Grant) error {
				if time.Since(start) < d {
					return err
				}
				return b.Backend.Release(ctx, g)
			})
			result = l.Release(t.Context())
			took = time.Since(start)
			if result == nil {
				require.Equal(t, "done", recorded(t, b))
			}
		})
		return took, result
	}
	took, err := after(20*time.Second, errors.New("500"))
	require.NoError(t, err)
	require.Less(t, took, 25*time.Second)
	took, err = after(time.Second, &backends.RetryError{After: 15 * time.Second, Err: errors.New("503")})
	require.NoError(t, err)
	require.Equal(t, 15*time.Second, took)
	took, err = after(time.Hour, errors.New("500"))
	require.Error(t, err)
	require.LessOrEqual(t, took, ttl)
}

func TestAReleaseWithAMarkTriesOnceMoreWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		require.NoError(t, l.SetMark("done"))
		b.release.set(func(ctx context.Context, g backends.Grant) error {
			if b.releases.Load() == 1 {
				return &backends.RetryError{After: 20 * time.Second, Err: errors.New("503")}
			}
			return b.Backend.Release(ctx, g)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		require.NoError(t, l.Release(ctx))
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, "done", recorded(t, b))
	})
}

func TestAReleaseWithAMarkIsBoundedWhenItsContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		require.NoError(t, l.SetMark("done"))
		b.release.set(func(ctx context.Context, _ backends.Grant) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		require.Error(t, l.Release(ctx))
		require.LessOrEqual(t, time.Since(start), 5*time.Second)
	})
}

// An attempt without an answer does not use up the time for the next.
func TestAReleaseWithAMarkSurvivesASilentAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := alone()
		l := lock(t, b, nil)
		require.NoError(t, l.SetMark("done"))
		b.release.set(func(ctx context.Context, g backends.Grant) error {
			if b.releases.Load() == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return b.Backend.Release(ctx, g)
		})
		start := time.Now()
		require.NoError(t, l.Release(t.Context()))
		require.Less(t, time.Since(start), 8*time.Second)
		require.NoError(t, l.Release(t.Context()))
		require.ErrorIs(t, l.Err(), mutex.ErrReleased)
	})
}
