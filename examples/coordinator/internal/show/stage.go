package show

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A term is what a worker has told of it.
type term struct {
	number int // 1 for the first that anybody told of
	worker string
	token  backends.Token
	from   time.Duration // uptime
	until  time.Duration // uptime; 0 while the worker leads
	cause  string        // why it ended
	lost   bool          // its context said that the lease was lost
}

// A stage is who leads, and who has led.
type stage struct {
	mu      sync.Mutex
	terms   []term
	changed chan struct{} // closed, and replaced, with every change
}

func newStage() *stage { return &stage{changed: make(chan struct{})} }

func (s *stage) began(worker string, b Belief) {
	s.change(func() {
		s.terms = append(s.terms, term{number: len(s.terms) + 1, worker: worker, token: b.Token, from: b.At})
	})
}

// finished ends a term.
func (s *stage) finished(worker string, b Belief) {
	s.change(func() {
		for i := range s.terms {
			if t := &s.terms[i]; t.worker == worker && t.token == b.Token && t.until == 0 {
				t.until, t.cause, t.lost = b.At, b.Cause, b.Lost
			}
		}
	})
}

func (s *stage) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// leader waits until somebody leads, in a later term than this. If two workers
// say so, because one has not noticed yet, it is the later one.
func (s *stage) leader(ctx context.Context, after term) (term, error) {
	return s.await(ctx, func(t term) bool { return t.number > after.number && t.until == 0 })
}

// ledBy waits until this worker leads.
func (s *stage) ledBy(ctx context.Context, worker string) (term, error) {
	return s.await(ctx, func(t term) bool { return t.worker == worker && t.until == 0 })
}

// ended waits until this term has ended.
func (s *stage) ended(ctx context.Context, old term) (term, error) {
	return s.await(ctx, func(t term) bool { return t.number == old.number && t.until != 0 })
}

func (s *stage) await(ctx context.Context, is func(term) bool) (term, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		for _, t := range slices.Backward(s.terms) {
			if is(t) {
				s.mu.Unlock()
				return t, nil
			}
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return term{}, context.Cause(ctx)
		}
	}
}

func (s *stage) all() []term {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.terms)
}
