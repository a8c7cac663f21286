package azurelease

import (
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

const (
	maxKnown     = 4096 // names whose last sighting is remembered
	maxAbandoned = 16   // unsettled acquisitions that are remembered for each name
)

// A sighting is what one answer showed of a blob. It is never changed once it is
// noted.
type sighting struct {
	exists   bool
	etag     azcore.ETag
	leased   bool
	infinite bool
	rec      *record.Record // nil if the body is no record
	foreign  error          // why it is none
	now      time.Time      // Azure's clock when it answered
	at       time.Duration  // monotonic, after the answer
	since    time.Duration  // monotonic, after the answer since which it is known to be so
}

// record returns what the blob holds; a blank record if that is none.
func (s *sighting) record() *record.Record {
	if s.rec == nil {
		return &record.Record{}
	}
	return s.rec
}

// free reports whether s shows a lease that may be acquired right away.
func (s *sighting) free() bool { return s.exists && !s.leased && s.rec != nil }

// A memory is what this process knows of the blobs of one container. Forgetting
// costs time or a request, never safety.
type memory struct {
	mu    sync.Mutex
	names map[string]*known
}

type known struct {
	last      *sighting
	highest   backends.Token // of all tokens seen or tried
	abandoned []*title       // acquisitions whose outcome is open, and whose token nobody was given
}

// of returns what is known of name. The caller has locked mu.
func (m *memory) of(name string) *known {
	k := m.names[name]
	if k == nil {
		m.forgetOne()
		if m.names == nil {
			m.names = make(map[string]*known)
		}
		k = &known{}
		m.names[name] = k
	}
	return k
}

// forgetOne makes room, if there is none, by dropping any name.
func (m *memory) forgetOne() {
	if len(m.names) < maxKnown {
		return
	}
	for name := range m.names {
		delete(m.names, name)
		return
	}
}

// note remembers s.
func (m *memory) note(name string, s *sighting) *sighting {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(name)
	s.since = s.at
	if k.last != nil && k.last.exists == s.exists && k.last.etag == s.etag {
		s.since = k.last.since
	}
	k.last = s
	k.highest = max(k.highest, s.record().Token)
	k.abandoned = slices.DeleteFunc(k.abandoned, func(t *title) bool { return !t.touches(s) })
	return s
}

// last returns the latest sighting of name, or nil.
func (m *memory) last(name string) *sighting {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(name).last
}

// free returns the latest sighting of name if it is of a free lease, and nobody
// here may have taken it since without knowing; else nil.
func (m *memory) free(name string) *sighting {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(name)
	if k.last == nil || !k.last.free() || len(k.abandoned) > 0 {
		return nil
	}
	return k.last
}

// renewed notes that the term of g was renewed at this time: that leaves no
// trace in the blob.
func (m *memory) renewed(g backends.Grant, at time.Duration) {
	m.change(g, func(s *sighting) { s.since = at })
}

// released notes that the term of g has left its blob free.
func (m *memory) released(g backends.Grant) {
	m.change(g, func(s *sighting) { s.leased = false })
}

// change replaces the latest sighting, if it is of the term of g.
func (m *memory) change(g backends.Grant, f func(*sighting)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(g.Name)
	if k.last == nil || k.last.record().ID != g.ID {
		return
	}
	s := *k.last
	f(&s)
	k.last = &s
}

// token picks a token above all that were seen or tried. It is 0 if there is
// none.
func (m *memory) token(c record.Chance, name string, prev, floor backends.Token, now time.Time) backends.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(name)
	t := record.NextToken(c, prev, max(floor, k.highest+1), now)
	k.highest = max(k.highest, t)
	return t
}

// abandon remembers an acquisition whose outcome is open.
func (m *memory) abandon(name string, t *title) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(name)
	if slices.Contains(k.abandoned, t) {
		return
	}
	if len(k.abandoned) == maxAbandoned {
		k.abandoned = slices.Delete(k.abandoned, 0, 1)
	}
	k.abandoned = append(k.abandoned, t)
}

// settled forgets an acquisition whose outcome is known.
func (m *memory) settled(name string, t *title) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(name)
	k.abandoned = slices.DeleteFunc(k.abandoned, func(other *title) bool { return other == t })
}

// candidate returns an abandoned acquisition that may be why the blob is leased.
func (m *memory) candidate(name string) *title {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.of(name); len(k.abandoned) > 0 {
		return k.abandoned[len(k.abandoned)-1]
	}
	return nil
}
