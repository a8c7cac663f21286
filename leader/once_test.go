package leader_test

import (
	"bytes"
	"context"
	"errors"
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

const day = 24 * time.Hour

var night = leader.SlotAt(time.Date(2026, 10, 12, 2, 0, 0, 0, time.UTC))

func takes(d time.Duration) func(context.Context, *mutex.Lease) error {
	return func(ctx context.Context, _ *mutex.Lease) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func never(context.Context, *mutex.Lease) error { panic("the slot is done") }

// done makes sure that the slot is recorded.
func done(t *testing.T, b backends.Backend, slot leader.Slot) {
	t.Helper()
	ran, err := leader.Once(t.Context(), newMutex(t, b, nil), slot, never, nil)
	require.NoError(t, err)
	require.False(t, ran)
}

// open makes sure that it is not.
func open(t *testing.T, b backends.Backend) {
	t.Helper()
	r, err := b.Observe(t.Context(), "job")
	require.NoError(t, err)
	require.Empty(t, r.Done)
}

func TestASlotIsRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(time.Second), nil)
		require.NoError(t, err)
		require.True(t, ran)
		require.Equal(t, backends.Free, state(t, b))
		done(t, b, night)
	})
}

func TestASlotThatFailsStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, failed := memlease.New(), errors.New("failed")
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(context.Context, *mutex.Lease) error { return failed }, nil)
		require.Equal(t, failed, err)
		require.True(t, ran)
		require.Equal(t, backends.Free, state(t, b), "whoever waits may run it at once")
		open(t, b)
	})
}

func TestOnceWaitsForWhatBecomesOfTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fails := range []bool{false, true} {
			b := memlease.New()
			go func() {
				_, _ = leader.Once(t.Context(), newMutex(t, b, nil), night, func(ctx context.Context, l *mutex.Lease) error {
					_ = takes(time.Hour)(ctx, l)
					if fails {
						return errors.New("failed")
					}
					return nil
				}, nil)
			}()
			time.Sleep(time.Second)
			start := time.Now()
			ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
			require.NoError(t, err)
			require.Equal(t, fails, ran)
			require.InDelta(t, time.Hour, time.Since(start), float64(7*time.Second), "a poll later")
			done(t, b, night)
		}
	})
}

func TestWhoWaitsTakesOverFromTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		go func() {
			_, _ = leader.Once(context.Background(), newMutex(t, b, nil), night, func(context.Context, *mutex.Lease) error {
				time.Sleep(time.Minute)
				runtime.Goexit()
				return nil
			}, nil)
		}()
		time.Sleep(time.Second)
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err)
		require.True(t, ran)
	})
}

func TestWithNoWaitASlotInWorkIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		l, err := newMutex(t, b, &mutex.Options{Holder: "a"}).Lock(t.Context())
		require.NoError(t, err)
		start := time.Now()
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, never, &leader.OnceOptions{NoWait: true})
		require.ErrorIs(t, err, mutex.ErrHeld)
		require.False(t, ran)
		var held *backends.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, "a", held.Record.Holder)
		require.Zero(t, time.Since(start))
		require.NoError(t, l.Release(t.Context()))

		down := errors.New("down")
		b.Fail(down)
		_, err = leader.Once(t.Context(), newMutex(t, b, nil), night, never, &leader.OnceOptions{NoWait: true})
		require.ErrorIs(t, err, down)
	})
}

func TestASlotThatIsDoneIsDoneThoughTheLeaseIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err)
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		start := time.Now()
		done(t, b, night)
		require.Zero(t, time.Since(start))
		require.NoError(t, l.Release(t.Context()))
	})
}

// What is recorded between the look and the acquisition is found under the lease.
func TestASlotThatIsRecordedMeanwhileIsNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		late := &observed{Backend: b}
		late.after = func() {
			late.after = nil
			_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
			require.NoError(t, err)
		}
		done(t, late, night)
		require.Equal(t, backends.Free, state(t, b), "the lease that was in vain is freed")
	})
}

