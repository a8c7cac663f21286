package azurelease

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

const (
	maxKnown = 4096 // names whose last sighting is remembered
	maxOpen  = 16   // lease IDs of unknown fate that are remembered for each name
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
	first    time.Duration  // monotonic, after the answer that first showed this ETag
}

// record returns what the blob holds; a blank record if that is none.
func (s *sighting) record() *record.Record {
	if s.rec == nil {
		return &record.Record{}
	}
	return s.rec
}

// A memory is what this process knows of the blobs of one container. Forgetting
// costs time or a request, never safety.
type memory struct {
	mu    sync.Mutex
	names map[string]*known
}

type known struct {
	last    *sighting
	highest backends.Token // of all tokens seen or tried
	open    []string       // lease IDs that may still be acquired, for nobody
}

// of runs f on what is known of name, under the lock.
func (m *memory) of(name string, f func(*known)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.names[name]
	if k == nil {
		if m.names == nil {
			m.names = make(map[string]*known)
		}
		for other := range m.names { // make room, if there is none
			if len(m.names) < maxKnown {
				break
			}
			delete(m.names, other)
		}
		k = &known{}
		m.names[name] = k
	}
	f(k)
}

// note remembers s.
func (m *memory) note(name string, s *sighting) *sighting {
	m.of(name, func(k *known) {
		s.first = s.at
		if k.last != nil && k.last.exists == s.exists && k.last.etag == s.etag {
			s.first = k.last.first
		}
		k.last = s
		k.highest = max(k.highest, s.record().Token)
	})
	return s
}

func (m *memory) last(name string) (s *sighting) {
	m.of(name, func(k *known) { s = k.last })
	return s
}

// token picks a token above all that were seen or tried.
func (m *memory) token(name string, prev, floor backends.Token, now time.Time) (t backends.Token) {
	m.of(name, func(k *known) {
		t = record.NextToken(prev, max(floor, k.highest+1), now)
		k.highest = max(k.highest, t)
	})
	return t
}

// takeID returns a lease ID that no other campaign uses: one whose acquisition
// was never settled, or a fresh one.
func (m *memory) takeID(name string) (id string) {
	m.of(name, func(k *known) {
		if n := len(k.open); n > 0 {
			id, k.open = k.open[n-1], k.open[:n-1]
		}
	})
	if id == "" {
		id = newID()
	}
	return id
}

// keepID hands an ID back whose acquisition was not settled. Once a term was
// granted under an ID, or it was given back to Azure, it is never used again.
func (m *memory) keepID(name, id string) {
	m.of(name, func(k *known) {
		if len(k.open) == maxOpen {
			k.open = k.open[1:]
		}
		k.open = append(k.open, id)
	})
}

// newID returns a random UUID in lower case, the only form that all of Azure
// compares alike.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, says its doc
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
