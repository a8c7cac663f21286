package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

// ttls are the default, the shortest one, and one for which 1 % is more than 100 ms.
var ttls = []time.Duration{30 * time.Second, time.Second, 5 * time.Minute}

func TestAHolderTrustsItsLeaseForAsLongAsIsPrinted(t *testing.T) {
	for _, ttl := range ttls {
		synctest.Test(t, func(t *testing.T) {
			store := memlease.New()
			l := lock(t, store, ttl)
			f := figuresOf(ttl, 0)
			assert.Equal(t, f.trust, l.Remaining())

			time.Sleep(f.renewal + 1)
			synctest.Wait()
			assert.Equal(t, f.trust, l.Remaining()+1, "it has renewed once")

			store.Fail(errors.New("the store is gone"))
			gone := time.Now()
			<-l.Done()
			assert.Equal(t, f.trust, time.Since(gone)+1)
		})
	}
}

func TestAWaiterTakesOverAfterWhatIsPrinted(t *testing.T) {
	for _, ttl := range ttls {
		synctest.Test(t, func(t *testing.T) {
			store := memlease.New()
			l := lock(t, store, ttl)
			assert.Equal(t, figuresOf(ttl, 0).stopwatch, left(t, store, ttl), "it sees the lease begin")
			require.NoError(t, l.Release(t.Context()))
		})
	}
}

// The date rule shows only when the record was not first seen as it was written.
func TestAWaiterOnFileleaseTakesOverAfterWhatIsPrinted(t *testing.T) {
	dir := t.TempDir()
	l := lock(t, files(t, dir), 30*time.Second)
	f := figuresOf(30*time.Second, 0)
	require.Eventually(t, func() bool {
		r, err := files(t, dir).Observe(t.Context(), "job") // at its first look
		require.NoError(t, err)
		return r.Age > 700*time.Millisecond && assert.InDelta(t, f.date, r.Left+r.Age, float64(20*time.Millisecond))
	}, 5*time.Second, 50*time.Millisecond)
	require.NoError(t, l.Release(t.Context()))
}

func TestTheDefaultsArePrinted(t *testing.T) {
	m, err := mutex.New(memlease.New(), "job", nil)
	require.NoError(t, err)
	f := figuresOf(m.Options().TTL, m.Options().Poll)
	assert.Equal(t, 30*time.Second, f.ttl)
	assert.Equal(t, 10*time.Second, f.renewal)
	assert.Equal(t, 29100*time.Millisecond, f.trust)
	assert.Equal(t, 6*time.Second, f.look)
}

func TestTheReadmeShowsWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, figuresOf(30*time.Second, 5*time.Second).print(&out))
	assert.Contains(t, string(page), "```text\n"+out.String()+"```\n")
}

func lock(t *testing.T, b backends.Backend, ttl time.Duration) *mutex.Lease {
	t.Helper()
	m, err := mutex.New(b, "job", &mutex.Options{TTL: ttl})
	require.NoError(t, err)
	l, err := m.TryLock(t.Context())
	require.NoError(t, err)
	return l
}

// left is how long a waiter with this TTL has to wait, as it is told.
func left(t *testing.T, b backends.Backend, ttl time.Duration) time.Duration {
	t.Helper()
	m, err := mutex.New(b, "job", &mutex.Options{TTL: ttl})
	require.NoError(t, err)
	_, err = m.TryLock(t.Context())
	var held *backends.HeldError
	require.ErrorAs(t, err, &held)
	return held.Record.Left
}

func files(t *testing.T, dir string) *filelease.Backend {
	t.Helper()
	b, err := filelease.New(dir)
	require.NoError(t, err)
	return b
}

// The formulas of docs/stores.md: 12.96/R for the holder, 1.0368/P for a waiter.
func TestAMonthCostsWhatTheDocsSay(t *testing.T) {
	for _, ttl := range ttls {
		f := figuresOf(ttl, 5*time.Second)
		b := f.month(4, 0.005, 0.0004)
		assert.InDelta(t, 12.96/f.renewal.Seconds(), b.holder(), 1e-6)
		assert.InDelta(t, 1.0368/5, b.waiter(), 1e-6)
		assert.InDelta(t, b.holder()+4*b.waiter(), b.total(), 1e-9)
	}
	var out strings.Builder
	require.NoError(t, figuresOf(30*time.Second, 5*time.Second).month(4, 0.005, 0.0004).print(&out))
	page, err := os.ReadFile("../../docs/stores.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "```text\n"+out.String()+"```\n")
}