// Somebody else may win the lease between the look and the acquisition.
func TestALeaseThatIsTakenMeanwhileIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		late := &observed{Backend: b}
		late.after = func() {
			late.after = nil
			l, err := newMutex(t, b, nil).Lock(t.Context())
			require.NoError(t, err)
			time.AfterFunc(time.Hour, func() { _ = l.Release(context.Background()) })
		}
		start := time.Now()
		ran, err := leader.Once(t.Context(), newMutex(t, late, nil), night, takes(0), nil)
		require.NoError(t, err)
		require.True(t, ran)
		require.Greater(t, time.Since(start), time.Hour)
	})
}

func TestOnceReturnsWhenItsContextEndsThoughTheStoreIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := leader.Once(ctx, newMutex(t, speechless{memlease.New()}, nil), night, never, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 3*time.Second, time.Since(start))

		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		b := &observed{Backend: memlease.New()}
		start = time.Now()
		_, err = leader.Once(ctx, newMutex(t, b, nil), night, func(context.Context, *mutex.Lease) error {
			cancel()
			b.Backend = speechless{b.Backend}
			return nil
		}, nil)
		require.ErrorIs(t, err, leader.ErrNotRecorded)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
	})
}

// A speechless backend gives no answers, but grants.
type speechless struct{ backends.Backend }

func (speechless) Observe(ctx context.Context, _ string) (backends.Record, error) {
	<-ctx.Done()
	return backends.Record{}, ctx.Err()
}

func (speechless) Release(ctx context.Context, _ backends.Grant) error {
	<-ctx.Done()
	return ctx.Err()
}

// The release is not answered, and neither are the first reads after it.
func TestTheRecordIsReadUntilItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, failures := memlease.New(), 0
		shaky := &observed{Backend: &mute{b}}
		ran, err := leader.Once(t.Context(), newMutex(t, shaky, nil), night, func(context.Context, *mutex.Lease) error {
			shaky.fails = func() error {
				if failures++; failures < 4 {
					return errors.New("503")
				}
				return nil
			}
			return nil
		}, nil)
		require.NoError(t, err)
		require.True(t, ran)
		require.Equal(t, 4, failures)
		done(t, b, night)

		shaky.fails = nil
		next := leader.SlotID("next")
		_, err = leader.Once(t.Context(), newMutex(t, shaky, nil), next, func(context.Context, *mutex.Lease) error {
			shaky.fails = func() error {
				failures++
				return &backends.RetryError{After: 4 * time.Second, Err: errors.New("503")}
			}
			return nil
		}, nil)
		require.ErrorIs(t, err, leader.ErrNotRecorded, "it could not be read")
		require.Equal(t, 6, failures, "a store that asks for time gets it")
		done(t, b, next)
	})
}

// An observed backend lets something happen after it was looked at, and may not know
// the time.
type observed struct {
	backends.Backend
	after    func()
	timeless bool
	fails    func() error
	ahead    time.Duration
	left     time.Duration // of whoever holds the lease; 0: as it is
}

func (o *observed) Observe(ctx context.Context, name string) (backends.Record, error) {
	if o.fails != nil {
		if err := o.fails(); err != nil {
			return backends.Record{}, err
		}
	}
	r, err := o.Backend.Observe(ctx, name)
	if o.after != nil {
		o.after()
	}
	r.Now = r.Now.Add(o.ahead)
	if o.left > 0 && r.State == backends.Held {
		r.Left = o.left
	}
	if o.timeless {
		r.Now = time.Time{}
	}
	return r, err
}

func TestOnceReturnsTheCauseWhenItsContextEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("SIGTERM")
		time.AfterFunc(time.Hour, func() { cancel(stop) })
		ran, err := leader.Once(ctx, newMutex(t, b, nil), night, never, nil)
		require.ErrorIs(t, err, stop)
		require.ErrorIs(t, err, mutex.ErrHeld, "what it waited for")
		require.False(t, ran)
		require.NoError(t, l.Release(t.Context()))

		_, err = leader.Once(ctx, newMutex(t, b, nil), night, never, nil)
		require.ErrorIs(t, err, stop)
		b.Fail(errors.New("down"))
		within, cancel2 := context.WithTimeout(t.Context(), time.Minute)
		defer cancel2()
		_, err = leader.Once(within, newMutex(t, b, nil), night, never, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "down")
	})
}

