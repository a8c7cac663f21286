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

func TestWatchTellsOfANewTokenAndNewMeta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlease.New()
		term := func(addr string) {
			l, err := newMutex(t, b, &mutex.Options{Meta: map[string]string{"addr": addr}}).Lock(context.Background())
			require.NoError(t, err)
			time.AfterFunc(time.Minute, func() { _ = l.Release(context.Background()) })
		}
		term("a")
		var seen []string
		for r, err := range leader.Watch(t.Context(), newMutex(t, b, &mutex.Options{Poll: time.Hour})) {
			require.NoError(t, err)
			if seen = append(seen, r.Meta["addr"]); len(seen) == 2 {
				break
			}
			time.Sleep(2 * time.Minute)
			time.AfterFunc(30*time.Minute, func() { term("b") })
			time.AfterFunc(40*time.Minute, func() { term("a") }) // another term, all else alike
		}
		require.Equal(t, []string{"a", "a"}, seen)
		time.Sleep(time.Hour)
	})
}

type silent struct{ backends.Backend }

func (silent) Observe(ctx context.Context, _ string) (backends.Record, error) {
	<-ctx.Done()
	return backends.Record{}, ctx.Err()
}

func TestWatchTellsOfAStoreThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for _, err := range leader.Watch(t.Context(), newMutex(t, silent{memlease.New()}, nil)) {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			break
		}
		require.Equal(t, 10*time.Second, time.Since(start))
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
