package cas

import (
	"slices"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

const (
	maxKnown     = 4096 // names whose last sighting is remembered
	maxAbandoned = 16   // open acquisitions that are remembered for each name
)

// A sighting is one look at a record. It is never changed once it is made.
type sighting struct {
	exists  bool
	version string
	rec     *record.Record // nil if there is no object
	sent    time.Duration  // monotonic, before the request
	at      time.Duration  // monotonic, after the answer
	now     time.Time      // the store's clock when it answered, if it told
	age     time.Duration  // of the record by the store's dates; valid if dated
	dated   bool
	first   *sighting // the look that first showed this version, perhaps this one
}

func (s *sighting) free() bool { return !s.exists || s.rec.State == record.Free }

func (s *sighting) same(t *sighting) bool {
	return s.exists == t.exists && s.version == t.version
}

// record returns what the object holds; a blank record if there is none.
func (s *sighting) record() *record.Record {
	if s.rec == nil {
		return &record.Record{}
	}
	return s.rec
}

// A memory holds what a process knows of the records of one store. All
// mutexes of the process share it. Forgetting costs time or a request, never
// safety.
type memory struct {
	mu    sync.Mutex
	names map[string]*known
}

type known struct {
	last      *sighting
	highest   backends.Token // of all tokens seen or tried
	abandoned []string       // nonces of acquisitions that ended unknown
	distrust  bool           // the dates of this object were caught lying
}

// update runs f on what is known of name, under the lock.
func (m *memory) update(name string, f func(*known)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.names[name]
	if k == nil {
		m.forgetOne()
		if m.names == nil {
			m.names = make(map[string]*known)
		}
		k = &known{}
		m.names[name] = k
	}
	f(k)
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

// last returns the latest sighting of name, or nil.
func (m *memory) last(name string) (s *sighting) {
	m.update(name, func(k *known) { s = k.last })
	return s
}

// token picks the token of a new term with f, which is given the lowest that is
// above all that were seen or tried, and notes it as tried.
func (m *memory) token(name string, f func(floor backends.Token) backends.Token) (t backends.Token) {
	m.update(name, func(k *known) {
		t = f(k.highest + 1)
		k.highest = max(k.highest, t)
	})
	return t
}

// abandon remembers the nonce of an acquisition whose outcome is unknown, and
// whose token nobody was given.
func (m *memory) abandon(name, nonce string) {
	m.update(name, func(k *known) {
		if len(k.abandoned) == maxAbandoned {
			k.abandoned = slices.Delete(k.abandoned, 0, 1)
		}
		k.abandoned = append(k.abandoned, nonce)
	})
}

// isAbandoned reports whether nonce belongs to such an acquisition.
func (m *memory) isAbandoned(name, nonce string) (found bool) {
	m.update(name, func(k *known) { found = slices.Contains(k.abandoned, nonce) })
	return found
}
