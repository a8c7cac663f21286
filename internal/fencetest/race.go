package fencetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/fence"
)

// race lets a leader go on writing while the next one takes over, again and again. No
// older effect may follow a newer one, nothing that was accepted may be missing, and
// nothing that was refused may be there.
func race(t *testing.T, s *subject) {
	var accepted []Effect
	for round := range s.harness.Rounds {
		accepted = append(accepted, s.takeover(t, fence.Token(2*round+1))...)
	}
	effects, err := s.Journal(t.Context())
	require.NoError(t, err)
	assert.ElementsMatch(t, accepted, effects)
	newest := fence.Token(0)
	for _, e := range effects {
		require.GreaterOrEqual(t, e.Token, newest, "effect %q came after a newer one", e.Text)
		newest = max(newest, e.Token)
	}
	assert.EqualValues(t, 2*s.harness.Rounds, newest, "the last leader has written")
}

// takeover is one round: two writers of the old leader, and two of the new one, which
// raises first. It returns what was accepted.
func (s *subject) takeover(t *testing.T, old fence.Token) (accepted []Effect) {
	var mu sync.Mutex
	var all sync.WaitGroup
	writer := func(name string, token fence.Token, raise bool) {
		if raise && !assert.NoError(t, s.persist(func() error { return s.Raise(t.Context(), lock, token) })) {
			return
		}
		for n := range 2 {
			e := Effect{token, fmt.Sprintf("%s%d", name, n)}
			err := s.persist(func() error { return s.Write(t.Context(), lock, token, e.Text) })
			if !raise && errors.Is(err, fence.ErrStale) {
				return // a leader that is outdone stops
			}
			if assert.NoError(t, err) {
				mu.Lock()
				accepted = append(accepted, e)
				mu.Unlock()
			}
		}
	}
	all.Go(func() { writer("a", old, false) })
	all.Go(func() { writer("b", old, false) })
	all.Go(func() { writer("c", old+1, true) })
	all.Go(func() { writer("d", old+1, true) })
	all.Wait()
	return accepted
}

// persist tries again what failed only because transactions met.
func (s *subject) persist(f func() error) error {
	for {
		err := f()
		if err == nil || s.harness.Again == nil || !s.harness.Again(err) {
			return err
		}
	}
}
