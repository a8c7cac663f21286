package leader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

const ttl = 30 * time.Second

func newMutex(t *testing.T, b backends.Backend, o *mutex.Options) *mutex.Mutex {
	t.Helper()
	m, err := mutex.New(b, "job", o)
	require.NoError(t, err)
	return m
}

func state(t *testing.T, b backends.Backend) backends.State {
	t.Helper()
	r, err := b.Observe(context.Background(), "job")
	require.NoError(t, err)
	return r.State
}

func untilDone(ctx context.Context, _ *mutex.Lease) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRunReturnsWhatTheTaskReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		failed := errors.New("failed")
		for _, result := range []error{nil, failed, context.Canceled} {
			err := leader.Run(t.Context(), newMutex(t, b, nil), func(context.Context, *mutex.Lease) error { return result }, nil)
			require.Equal(t, result, err)
			require.Equal(t, backends.Free, state(t, b))
		}
	})
}

func TestRunReturnsNilWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		for _, task := range []func(context.Context, *mutex.Lease) error{
			untilDone,
			func(ctx context.Context, _ *mutex.Lease) error { <-ctx.Done(); return context.Cause(ctx) },
			func(ctx context.Context, _ *mutex.Lease) error { <-ctx.Done(); return nil },
			func(ctx context.Context, _ *mutex.Lease) error { <-ctx.Done(); return leader.ErrResign },
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(errors.New("SIGTERM")) })
			require.NoError(t, leader.Run(ctx, newMutex(t, b, nil), task, nil))
			require.Equal(t, backends.Free, state(t, b))
		}
	})
}

func TestRunReturnsNilWhenItsContextEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, leader.Run(ctx, newMutex(t, b, nil), untilDone, nil))
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestALossIsNoFailureWhateverItsCauseIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ctx, cancel := context.WithCancel(t.Context())
		err := leader.Run(ctx, newMutex(t, b, nil), func(ctx context.Context, _ *mutex.Lease) error {
			b.Fail(errors.New("no route to host"))
			<-ctx.Done()
			cancel()
			return fmt.Errorf("work: %w", context.Cause(ctx))
		}, nil)
		require.NoError(t, err)
	})
}

func TestRunReportsAFailureThatIsJoinedWithTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("could not flush")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := leader.Run(ctx, newMutex(t, memlease.New(), nil), func(ctx context.Context, _ *mutex.Lease) error {
			<-ctx.Done()
			return errors.Join(ctx.Err(), failed)
		}, nil)
		require.ErrorIs(t, err, failed)
	})
}

func TestATaskMayReleaseItsLeaseItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed, terms := errors.New("failed"), 0
		err := leader.Run(t.Context(), newMutex(t, memlease.New(), nil), func(ctx context.Context, l *mutex.Lease) error {
			terms++
			return errors.Join(failed, l.Release(ctx))
		}, nil)
		require.ErrorIs(t, err, failed)
		require.Equal(t, 1, terms)
	})
}

func TestALossThatOnlyTheReleaseShowsIsALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, terms := memlease.New(), 0
		err := leader.Run(t.Context(), newMutex(t, b, nil), func(ctx context.Context, _ *mutex.Lease) error {
			if terms++; terms == 1 {
				return b.Break(ctx, "job", "")
			}
			return nil
		}, nil)
		require.NoError(t, err)
		require.Equal(t, 2, terms, "it campaigns again")
	})
}

func TestATaskThatIgnoresALossIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, terms := memlease.New(), 0
		var log bytes.Buffer
		m := newMutex(t, b, &mutex.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, leader.Run(t.Context(), m, func(ctx context.Context, l *mutex.Lease) error {
			if terms++; terms == 1 {
				require.NoError(t, b.Break(ctx, "job", ""))
				time.Sleep(time.Hour)
			}
			return nil
		}, nil))
		require.Contains(t, log.String(), "task has not returned since its lease ended")
	})
}

func TestRunReportsAFailureThatHasAnotherReasonThanTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("could not flush")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := leader.Run(ctx, newMutex(t, memlease.New(), nil), func(ctx context.Context, _ *mutex.Lease) error {
			<-ctx.Done()
			return failed
		}, nil)
		require.ErrorIs(t, err, failed)
	})
}

func TestAWrongSetUpEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		b.Fail(backends.ErrDenied)
		require.ErrorIs(t, leader.Run(t.Context(), newMutex(t, b, nil), untilDone, nil), backends.ErrDenied)
	})
}

func TestRunCampaignsAgainAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		m := newMutex(t, b, nil)
		var tokens []mutex.Token
		running := 0
		err := leader.Run(t.Context(), m, func(ctx context.Context, l *mutex.Lease) error {
			running++
			defer func() { running-- }()
			require.Equal(t, 1, running)
			tokens = append(tokens, l.Token())
			if len(tokens) == 4 {
				return nil
			}
			require.NoError(t, b.Break(t.Context(), "job", ""))
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), mutex.ErrLost)
			time.Sleep(2 * ttl) // it takes its time
			return errors.New("whatever")
		}, nil)
		require.NoError(t, err)
		require.Len(t, tokens, 4)
		require.IsIncreasing(t, tokens)
	})
}

func TestWhoResignsLetsOthersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		first, second := newMutex(t, b, &mutex.Options{Holder: "first"}), newMutex(t, b, &mutex.Options{Holder: "second", Poll: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		order := make(chan string, 100)
		done := make(chan error, 1)
		began := make(chan struct{})
		go func() {
			done <- leader.Run(ctx, first, func(ctx context.Context, l *mutex.Lease) error {
				if len(order) == 0 {
					order <- "first"
					close(began)
					time.Sleep(10 * time.Second)
					return leader.ErrResign
				}
				order <- "first again"
				return untilDone(ctx, l)
			}, nil)
		}()
		<-began
		err := leader.Run(ctx, second, func(context.Context, *mutex.Lease) error {
			order <- "second"
			time.Sleep(10 * time.Second)
			return nil
		}, nil)
		require.NoError(t, err)
		require.NoError(t, <-done)
		require.Equal(t, "first", <-order)
		require.Equal(t, "second", <-order)
		require.Equal(t, "first again", <-order)
	})
}

func TestTheLeaseIsRenewedWhileTheTaskDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ctx, cancel := context.WithCancel(t.Context())
		rival := newMutex(t, b, nil)
		err := leader.Run(ctx, newMutex(t, b, nil), func(ctx context.Context, l *mutex.Lease) error {
			cancel()
			<-ctx.Done()
			for range 10 {
				time.Sleep(ttl)
				require.NoError(t, l.Err())
				_, err := rival.TryLock(t.Context())
				require.ErrorIs(t, err, mutex.ErrHeld)
			}
			return nil
		}, &leader.Options{StopTimeout: time.Hour})
		require.NoError(t, err)
		require.Equal(t, backends.Free, state(t, b))
	})
}

func TestATaskThatOutstaysStopTimeoutLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		var log bytes.Buffer
		m := newMutex(t, b, &mutex.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := time.Now()
		err := leader.Run(ctx, m, func(_ context.Context, l *mutex.Lease) error {
			cancel()
			<-l.Done()
			require.Equal(t, 10*time.Second, time.Since(stopped))
			require.ErrorIs(t, l.Err(), leader.ErrHung)
			require.ErrorIs(t, l.Err(), mutex.ErrLost)
			require.Equal(t, backends.Held, state(t, b), "it runs out; it is not freed under the task")
			time.Sleep(time.Hour)
			next, err := newMutex(t, b, nil).Lock(t.Context())
			require.NoError(t, err)
			require.NoError(t, next.Release(t.Context()))
			return nil
		}, &leader.Options{StopTimeout: 10 * time.Second})
		require.ErrorIs(t, err, leader.ErrHung)
		require.Contains(t, log.String(), "task has not returned")
	})
}

func TestATaskThatDoesNotBeatLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		terms := 0
		err := leader.Run(t.Context(), newMutex(t, b, nil), func(ctx context.Context, l *mutex.Lease) error {
			if terms++; terms == 2 {
				return nil
			}
			for range 100 {
				leader.Beat(context.WithValue(ctx, key{}, 1))
				time.Sleep(59 * time.Second)
			}
			require.NoError(t, l.Err())
			<-ctx.Done() // hangs
			require.ErrorIs(t, context.Cause(ctx), leader.ErrHung)
			return nil
		}, &leader.Options{Liveness: time.Minute})
		require.NoError(t, err)
		require.Equal(t, 2, terms)
	})
}

type key struct{}

func TestAHungTaskThatReturnsInTimeFreesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ctx, cancel := context.WithCancel(t.Context())
		m := newMutex(t, b, &mutex.Options{Poll: 20 * time.Second})
		done := make(chan error, 1)
		go func() { done <- leader.Run(ctx, m, untilDone, &leader.Options{Liveness: time.Minute}) }()
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, backends.Free, state(t, b))
		cancel()
		require.NoError(t, <-done)
	})
}

func TestBeatElsewhereDoesNothing(t *testing.T) {
	leader.Beat(t.Context())
}

func TestAPanicReachesTheCallerAndReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		require.PanicsWithValue(t, "boom", func() {
			_ = leader.Run(t.Context(), newMutex(t, b, nil), func(context.Context, *mutex.Lease) error { panic("boom") }, nil)
		})
		require.Equal(t, backends.Held, state(t, b))
		time.Sleep(31 * time.Second)
		require.Equal(t, backends.Free, state(t, b), "nobody renews it")
	})
}

func TestGoexitInTheTaskEndsRunsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = leader.Run(context.Background(), newMutex(t, b, nil), func(context.Context, *mutex.Lease) error {
				runtime.Goexit()
				return nil
			}, nil)
		}()
		<-ended
		require.Equal(t, backends.Held, state(t, b))
	})
}

func TestRunRefusesBadOptions(t *testing.T) {
	m := newMutex(t, memlease.New(), nil)
	for _, o := range []leader.Options{{StopTimeout: -1}, {Liveness: -1}, {Liveness: time.Millisecond}} {
		require.Error(t, leader.Run(t.Context(), m, untilDone, &o))
	}
}

func TestRunWithoutATaskCampaignsForNothing(t *testing.T) {
	b := memlease.New()
	require.ErrorContains(t, leader.Run(t.Context(), newMutex(t, b, nil), nil, nil), "nil")
	require.Error(t, leader.Run(t.Context(), nil, untilDone, nil))
	require.Equal(t, backends.Free, state(t, b))
}

func TestTheTaskRunsOnTheGoroutineOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := func() string {
			buf := make([]byte, 64)
			return string(bytes.Fields(buf[:runtime.Stack(buf, false)])[1])
		}
		here := id()
		require.NoError(t, leader.Run(t.Context(), newMutex(t, memlease.New(), nil), func(context.Context, *mutex.Lease) error {
			require.Equal(t, here, id())
			return nil
		}, nil))
	})
}