func TestAJobThatIsToldToStopIsReleasedAndRecordedIfItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, finishes := range []bool{true, false} {
			b := memlease.New()
			ctx, cancel := context.WithCancel(t.Context())
			ran, err := leader.Once(ctx, newMutex(t, b, nil), night, func(ctx context.Context, l *mutex.Lease) error {
				cancel()
				<-ctx.Done()
				time.Sleep(20 * time.Second)
				require.NoError(t, l.Err(), "it is renewed while the job drains")
				if finishes {
					return nil
				}
				return ctx.Err()
			}, nil)
			require.True(t, ran)
			require.Equal(t, backends.Free, state(t, b))
			if finishes {
				require.NoError(t, err)
				done(t, b, night)
				continue
			}
			require.Equal(t, context.Canceled, err)
			open(t, b)
		}
	})
}

func TestAnOutageIsRiddenOutBeforeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		b.Fail(errors.New("no route to host"))
		time.AfterFunc(time.Hour, func() { b.Fail(nil) })
		var log bytes.Buffer
		m := newMutex(t, b, &mutex.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ran, err := leader.Once(t.Context(), m, night, takes(0), nil)
		require.NoError(t, err)
		require.True(t, ran)
		require.Less(t, bytes.Count(log.Bytes(), []byte("slot cannot be looked at")), 15)
		require.Contains(t, log.String(), "no route to host")
		require.Contains(t, log.String(), "slot recorded")
	})
}

func TestAStoreThatAsksForTimeGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		b.Fail(&backends.RetryError{After: 50 * time.Second, Err: errors.New("busy")})
		time.AfterFunc(time.Second, func() { b.Fail(nil) })
		start := time.Now()
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), 50*time.Second)
	})
}

// A day would be longer than anybody waits.
func TestAStoreThatAsksForADayIsAskedAgainInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		b.Fail(&backends.RetryError{After: day, Err: errors.New("busy")})
		time.AfterFunc(time.Second, func() { b.Fail(nil) })
		start := time.Now()
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err)
		require.Less(t, time.Since(start), 2*time.Minute)
	})
}

// The poll may be longer than what is left of a lease that its holder has given up.
func TestWhoWaitsTakesOverWhenTheLeaseRunsOutAndNotAPollLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &observed{Backend: memlease.New()}
		b.left = 3 * time.Second
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { _ = l.Release(context.Background()) })
		start := time.Now()
		_, err = leader.Once(t.Context(), newMutex(t, b, &mutex.Options{TTL: ttl, Poll: ttl}), night, takes(0), nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(start), 3*time.Second)
		require.LessOrEqual(t, time.Since(start), 3*time.Second+ttl/10, "it is not looked at a poll later")
	})
}

// The release and the end of ctx come first, and then the record is read all the same.
func TestTheRecordIsReadThoughTheContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := memlease.New()
		ran, err := leader.Once(ctx, newMutex(t, &mute{b}, nil), night, func(context.Context, *mutex.Lease) error {
			cancel()
			return nil
		}, nil)
		require.NoError(t, err, "it is recorded")
		require.True(t, ran)
		done(t, b, night)
	})
}

func TestAWrongSetUpEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wrong := range []error{backends.ErrDenied, backends.ErrNoContainer, backends.ErrUnsupported, backends.ErrForeign} {
			b := memlease.New()
			b.Fail(wrong)
			ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, never, nil)
			require.ErrorIs(t, err, wrong)
			require.False(t, ran)
		}
		b := memlease.New()
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		time.AfterFunc(time.Minute, func() { b.Fail(backends.ErrDenied) })
		time.AfterFunc(time.Hour, func() { b.Fail(nil) })
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err, "later it is ridden out, like all trouble")
		require.True(t, ran)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
	})
}

// A readOnly backend may be read.
type readOnly struct{ backends.Backend }

func (readOnly) Acquire(context.Context, string, backends.Claim) (backends.Grant, error) {
	return backends.Grant{}, backends.ErrDenied
}

