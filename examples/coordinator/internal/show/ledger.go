package show

import (
	"sync"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/fence"
)

// A ledger is the resource that the lease guards. It takes part in that: its gate
// remembers the highest token that it has seen, and refuses a lower one. The check
// and the effect are one step; a database would do both in one transaction.
type ledger struct {
	gate fence.Gate

	mu      sync.Mutex // for the audience, which has no token
	entries []entry
	refused []entry
}

// An entry is what a leader writes.
type entry struct {
	worker string
	token  backends.Token
	number int
}

// read returns how many entries there are. It raises the fence as well: a new
// leader builds on what it reads, so from then on nobody older may change it.
func (l *ledger) read(t backends.Token) (n int, err error) {
	err = l.gate.Do(leaseName, t, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		n = len(l.entries)
		return nil
	})
	return n, err
}

// write adds an entry.
func (l *ledger) write(e entry) error {
	err := l.gate.Do(leaseName, e.token, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.entries = append(l.entries, e)
		return nil
	})
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused = append(l.refused, e)
	}
	return err
}

// books returns what was accepted and what was refused, in this order.
func (l *ledger) books() (accepted, refused []entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]entry(nil), l.entries...), append([]entry(nil), l.refused...)
}
