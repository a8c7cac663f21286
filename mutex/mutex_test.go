package mutex_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

func newMutex(t *testing.T, b backends.Backend, o *mutex.Options) *mutex.Mutex {
	t.Helper()
	m, err := mutex.New(b, "job", o)
	require.NoError(t, err)
	return m
}

func TestOneHoldsAndTheOtherWaitsForTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		first, second := newMutex(t, b, &mutex.Options{Holder: "a"}), newMutex(t, b, &mutex.Options{Holder: "b"})
		a, err := first.Lock(t.Context())
		require.NoError(t, err)
		_, err = second.TryLock(t.Context())
		require.ErrorIs(t, err, mutex.ErrHeld)
		var held *backends.HeldError
		require.ErrorAs(t, err, &held)
		require.Equal(t, "a", held.Record.Holder)

		time.Sleep(10 * time.Minute)
		require.NoError(t, a.Err())
		time.AfterFunc(time.Minute, func() { _ = a.Release(context.Background()) })
		start := time.Now()
		l, err := second.Lock(t.Context())
		require.NoError(t, err)
		require.WithinRange(t, time.Now(), start.Add(time.Minute), start.Add(time.Minute+6*time.Second))
		require.Greater(t, l.Token(), a.Token())
		require.ErrorIs(t, a.Err(), mutex.ErrReleased)
		require.NoError(t, l.Release(t.Context()))
	})
}

func TestTheContextEndsInTimeWhenTheStoreIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		m := newMutex(t, b, nil)
		l, err := m.Lock(t.Context())
		require.NoError(t, err)
		ctx, cancel := l.Context(t.Context())
		defer cancel()
		start := time.Now()
		gone := errors.New("the store is gone")
		b.Fail(gone)
		<-ctx.Done()
		require.LessOrEqual(t, time.Since(start), 29100*time.Millisecond)
		require.ErrorIs(t, context.Cause(ctx), mutex.ErrLost)
		require.ErrorIs(t, context.Cause(ctx), gone)
		require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
		b.Fail(nil)
		next, err := m.Lock(t.Context())
		require.NoError(t, err)
		require.Greater(t, next.Token(), l.Token())
		require.NoError(t, next.Release(t.Context()))
	})
}