// That the record could be read does not say that it may be written.
func TestAMissingRightToWriteEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		ran, err := leader.Once(ctx, newMutex(t, readOnly{memlease.New()}, nil), night, never, nil)
		require.ErrorIs(t, err, backends.ErrDenied)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, ran)
		require.Zero(t, time.Since(start))
	})
}

func TestWhatIsNotRecordedIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, down := memlease.New(), errors.New("no route to host")
		start := time.Now()
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(context.Context, *mutex.Lease) error {
			b.Fail(down)
			return nil
		}, nil)
		require.True(t, ran)
		require.ErrorIs(t, err, leader.ErrNotRecorded)
		require.ErrorIs(t, err, down)
		require.NotErrorIs(t, err, mutex.ErrLost)
		require.LessOrEqual(t, time.Since(start), ttl+5*time.Second, "it has tried for a TTL, and then to read")
		b.Fail(nil)
		open(t, b)
	})
}

func TestWhatIsRecordedThoughItsAnswerWasLostIsFoundByReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &mute{Backend: memlease.New()}
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(time.Second), nil)
		require.True(t, ran)
		require.NoError(t, err)
		done(t, b, night)
	})
}

// A mute backend does not tell what became of a release.
type mute struct{ backends.Backend }

func (m *mute) Release(ctx context.Context, g backends.Grant) error {
	_ = m.Backend.Release(ctx, g)
	return errors.New("connection reset")
}

func TestALeaseThatIsLostWhileTheJobRunsIsTold(t *testing.T) {
	lose := func(t *testing.T, b *memlease.Backend) func(context.Context, *mutex.Lease) error {
		return func(ctx context.Context, _ *mutex.Lease) error {
			require.NoError(t, b.Break(t.Context(), "job", ""))
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), mutex.ErrLost)
			return nil
		}
	}
	synctest.Test(t, func(t *testing.T) { // nobody else has run it
		b := memlease.New()
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, lose(t, b), nil)
		require.True(t, ran)
		require.ErrorIs(t, err, mutex.ErrLost)
		require.ErrorIs(t, err, leader.ErrNotRecorded)
		open(t, b)
	})
	synctest.Test(t, func(t *testing.T) { // somebody else has
		b := memlease.New()
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(ctx context.Context, l *mutex.Lease) error {
			defer func() {
				_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
				require.NoError(t, err)
			}()
			return lose(t, b)(ctx, l)
		}, nil)
		require.True(t, ran)
		require.ErrorIs(t, err, mutex.ErrLost)
		require.NotErrorIs(t, err, leader.ErrNotRecorded)
		done(t, b, night)
	})
	synctest.Test(t, func(t *testing.T) { // the job fails besides
		b, failed := memlease.New(), errors.New("failed")
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(ctx context.Context, l *mutex.Lease) error {
			return errors.Join(lose(t, b)(ctx, l), failed)
		}, nil)
		require.ErrorIs(t, err, failed)
		require.ErrorIs(t, err, mutex.ErrLost)
		require.NotErrorIs(t, err, leader.ErrNotRecorded)
	})
	synctest.Test(t, func(t *testing.T) { // only the release shows it
		b := memlease.New()
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(context.Context, *mutex.Lease) error {
			return b.Break(t.Context(), "job", "")
		}, nil)
		require.ErrorIs(t, err, mutex.ErrLost)
		require.ErrorIs(t, err, leader.ErrNotRecorded)
	})
}

// The store was out of reach for longer than the lease, and nobody took it over: the
// release proves that, and records the slot.
func TestALapsedLeaseThatNobodyTookStillRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(ctx context.Context, _ *mutex.Lease) error {
			b.Fail(errors.New("no route to host"))
			<-ctx.Done()
			b.Fail(nil)
			return nil // it was done with the last item
		}, nil)
		require.True(t, ran)
		require.ErrorIs(t, err, mutex.ErrLost)
		require.NotErrorIs(t, err, leader.ErrNotRecorded)
		done(t, b, night)
	})
}

func TestAPanicInTheJobRecordsAndReleasesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		require.PanicsWithValue(t, "boom", func() {
			_, _ = leader.Once(t.Context(), newMutex(t, b, nil), night, func(context.Context, *mutex.Lease) error { panic("boom") }, nil)
		})
		require.Equal(t, backends.Held, state(t, b))
		open(t, b)
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err)
		require.True(t, ran, "once it has run out")
	})
}

func TestAJobThatOutstaysStopTimeoutLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ctx, cancel := context.WithCancel(t.Context())
		ran, err := leader.Once(ctx, newMutex(t, b, nil), night, func(context.Context, *mutex.Lease) error {
			cancel()
			time.Sleep(time.Hour)
			return nil
		}, &leader.OnceOptions{StopTimeout: 10 * time.Second})
		require.True(t, ran)
		require.ErrorIs(t, err, leader.ErrHung)
		require.ErrorIs(t, err, mutex.ErrLost)
	})
}

func TestAJobThatDoesNotBeatLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		o := &leader.OnceOptions{Liveness: time.Minute}
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(ctx context.Context, l *mutex.Lease) error {
			for range 10 {
				leader.Beat(ctx)
				time.Sleep(59 * time.Second)
			}
			require.NoError(t, l.Err())
			return untilDone(ctx, l)
		}, o)
		require.True(t, ran)
		require.ErrorIs(t, err, leader.ErrHung)
		open(t, b)
		ran, err = leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), o)
		require.NoError(t, err)
		require.True(t, ran)
	})
}

func TestAJobThatReleasesItsLeaseItselfIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), night, func(ctx context.Context, l *mutex.Lease) error {
			return l.Release(ctx)
		}, nil)
		require.ErrorIs(t, err, leader.ErrNotRecorded)
		require.ErrorIs(t, err, mutex.ErrReleased)
		open(t, b)
	})
}

func TestAMarkThatIsNoneOfOncesEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.SetMark("all done"))
		require.NoError(t, l.Release(t.Context()))
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), night, never, nil)
		require.ErrorIs(t, err, backends.ErrForeign)
		require.ErrorContains(t, err, `"all done"`)
		require.False(t, ran)
	})
}

func TestAMarkThatLeavesNoRoomEndsOnceBeforeTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.SetMark("later="+string(bytes.Repeat([]byte("x"), backends.MaxDone-6))))
		require.NoError(t, l.Release(t.Context()))
		_, err = leader.Once(t.Context(), newMutex(t, b, nil), night, never, nil)
		require.ErrorContains(t, err, "at most 1024 are allowed")
	})
}

// The store's clock is ten minutes behind this one.
func TestEveryGoesByTheStoresClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it is midnight here
		b := &observed{Backend: memlease.New(), ahead: -10 * time.Minute}
		slot := leader.Every(day, 0)
		var at time.Time
		job := func(ctx context.Context, _ *mutex.Lease) error {
			at, _ = leader.SlotTime(ctx)
			return nil
		}
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), slot, job, &leader.OnceOptions{Grace: 9 * time.Minute})
		require.NoError(t, err)
		require.Equal(t, time.Now().UTC().Add(-day), at, "yesterday's, by the store")
		_, err = leader.Once(t.Context(), newMutex(t, b, nil), slot, job, nil)
		require.NoError(t, err)
		require.Equal(t, time.Now().UTC(), at, "within the usual grace it is tonight's")
		time.Sleep(23 * time.Hour)
		done(t, b, slot)
	})
}

// Replicas whose clocks differ by up to ±5 minutes start at what each takes for
// midnight.
func TestReplicasMinutesApartAgreeOnEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := memlease.New(), time.Now()
		runs := 0
		for n := range time.Duration(30) {
			for _, off := range []time.Duration{-5 * time.Minute, -time.Minute, 0, 5 * time.Minute} {
				time.Sleep(time.Until(start.Add((n+1)*day + off)))
				_, err := leader.Once(t.Context(), newMutex(t, b, nil), leader.Every(day, 0), func(ctx context.Context, l *mutex.Lease) error {
					runs++
					return takes(time.Second)(ctx, l)
				}, nil)
				require.NoError(t, err)
			}
		}
		require.Equal(t, 30, runs)
	})
}

