package show

import (
	"fmt"
	"sync"

	"github.com/bloblease/bloblease/backends"
)

// A ledger is the resource that the lease guards. It takes part in that: it
// remembers the highest token that it has seen, and refuses a lower one. The
// check and the effect are one step, under one lock; a database would do both in
// one transaction.
type ledger struct {
	mu      sync.Mutex
	highest backends.Token
	entries []entry
	refused []entry
}

// An entry is what a leader writes.
type entry struct {
	worker string
	token  backends.Token
	number int
}

// A staleError says that a token is older than one that was seen before.
type staleError struct{ token, highest backends.Token }

func (e *staleError) Error() string {
	return fmt.Sprintf("token %d is older than %d", e.token, e.highest)
}

// read returns how many entries there are. It raises the fence as well: a new
// leader builds on what it reads, so from then on nobody older may change it.
func (l *ledger) read(t backends.Token) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.admit(t); err != nil {
		return 0, err
	}
	return len(l.entries), nil
}

// write adds an entry.
func (l *ledger) write(e entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.admit(e.token); err != nil {
		l.refused = append(l.refused, e)
		return err
	}
	l.entries = append(l.entries, e)
	return nil
}

// admit is the fence: a token is good if it is not lower than the highest seen.
func (l *ledger) admit(t backends.Token) error {
	if t < l.highest {
		return &staleError{t, l.highest}
	}
	l.highest = t
	return nil
}

// books returns what was accepted and what was refused, in this order.
func (l *ledger) books() (accepted, refused []entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]entry(nil), l.entries...), append([]entry(nil), l.refused...)
}
