package memlease_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

// job is what an application would test: it must stop soon after its context ends.
func job(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Minute):
			// another minute of work
		}
	}
}

// What my job does when the lease is lost: in a bubble of testing/synctest the
// hours, and the lease that runs out, take no time.
func TestMyJobStopsWhenTheLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlease.New()
		m, err := mutex.New(store, "job", nil)
		require.NoError(t, err)

		outage := errors.New("the store cannot be reached")
		time.AfterFunc(8*time.Hour, func() { store.Fail(outage) })
		start := time.Now()
		err = m.Do(t.Context(), func(ctx context.Context, _ *mutex.Lease) error { return job(ctx) })

		require.ErrorIs(t, err, mutex.ErrLost)
		require.ErrorIs(t, err, outage)
		assert.Less(t, time.Since(start), 8*time.Hour+30*time.Second, "within the TTL of the last renewal")
	})
}

// The same with a lease that an operator has given to somebody else.
func TestMyJobStopsWhenTheLeaseIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlease.New()
		m, err := mutex.New(store, "job", nil)
		require.NoError(t, err)

		time.AfterFunc(time.Hour, func() { assert.NoError(t, store.Break(t.Context(), "job", "")) })
		start := time.Now()
		err = m.Do(t.Context(), func(ctx context.Context, _ *mutex.Lease) error { return job(ctx) })

		require.ErrorIs(t, err, mutex.ErrLost)
		assert.LessOrEqual(t, time.Since(start), time.Hour+10*time.Second, "at the next renewal")
	})
}

// Fail takes the store away, and gives it back.
func ExampleBackend_Fail() {
	store, ctx := memlease.New(), context.Background()
	m, err := mutex.New(store, "job", nil)
	if err != nil {
		log.Fatal(err)
	}
	store.Fail(errors.New("no route to host"))
	_, err = m.TryLock(ctx)
	fmt.Println(err)

	store.Fail(nil)
	lease, err := m.TryLock(ctx)
	fmt.Println(err)
	fmt.Println(lease.Release(ctx))
	// Output:
	// lock "job": read: no route to host
	// <nil>
	// <nil>
}

// Break ends a term by force. The holder learns of it at its next renewal, or
// when it releases.
func ExampleBackend_Break() {
	store, ctx := memlease.New(), context.Background()
	m, err := mutex.New(store, "job", nil)
	if err != nil {
		log.Fatal(err)
	}
	lease, err := m.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(store.Break(ctx, lease.Name(), lease.Version()))
	fmt.Println(lease.Release(ctx))
	// Output:
	// <nil>
	// release "job": lease is lost: the record was freed
}