// A date that was wrong once is told at once, and not when it has come.
func TestASlotRecordedByAWrongDateIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &observed{Backend: memlease.New(), ahead: 300 * day}
		run := func() (bool, error) {
			return leader.Once(t.Context(), newMutex(t, b, nil), leader.Every(day, 0), takes(0), nil)
		}
		now := time.Now().UTC()
		ran, err := run()
		require.NoError(t, err)
		require.True(t, ran)

		b.ahead = 0
		start := time.Now()
		ran, err = run()
		require.ErrorIs(t, err, leader.ErrSlotAhead)
		require.ErrorContains(t, err, now.Format("2006-01-02T15:04:05"))
		require.ErrorContains(t, err, now.Add(300*day).Format("2006-01-02T15:04:05"))
		require.NotContains(t, err.Error(), "\n")
		require.False(t, ran)
		require.Zero(t, time.Since(start))
		ran, err = leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err, "other kinds of slots do not mind")
		require.True(t, ran)

		time.Sleep(299*day - time.Minute)
		ran, err = run()
		require.NoError(t, err, "a slot that is next by the grace may be recorded")
		require.False(t, ran)
	})
}

// Whoever has waited for hours finds later slots than its own, and that is no error.
func TestWhoWaitedForPeriodsTakesALaterSlotForDone(t *testing.T) {
	for _, timeless := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := memlease.New()
			waits := &observed{Backend: b}
			waits.after = func() { // it is resolved, and then cut off
				waits.after = nil
				l, err := newMutex(t, b, nil).Lock(t.Context())
				require.NoError(t, err)
				back := time.Now().Add(3*time.Hour + time.Second)
				waits.fails = func() error {
					if time.Now().Before(back) {
						return errors.New("no route to host")
					}
					waits.timeless = timeless
					return nil
				}
				time.AfterFunc(3*time.Hour, func() {
					require.NoError(t, l.Release(context.Background()))
					_, err := leader.Once(context.Background(), newMutex(t, b, nil), leader.Every(time.Hour, 0), takes(0), nil)
					require.NoError(t, err)
				})
			}
			ran, err := leader.Once(t.Context(), newMutex(t, waits, nil), leader.Every(time.Hour, 0), never, nil)
			require.NoError(t, err)
			require.False(t, ran)
		})
	}
}

// The slot of a call is the one that it has found first.
func TestWhoWaitedForPeriodsRunsItsOwnSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, start := memlease.New(), time.Now()
		l, err := newMutex(t, b, nil).Lock(t.Context())
		require.NoError(t, err)
		time.AfterFunc(3*time.Hour, func() { _ = l.Release(context.Background()) })
		var at time.Time
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), leader.Every(time.Hour, 0), func(ctx context.Context, _ *mutex.Lease) error {
			at, _ = leader.SlotTime(ctx)
			return nil
		}, nil)
		require.NoError(t, err)
		require.True(t, ran)
		require.Equal(t, start.UTC(), at)
	})
}

func TestEveryNeedsAStoreThatTellsTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &observed{Backend: memlease.New(), timeless: true}
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), leader.Every(day, 0), never, nil)
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.ErrorContains(t, err, "does not tell the time")
		require.False(t, ran)
		ran, err = leader.Once(t.Context(), newMutex(t, b, nil), night, takes(0), nil)
		require.NoError(t, err, "other slots do not need it")
		require.True(t, ran)
	})
}

func TestTheJobIsToldTheTimeOfItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		at := time.Date(2026, 10, 12, 4, 0, 0, 0, time.FixedZone("CEST", 2*3600))
		_, err := leader.Once(t.Context(), newMutex(t, b, nil), leader.SlotAt(at), func(ctx context.Context, l *mutex.Lease) error {
			got, ok := leader.SlotTime(ctx)
			require.True(t, ok)
			require.Equal(t, at.UTC(), got)
			token, _ := backends.TokenFrom(ctx)
			require.Equal(t, l.Token(), token)
			return nil
		}, nil)
		require.NoError(t, err)
		_, err = leader.Once(t.Context(), newMutex(t, b, nil), leader.SlotID("x"), func(ctx context.Context, _ *mutex.Lease) error {
			_, ok := leader.SlotTime(ctx)
			require.False(t, ok)
			return nil
		}, nil)
		require.NoError(t, err)
	})
}

func TestTheJobRunsOnTheGoroutineOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = leader.Once(context.Background(), newMutex(t, memlease.New(), nil), night, func(context.Context, *mutex.Lease) error {
				runtime.Goexit()
				return nil
			}, nil)
			panic("Goexit in the job ends the goroutine of Once")
		}()
		<-ended
	})
}

func TestWithoutASlotTheLeaseIsHeldForMinHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, o := memlease.New(), &leader.OnceOptions{MinHold: 40 * time.Second}
		start := time.Now()
		go func() {
			time.Sleep(300 * time.Millisecond) // by a clock that is behind
			ran, err := leader.Once(t.Context(), newMutex(t, b, nil), leader.Slot{}, never, o)
			require.ErrorIs(t, err, mutex.ErrHeld)
			require.False(t, ran)
			require.Equal(t, 300*time.Millisecond, time.Since(start), "it does not wait")
		}()
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), leader.Slot{}, takes(10*time.Millisecond), o)
		require.NoError(t, err)
		require.True(t, ran)
		require.Equal(t, 40*time.Second, time.Since(start))
		require.Equal(t, backends.Free, state(t, b))
		open(t, b)

		failed := errors.New("failed")
		start = time.Now()
		_, err = leader.Once(t.Context(), newMutex(t, b, nil), leader.Slot{}, func(context.Context, *mutex.Lease) error { return failed }, o)
		require.ErrorIs(t, err, failed)
		require.Equal(t, 40*time.Second, time.Since(start), "whatever it returned")

		start = time.Now()
		_, err = leader.Once(t.Context(), newMutex(t, b, nil), leader.Slot{}, takes(time.Minute), o)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestAMinHoldThatIsCutShortLeavesTheLeaseToRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ran, err := leader.Once(ctx, newMutex(t, b, nil), leader.Slot{}, takes(0), &leader.OnceOptions{MinHold: time.Minute})
		require.NoError(t, err)
		require.True(t, ran)
		require.Equal(t, backends.Held, state(t, b))
		time.Sleep(31 * time.Second)
		require.Equal(t, backends.Free, state(t, b))

		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		_, err = leader.Once(ctx, newMutex(t, b, nil), leader.Slot{}, func(context.Context, *mutex.Lease) error {
			time.Sleep(2 * time.Minute)
			return nil
		}, &leader.OnceOptions{MinHold: time.Minute})
		require.NoError(t, err)
		require.Equal(t, backends.Free, state(t, b), "MinHold was over before")
	})
}

func TestALossDuringMinHoldIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		time.AfterFunc(time.Second, func() { _ = b.Break(t.Context(), "job", "") })
		ran, err := leader.Once(t.Context(), newMutex(t, b, nil), leader.Slot{}, takes(0), &leader.OnceOptions{MinHold: time.Minute})
		require.ErrorIs(t, err, mutex.ErrLost)
		require.True(t, ran)
	})
}

func TestOnceRefusesWhatMakesNoSenseBeforeAnyRequest(t *testing.T) {
	b := memlease.New()
	b.Fail(errors.New("it was asked"))
	m := newMutex(t, b, nil)
	for _, err := range []error{
		second(leader.Once(t.Context(), nil, night, never, nil)),
		second(leader.Once(t.Context(), m, night, nil, nil)),
		second(leader.Once(t.Context(), m, leader.Slot{}, never, nil)),
		second(leader.Once(t.Context(), m, leader.SlotID(""), never, nil)),
		second(leader.Once(t.Context(), m, leader.Every(day, 0), never, &leader.OnceOptions{Grace: day})),
	} {
		require.Error(t, err)
		require.NotContains(t, err.Error(), "it was asked")
		require.NotContains(t, err.Error(), "\n")
	}
}

func second(_ bool, err error) error { return err }
