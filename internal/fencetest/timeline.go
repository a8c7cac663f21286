package fencetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/mutex"
)

// Timeline is the classic history of a lease that is not enough, in the time of a bubble
// of testing/synctest. A unit is a tenth of the TTL:
//
//	 0  a holder gets token 1, for 10
//	 9  it looks at its lease, which is in force, and is stopped
//	11  another holder has token 2
//	12  that one writes, and
//	13  again
//	15  the first one goes on, and writes: refused, and so is a second try
//
// After that three holders follow each other, and each shuts out all before it.
func Timeline(t *testing.T, b backends.Backend, unit time.Duration, r Resource) {
	s, start := &subject{r, Harness{}}, time.Now()
	at := func(units int) { time.Sleep(time.Until(start.Add(time.Duration(units) * unit))) }

	first := locked(t, stopped{b}, unit)
	second := make(chan *mutex.Lease)
	go func() { second <- locked(t, b, unit) }()
	at(9)
	require.NoError(t, first.Err(), "it looks, and may go on")
	next := <-second
	assert.Less(t, time.Since(start), 11*unit)
	require.ErrorIs(t, first.Err(), mutex.ErrLost)
	require.Greater(t, next.Token(), first.Token())
	at(12)
	require.NoError(t, s.Raise(t.Context(), lock, next.Token()))
	s.writes(t, next.Token(), "at12")
	at(13)
	s.writes(t, next.Token(), "at13")
	at(15)
	s.refuses(t, first.Token(), next.Token())
	s.refuses(t, first.Token(), next.Token())
	journal := []Effect{{next.Token(), "at12"}, {next.Token(), "at13"}}
	s.has(t, journal...)
	require.ErrorIs(t, first.Release(t.Context()), mutex.ErrLost)
	require.NoError(t, next.Release(t.Context()))

	before := []fence.Token{first.Token(), next.Token()}
	for _, text := range []string{"third", "fourth", "fifth"} {
		l := locked(t, b, unit)
		require.NoError(t, s.Raise(t.Context(), lock, l.Token()))
		for _, old := range before {
			s.refuses(t, old, l.Token())
		}
		s.writes(t, l.Token(), text)
		journal = append(journal, Effect{l.Token(), text})
		before = append(before, l.Token())
		require.NoError(t, l.Release(t.Context()))
	}
	s.has(t, journal...)
}

func locked(t *testing.T, b backends.Backend, unit time.Duration) *mutex.Lease {
	m, err := mutex.New(b, lock, &mutex.Options{TTL: 10 * unit, Poll: unit / 5})
	if !assert.NoError(t, err) {
		return nil
	}
	l, err := m.Lock(t.Context())
	assert.NoError(t, err)
	return l
}

// stopped is the backend of a process that has been stopped: no renewal leaves it.
type stopped struct{ backends.Backend }

func (stopped) Renew(ctx context.Context, g backends.Grant) (backends.Grant, error) {
	<-ctx.Done()
	return g, context.Cause(ctx)
}
