package cas

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// table is a store that does as it is told, and no more.
type table struct {
	mu        sync.Mutex
	objects   map[string]Object
	writes    int
	acts      []string            // what was asked for
	lost      error               // what is said of every request, without an effect
	dated     func(Object) Object // the dates of an answer
	meanwhile func()              // happens before a write
}

func newTable() *table { return &table{objects: map[string]Object{}} }

// datesAre makes s tell the time, and that everything was written at modified.
func (s *table) datesAre(modified time.Time) {
	s.dated = func(o Object) Object {
		o.Modified, o.Now = modified, time.Now()
		return o
	}
}

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
	s.acts = append(s.acts, "load")
	return s.answer(name), s.lost
}

func (s *table) Put(_ context.Context, name, version string, data []byte) (Object, error) {
	return s.write("put", name, version, data)
}

func (s *table) Touch(_ context.Context, name, version string, data []byte) (Object, error) {
	return s.write("touch", name, version, data)
}

func (s *table) write(act, name, version string, data []byte) (Object, error) {
	if s.meanwhile != nil {
		s.meanwhile()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts = append(s.acts, act)
	switch {
	case s.lost != nil:
		return Object{}, s.lost
	case s.objects[name].Version != version:
		return Object{}, ErrConflict
	}
	s.set(name, data)
	return s.answer(name), nil
}

func (s *table) set(name string, data []byte) {
	s.writes++
	s.objects[name] = Object{Exists: true, Data: data, Version: strconv.Itoa(s.writes)}
}

// edit changes fields of the record, as an operator would.
func (s *table) edit(t *testing.T, name string, change map[string]any) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var fields map[string]any
	require.NoError(t, json.Unmarshal(s.objects[name].Data, &fields))
	maps.Copy(fields, change)
	data, err := json.Marshal(fields)
	require.NoError(t, err)
	s.set(name, data)
}

// asked returns what was asked for since the last time.
func (s *table) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	acts := s.acts
	s.acts = nil
	return acts
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

// Stores that can change an object in place do so within a term only.
func TestATermBeginsWithAPutAndGoesOnWithTouches(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	g := acquire(t, e, "job")
	require.Equal(t, []string{"load", "put"}, s.asked())
	g, err := e.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, []string{"touch"}, s.asked())
	s.edit(t, "job", map[string]any{"x": 1})
	g, err = e.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, []string{"touch", "load", "touch"}, s.asked())
	require.NoError(t, e.Release(t.Context(), g))
	require.Equal(t, []string{"touch"}, s.asked())

	g = abandon(t, e, s, "job")
	s.asked()
	require.NoError(t, e.Release(t.Context(), g))
	require.Equal(t, []string{"put"}, s.asked(), "there may be no object to touch")
}

func TestAnEditThatFreesTheRecordEndsTheTerm(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	g := acquire(t, e, "job")
	s.edit(t, "job", map[string]any{"state": "free"})
	g, err := e.Renew(t.Context(), g)
	require.ErrorIs(t, err, backends.ErrLost)
	require.ErrorIs(t, e.Release(t.Context(), g), backends.ErrLost)
	acquire(t, New(s, Options{}), "job")
}

// The store of this test does not tell the time.
func TestBreakKeepsTheTokenOfWhatIsDamaged(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	c := minute
	c.Floor = 1 << 50
	_, err := New(s, Options{}).Acquire(t.Context(), "job", c)
	require.NoError(t, err)
	_, err = e.Observe(t.Context(), "job")
	require.NoError(t, err)
	s.set("job", []byte("<html>"))
	require.NoError(t, e.Break(t.Context(), "job", ""))
	require.Greater(t, acquire(t, New(s, Options{}), "job").Token, c.Floor)
}

func TestARecordThatIsEditedAllTheTimeIsNotLost(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	g := acquire(t, e, "job")
	s.asked()
	edits := 0
	s.meanwhile = func() { edits++; s.edit(t, "job", map[string]any{"x": edits}) }
	g, err := e.Renew(t.Context(), g)
	requireRetry(t, err)
	requireRetry(t, e.Release(t.Context(), g))
	require.Len(t, s.asked(), 2*2*maxTries, "it does not go on for ever")
	s.meanwhile = nil
	g, err = e.Renew(t.Context(), g)
	require.NoError(t, err)
	require.NoError(t, e.Release(t.Context(), g))

	s.meanwhile = func() { edits++; s.edit(t, "job", map[string]any{"x": edits}) }
	g, err = e.Acquire(t.Context(), "job", minute)
	requireRetry(t, err)
	require.Nil(t, g.Proof, "all of it was refused: there is nothing to release")
}

func requireRetry(t *testing.T, err error) {
	t.Helper()
	var retry *backends.RetryError
	require.ErrorAs(t, err, &retry)
	require.NotErrorIs(t, err, backends.ErrLost)
	require.NotErrorIs(t, err, backends.ErrHeld)
}

func TestAStoreWithoutVersionsIsNotSupported(t *testing.T) {
	s := newTable()
	acquire(t, New(s, Options{}), "job")
	s.dated = func(o Object) Object { o.Version = ""; return o }
	e := New(s, Options{})
	_, err := e.Observe(t.Context(), "job")
	require.ErrorIs(t, err, backends.ErrUnsupported)
	_, err = e.Acquire(t.Context(), "other", minute)
	require.ErrorIs(t, err, backends.ErrUnsupported)
}

func TestTheMemoryIsBounded(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	for i := range maxKnown + 100 {
		_, err := e.Observe(t.Context(), fmt.Sprint("job-", i))
		require.NoError(t, err)
	}
	require.Len(t, e.memory.names, maxKnown)
}

func TestSixteenAbandonedAcquisitionsAreRemembered(t *testing.T) {
	s := newTable()
	e := New(s, Options{})
	var nonces []string
	for range maxAbandoned + 1 {
		g := abandon(t, e, s, "job")
		nonces = append(nonces, g.Proof.(*title).nonces[0])
	}
	require.Equal(t, nonces[1:], e.memory.names["job"].abandoned)
	require.False(t, e.memory.isAbandoned("job", nonces[0]))
	require.True(t, e.memory.isAbandoned("job", nonces[1]))
	require.False(t, e.memory.isAbandoned("other", nonces[1]), "each name has its own")
}

func TestTheDefaultsOfTheLimits(t *testing.T) {
	require.Equal(t, backends.Limits{
		MinTTL: time.Second, MaxTTL: 24 * time.Hour, Step: time.Millisecond, MinPoll: 10 * time.Millisecond,
	}, New(newTable(), Options{}).Limits())
	l := New(newTable(), Options{Limits: backends.Limits{MaxTTL: 100 * time.Hour, Step: time.Microsecond, MinPoll: time.Second}}).Limits()
	require.Equal(t, 24*time.Hour, l.MaxTTL)
	require.Equal(t, time.Millisecond, l.Step)
	require.Equal(t, time.Second, l.MinPoll)
}
