package cas

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// table is a store that does as it is told, and no more.
type table struct {
	mu      sync.Mutex
	objects map[string]Object
	writes  int
	lost    error               // what is said of every request, without an effect
	dated   func(Object) Object // the dates of an answer
}

func newTable() *table { return &table{objects: map[string]Object{}} }

func (s *table) answer(name string) Object {
	o := s.objects[name]
	if s.dated != nil {
		o = s.dated(o)
	}
	return o
}

func (s *table) Load(_ context.Context, name string) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(name), s.lost
}

func (s *table) Put(_ context.Context, name, version string, data []byte) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.lost != nil:
		return Object{}, s.lost
	case s.objects[name].Version != version:
		return Object{}, ErrConflict
	}
	s.writes++
	s.objects[name] = Object{Exists: true, Data: data, Version: strconv.Itoa(s.writes)}
	return s.answer(name), nil
}

func (s *table) Touch(ctx context.Context, name, version string, data []byte) (Object, error) {
	return s.Put(ctx, name, version, data)
}

var minute = backends.Claim{Holder: "me", TTL: time.Minute}

func acquire(t *testing.T, e *Engine, name string) backends.Grant {
	t.Helper()
	g, err := e.Acquire(t.Context(), name, minute)
	require.NoError(t, err)
	return g
}

// abandon makes e acquire name without an answer.
func abandon(t *testing.T, e *Engine, s *table, name string) backends.Grant {
	t.Helper()
	if e.memory.last(name) == nil { // so that the first request is the write
		g := acquire(t, e, name)
		require.NoError(t, e.Release(t.Context(), g))
	}
	s.lost = context.DeadlineExceeded
	defer func() { s.lost = nil }()
	g, err := e.Acquire(t.Context(), name, minute)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return g
}

func TestAnUnconfirmedAcquisitionIsNotRenewed(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	g := abandon(t, e, s, "job")
	before := s.writes
	_, err := e.Renew(t.Context(), g)
	require.ErrorIs(t, err, backends.ErrLost)
	require.Equal(t, before, s.writes)
	require.NoError(t, e.Release(t.Context(), g))
}

func TestAMarkThatIsNotTextIsRefused(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	g := acquire(t, e, "job")
	g.Done = "a\xff"
	before := s.writes
	require.Error(t, e.Release(t.Context(), g))
	require.Equal(t, before, s.writes)
}

func TestDatesThatAreNotTrustedTellNoAge(t *testing.T) {
	s := newTable()
	acquire(t, New(s, Options{}), "job")
	s.dated = func(o Object) Object {
		o.Now = time.Unix(1e9, 0)
		o.Modified = o.Now.Add(-time.Hour)
		return o
	}
	r, err := New(s, Options{}).Observe(t.Context(), "job")
	require.NoError(t, err)
	require.Less(t, r.Age, time.Minute, "nothing is known but that it was seen just now")
	r, err = New(s, Options{Dates: Dates{Trusted: true}}).Observe(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, time.Hour, r.Age)
}
