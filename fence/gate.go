package fence

import "sync"

// A Gate is the fence of one resource in memory. The zero Gate is ready, and open to
// the first lock that comes. It remembers nothing beyond its process.
//
// It is safe for concurrent use. Effects run one at a time, so they may share what
// they change. What is accepted allocates no memory.
type Gate struct {
	mu   sync.Mutex
	seen mark
}

// Do runs effect if token t of this lock is good, and returns what effect returns.
// Nobody else's effect runs between the check and the end of effect. Otherwise it
// returns an error that matches ErrStale or ErrOtherLock, and effect has not run.
//
// The token counts as seen even if effect fails or panics. Effect must not use the
// same Gate: that would wait for itself.
func (g *Gate) Do(lock string, t Token, effect func() error) error {
	if err := check(lock, t); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.seen.admit(lock, t); err != nil {
		return err
	}
	g.seen = mark{lock, t}
	return effect()
}

// Raise is for a new leader, before it reads the state that it builds on. When it has
// returned nil, no older token is accepted, and no effect of one is under way.
func (g *Gate) Raise(lock string, t Token) error { return g.Do(lock, t, nothing) }

func nothing() error { return nil }
