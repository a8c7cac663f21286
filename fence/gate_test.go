package fence_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/internal/fencetest"
	"github.com/bloblease/bloblease/mutex"
)

// A journal is guarded by a Gate, and by nothing else: the race detector sees it if two
// effects run at once.
type journal struct {
	gate    fence.Gate
	effects []fencetest.Effect
}

func (j *journal) Write(_ context.Context, lock string, t fence.Token, text string) error {
	return j.gate.Do(lock, t, func() error {
		j.effects = append(j.effects, fencetest.Effect{Token: t, Text: text})
		return nil
	})
}

func (j *journal) Raise(_ context.Context, lock string, t fence.Token) error {
	return j.gate.Raise(lock, t)
}

func (j *journal) Journal(context.Context) ([]fencetest.Effect, error) {
	return slices.Clone(j.effects), nil
}

func TestGate(t *testing.T) {
	fencetest.Run(t, fencetest.Harness{
		New:    func(*testing.T) fencetest.Resource { return new(journal) },
		Rounds: 1000,
	})
}

func TestTheClassicTimelineInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fencetest.Timeline(t, memlease.New(), time.Second, new(journal))
	})
}

func TestWhatAGateAcceptsAllocatesNothing(t *testing.T) {
	var g fence.Gate
	n, token := 0, fence.Token(1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if g.Do("job", token, func() error { n++; return nil }) != nil || g.Raise("job", token) != nil {
			t.Error("refused")
		}
		token++
	}))
	assert.Positive(t, n)
}

func TestTheErrorOfAnEffectIsReturnedAndItsTokenCounts(t *testing.T) {
	var g fence.Gate
	broken := errors.New("broken")
	require.ErrorIs(t, g.Do("job", 7, func() error { return broken }), broken)
	require.ErrorIs(t, g.Raise("job", 6), fence.ErrStale)
	require.NoError(t, g.Raise("job", 7))
}

func TestAGateOutlivesAnEffectThatPanics(t *testing.T) {
	var g fence.Gate
	assert.PanicsWithValue(t, "broken", func() { _ = g.Do("job", 7, func() error { panic("broken") }) })
	require.ErrorIs(t, g.Raise("job", 6), fence.ErrStale)
	require.NoError(t, g.Raise("job", 7))
}

func TestARaiseWaitsForTheEffectThatIsUnderWay(t *testing.T) {
	var g fence.Gate
	var both sync.WaitGroup
	var ended atomic.Bool
	started, end := make(chan struct{}), make(chan struct{})
	both.Go(func() {
		assert.NoError(t, g.Do("job", 7, func() error { close(started); <-end; ended.Store(true); return nil }))
	})
	<-started
	both.Go(func() {
		assert.NoError(t, g.Raise("job", 8))
		assert.True(t, ended.Load(), "no older effect is under way")
	})
	for range 100 {
		runtime.Gosched() // it could raise now
	}
	close(end)
	both.Wait()
}

func TestRefusedEffectsDoNotRun(t *testing.T) {
	var g fence.Gate
	require.NoError(t, g.Raise("job", 7))
	runs := func() error { t.Error("it runs"); return nil }
	require.ErrorIs(t, g.Do("job", 6, runs), fence.ErrStale)
	require.ErrorIs(t, g.Do("another", 8, runs), fence.ErrOtherLock)
	require.Error(t, g.Do("job", 0, runs))
	require.Error(t, g.Do("", 8, runs))
	require.Error(t, g.Do("job", backends.MaxToken+1, runs))
}

func TestTheContextOfALeaseCarriesTheToken(t *testing.T) {
	m, err := mutex.New(memlease.New(), "job", nil)
	require.NoError(t, err)
	l, err := m.Lock(t.Context())
	require.NoError(t, err)
	ctx, cancel := l.Context(t.Context())
	defer cancel()
	token, ok := fence.TokenFrom(ctx)
	assert.True(t, ok)
	assert.Equal(t, l.Token(), token)
	require.NoError(t, l.Release(t.Context()))
}

func TestContextsCarryTokens(t *testing.T) {
	_, ok := fence.TokenFrom(t.Context())
	assert.False(t, ok)
	for _, ctx := range []context.Context{fence.WithToken(t.Context(), 7), backends.WithToken(t.Context(), 7)} {
		token, ok := fence.TokenFrom(ctx)
		assert.True(t, ok)
		assert.EqualValues(t, 7, token)
		token, _ = fence.TokenFrom(fence.WithToken(ctx, 8))
		assert.EqualValues(t, 8, token)
	}
}

func BenchmarkGateDo(b *testing.B) {
	var g fence.Gate
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Do("nightly/reminders", 7, func() error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGateRaiseParallel(b *testing.B) {
	var g fence.Gate
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := g.Raise("nightly/reminders", 7); err != nil {
				b.Error(err)
			}
		}
	})
}
