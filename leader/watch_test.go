package leader_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

func TestWatchLooksAtOnceAndThenTellsOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		holder := newMutex(t, b, &mutex.Options{Holder: "a", Meta: map[string]string{"addr": "10.0.0.1"}})
		down := errors.New("down")
		go func() {
			time.Sleep(time.Minute)
			l, _ := holder.Lock(context.Background())
			time.Sleep(time.Hour) // renewals are no news
			b.Fail(down)
			time.Sleep(6 * time.Second)
			b.Fail(nil)
			time.Sleep(time.Minute)
			_ = l.Release(context.Background())
		}()
		start := time.Now()
		var states []backends.State
		var failures int
		for r, err := range leader.Watch(t.Context(), newMutex(t, b, nil)) {
			if err != nil {
				require.ErrorIs(t, err, down)
				require.Zero(t, r)
				failures++
				continue
			}
			if states = append(states, r.State); len(states) == 1 {
				require.Zero(t, time.Since(start))
			}
			if r.State == backends.Held {
				require.Equal(t, "a", r.Holder)
				require.Equal(t, "10.0.0.1", r.Meta["addr"])
			}
			if len(states) == 3 {
				break
			}
		}
		require.Equal(t, []backends.State{backends.Free, backends.Held, backends.Free}, states)
		require.Contains(t, []int{1, 2}, failures)
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		looks := 0
		for r, err := range leader.Watch(ctx, newMutex(t, memlease.New(), nil)) {
			require.NoError(t, err)
			require.Equal(t, backends.Free, r.State)
			looks++
		}
		require.Equal(t, 1, looks)
		for _, err := range leader.Watch(ctx, newMutex(t, memlease.New(), nil)) {
			require.NoError(t, err)
			require.Fail(t, "it has ended")
		}
	})
}
