package cas_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

var errGone = errors.New("the network is gone")

func TestWhatARenewalHasReadIsNotReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := straight()
		e := cas.New(b, cas.Options{})
		g, err := e.Acquire(t.Context(), "job", backends.Claim{TTL: 30 * time.Second})
		require.NoError(t, err)
		writes, reads := 0, 0
		b.load = func(ctx context.Context, name string) (cas.Object, error) {
			if reads++; reads == 1 || reads == 3 {
				return cas.Object{}, errGone
			}
			return b.Store.Load(ctx, name)
		}
		b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
			switch writes++; writes {
			case 1: // applied, but the answer is lost
				_, _ = b.Store.Put(ctx, name, version, data)
				return cas.Object{}, errGone
			case 3: // lost
				return cas.Object{}, errGone
			}
			return b.Store.Put(ctx, name, version, data)
		}
		g, err = e.Renew(t.Context(), g)
		require.ErrorIs(t, err, errGone)
		g, err = e.Renew(t.Context(), g) // it is refused, reads that the first was applied, and goes on from there
		require.ErrorIs(t, err, errGone)
		writes, reads = 10, 10
		_, err = e.Renew(t.Context(), g)
		require.NoError(t, err)
		require.Equal(t, [2]int{11, 10}, [2]int{writes, reads}, "one request")
	})
}

// outlives renews g with a write that is applied but answered as refused, and a read that
// shows late: the lease goes on.
func outlives(t *testing.T, e *cas.Engine, b *bent, g backends.Grant, late cas.Object) {
	t.Helper()
	b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
		_, _ = b.Store.Put(ctx, name, version, data)
		return cas.Object{}, cas.ErrConflict
	}
	b.load = func(context.Context, string) (cas.Object, error) { return late, nil }
	g, err := e.Renew(t.Context(), g)
	require.Error(t, err)
	require.NotErrorIs(t, err, backends.ErrLost)
	b.put, b.load = nil, nil
	g, err = e.Renew(t.Context(), g)
	require.NoError(t, err)
	require.NoError(t, e.Release(t.Context(), g))
}

// A read from a replica that is behind shows a term before this one. That tells nothing
// about this one.
func TestALateReadIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := straight()
		e := cas.New(b, cas.Options{})
		before, err := e.Acquire(t.Context(), "job", backends.Claim{TTL: 30 * time.Second})
		require.NoError(t, err)
		old, err := b.Store.Load(t.Context(), "job")
		require.NoError(t, err)
		require.NoError(t, e.Release(t.Context(), before))
		free, err := b.Store.Load(t.Context(), "job")
		require.NoError(t, err)
		for _, late := range []cas.Object{old, free} {
			g, err := e.Acquire(t.Context(), "job", backends.Claim{TTL: 30 * time.Second})
			require.NoError(t, err)
			outlives(t, e, b, g, late)
		}
	})
}

// The same of a read that shows this term as it was two renewals ago.
func TestALateReadOfTheOwnTermIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := straight()
		e := cas.New(b, cas.Options{})
		g, err := e.Acquire(t.Context(), "job", backends.Claim{TTL: 30 * time.Second})
		require.NoError(t, err)
		late, err := b.Store.Load(t.Context(), "job")
		require.NoError(t, err)
		for range 2 {
			g, err = e.Renew(t.Context(), g)
			require.NoError(t, err)
		}
		outlives(t, e, b, g, late)
	})
}

// What is sent again within a call are the same bytes: so the first write is recognised,
// though it was applied unseen.
func TestTheSameBytesAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := straight()
		e := cas.New(b, cas.Options{})
		g, err := e.Acquire(t.Context(), "job", backends.Claim{TTL: 30 * time.Second})
		require.NoError(t, err)
		before, err := b.Store.Load(t.Context(), "job")
		require.NoError(t, err)
		var sent [][]byte
		b.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
			sent = append(sent, data)
			_, _ = b.Store.Put(ctx, name, version, data)
			return cas.Object{}, errGone
		}
		b.load = func(ctx context.Context, name string) (cas.Object, error) {
			if len(sent) == 1 {
				return before, nil // late
			}
			return b.Store.Load(ctx, name)
		}
		_, err = e.Renew(t.Context(), g)
		require.NoError(t, err)
		require.Len(t, sent, 2)
		require.Equal(t, sent[0], sent[1])
	})
}
