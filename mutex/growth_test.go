package mutex_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

func TestAHundredThousandCyclesLeaveNothingBehind(t *testing.T) {
	m, err := mutex.New(memlease.New(), "job", nil)
	require.NoError(t, err)
	cycles := func(n int) (heap uint64, goroutines int) {
		for range n {
			l, err := m.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, cancel := l.Context(t.Context())
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc, runtime.NumGoroutine()
	}
	n := 100_000
	if raced {
		n = 5_000
	}
	heap, goroutines := cycles(1000)
	laterHeap, laterGoroutines := cycles(n)
	require.LessOrEqual(t, laterGoroutines, goroutines+2)
	require.Less(t, laterHeap, heap+1<<20)
}

func BenchmarkErr(b *testing.B) {
	m, err := mutex.New(memlease.New(), "job", nil)
	require.NoError(b, err)
	l, err := m.Lock(b.Context())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Err(); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, l.Release(b.Context()))
}

func BenchmarkLockAndRelease(b *testing.B) {
	m, err := mutex.New(memlease.New(), "job", nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		l, err := m.Lock(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestErrAllocatesNothing(t *testing.T) {
	m, err := mutex.New(memlease.New(), "job", nil)
	require.NoError(t, err)
	l, err := m.Lock(t.Context())
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _ = l.Err() }))
	require.NoError(t, l.Release(t.Context()))
}
