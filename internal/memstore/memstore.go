// Package memstore is an object store in memory: the one behind memlease, and
// the one that tests break.
package memstore

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// A Store is a cas.Store that is linearizable and never fails. The zero Store
// is not usable; see New.
type Store struct {
	clock clock.Clock

	mu      sync.Mutex
	objects map[string]object
	writes  uint64
}

type object struct {
	data     []byte
	version  string
	modified time.Duration // monotonic
}

var _ cas.Store = (*Store)(nil)

// New returns an empty store whose dates are those of c.
func New(c clock.Clock) *Store {
	return &Store{clock: c, objects: make(map[string]object)}
}

// Load implements cas.Store.
func (s *Store) Load(ctx context.Context, name string) (cas.Object, error) {
	if err := ctx.Err(); err != nil {
		return cas.Object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view(name), nil
}

// Put implements cas.Store.
func (s *Store) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	if err := ctx.Err(); err != nil {
		return cas.Object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.objects[name]
	switch {
	case !exists && version != "":
		return cas.Object{}, cas.ErrVanished
	case exists && version != old.version:
		return cas.Object{}, cas.ErrConflict
	}
	s.set(name, data)
	return s.view(name), nil
}

// Touch implements cas.Store.
func (s *Store) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.Put(ctx, name, version, data)
}

func (s *Store) set(name string, data []byte) {
	s.writes++
	s.objects[name] = object{
		data:     append([]byte(nil), data...),
		version:  strconv.FormatUint(s.writes, 10),
		modified: s.clock.Now().Mono,
	}
}

func (s *Store) view(name string) cas.Object {
	now := s.clock.Now()
	o, ok := s.objects[name]
	if !ok {
		return cas.Object{Now: now.Date()}
	}
	return cas.Object{
		Exists:   true,
		Data:     append([]byte(nil), o.data...),
		Version:  o.version,
		Modified: now.Date().Add(o.modified - now.Mono),
		Now:      now.Date(),
	}
}

// Set writes without a condition, as an operator would.
func (s *Store) Set(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(name, data)
}

// Delete removes an object, as an operator would.
func (s *Store) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
}

// Data returns the bytes of an object, nil if there is none.
func (s *Store) Data(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.objects[name].data...)
}

// Names returns the names of all objects, in no order.
func (s *Store) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.objects))
	for name := range maps.Keys(s.objects) {
		names = append(names, name)
	}
	return names
}
