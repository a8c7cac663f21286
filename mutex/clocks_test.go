package mutex_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/mutex"
)

func unreachable(_ context.Context, g backends.Grant) (backends.Grant, error) {
	return g, errors.New("unreachable")
}

func TestAWallClockSetBackDoesNotProlongALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		b.renew.set(unreachable)
		start := time.Now()
		l := lock(t, b, nil)
		machine.Jump(-time.Hour)
		awaitEnd(t, l)
		require.Equal(t, hold, time.Since(start))
	})
}

func TestAWallClockSetForwardCostsALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		l := lock(t, b, nil)
		machine.Jump(time.Hour)
		require.ErrorIs(t, l.Err(), mutex.ErrLost)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
	})
}

func TestErrTellsOfASleepAtOnce(t *testing.T) {
	for _, look := range map[string]func(*mutex.Lease, context.Context) bool{
		"Err":       func(l *mutex.Lease, _ context.Context) bool { return l.Err() != nil },
		"Remaining": func(l *mutex.Lease, _ context.Context) bool { return l.Remaining() == 0 },
		"ctx.Err":   func(_ *mutex.Lease, ctx context.Context) bool { return ctx.Err() != nil },
		"ctx.Done": func(_ *mutex.Lease, ctx context.Context) bool {
			select {
			case <-ctx.Done():
				return true
			default:
				return false
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, machine := alone()
			l := lock(t, b, nil)
			ctx, cancel := l.Context(t.Context())
			defer cancel()
			require.False(t, look(l, ctx))
			machine.Suspend()
			time.Sleep(time.Minute)
			require.True(t, look(l, ctx), "no code ran since, but the clocks tell")
			machine.Resume()
			require.ErrorIs(t, context.Cause(ctx), mutex.ErrLost)
			require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
		})
	}
}

func TestAfterASleepTheContextEndsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		l := lock(t, b, nil)
		time.Sleep(time.Second)
		machine.Suspend()
		time.Sleep(8 * time.Hour)
		machine.Resume()
		woke := time.Now()
		awaitEnd(t, l)
		require.Less(t, time.Since(woke), time.Second)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
	})
}

// The wall clock hides the sleep: it was set back by as much.
func TestTheBootClockTellsOfASleepThatTheWallClockHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		l := lock(t, b, nil)
		machine.Suspend()
		time.Sleep(time.Hour)
		machine.Jump(-time.Hour)
		machine.Resume()
		woke := time.Now()
		awaitEnd(t, l)
		require.Less(t, time.Since(woke), time.Second)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
	})
}

// Wall and monotonic clock are only seconds apart, but Err asks the third.
func TestErrAsksTheBootClockWhenTheOthersMovedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		l := lock(t, b, nil)
		machine.Suspend()
		time.Sleep(time.Hour)
		machine.Jump(-time.Hour + 10*time.Second)
		require.ErrorIs(t, l.Err(), mutex.ErrLost)
		machine.Resume()
	})
}

func TestAShortStopCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		l := lock(t, b, nil)
		for range 100 {
			time.Sleep(3 * time.Second)
			machine.Stop()
			time.Sleep(10 * time.Second)
			machine.Resume()
			require.NoError(t, l.Err())
		}
		require.NoError(t, l.Release(t.Context()))
	})
}

// sleepInside makes a call during which the machine sleeps for an hour that its wall
// clock hides.
func sleepInside(machine interface {
	Suspend()
	Jump(time.Duration)
	Resume()
}) {
	machine.Suspend()
	time.Sleep(time.Hour)
	machine.Jump(-time.Hour)
	machine.Resume()
}

func TestAnAnswerThatASleepDelayedGivesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		b.acquire.set(func(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
			g, err := b.Backend.Acquire(ctx, name, c)
			sleepInside(machine)
			return g, err
		})
		_, err := newMutex(t, b, nil).TryLock(t.Context())
		require.ErrorIs(t, err, mutex.ErrLost)
		time.Sleep(time.Minute)
	})
}

func TestARenewalThatASleepDelayedRevivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, machine := alone()
		b.renew.set(func(ctx context.Context, g backends.Grant) (backends.Grant, error) {
			g, err := b.Backend.Renew(ctx, g)
			sleepInside(machine)
			return g, err
		})
		l := lock(t, b, nil)
		awaitEnd(t, l)
		require.EqualValues(t, 1, b.renewals.Load())
	})
}

// A renewal that was sent after the end would prolong the record for nobody.
func TestNoRenewalIsSentAfterTheEnd(t *testing.T) {
	for range 20 { // what chance has the last pause end with
		synctest.Test(t, func(t *testing.T) {
			b, _ := alone()
			start := time.Now()
			b.renew.set(func(_ context.Context, g backends.Grant) (backends.Grant, error) {
				require.Less(t, time.Since(start), hold)
				return g, errors.New("unreachable")
			})
			l := lock(t, b, nil)
			awaitEnd(t, l)
			time.Sleep(time.Minute)
		})
	}
}
