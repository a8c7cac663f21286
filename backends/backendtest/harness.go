package backendtest

import (
	"testing"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A Harness is what a backend brings to the suite.
type Harness struct {
	// Open makes a World with an empty store. It is called once for each check,
	// inside the check's bubble if there is one. What it starts has to end by
	// t.Cleanup.
	Open func(t *testing.T) *World
	// Bubble runs each check in a testing/synctest bubble, where waiting costs
	// no time. The store must be in this process, and tell the time of package
	// time; its clients must not wait for sockets. Without it the checks take
	// place in real time, with the shortest TTL that the backend allows.
	Bubble bool
}

// A World is one store, and what can happen to it and to its clients. What
// cannot be brought about is nil, or returns an error: then the checks that
// need it are skipped, and say so.
type World struct {
	// New returns a new client of the store: one that knows nothing of what
	// others did, like another process. It must not be nil.
	New func() backends.Backend
	// Count tells how many requests all clients have sent, lost ones too. It
	// must not be nil.
	Count func() Count
	// Faults decides from now on what befalls the requests of all clients.
	Faults func(Schedule)
	// Redate makes the answers of the store carry other dates than the true ones;
	// nil ends that. See Store.Redate.
	Redate func(lie func(name string, modified, now time.Time) (time.Time, time.Time))

	// Read returns the stored form of a lease's record, nil if there is none.
	// It and the following are an operator's acts: they do not pass through
	// Faults, nor are they counted.
	Read func(name string) []byte
	// Overwrite puts data in the place of the stored form, whatever is there.
	Overwrite func(name string, data []byte) error
	// Delete removes the object.
	Delete func(name string) error
	// Annotate adds something to the record that this version of the library
	// does not know, and leaves the rest as it is: a field, or a label of the
	// object. Annotation finds it, and returns "" if it is not there.
	Annotate   func(name, note string) error
	Annotation func(name string) string

	// FirstLook says when a client that never looked before takes over the
	// record of a term with TTL record, if its own is own: so long after the last
	// write. Nil: never.
	FirstLook Takeover
	// Watching says when a client takes over a record that has not changed: so long
	// after it first looked at it. Nil: looking is of no use.
	Watching Takeover

	// Budget is how many requests each act takes.
	Budget Budget
	// Timeless says that the store does not tell the time, so that tokens
	// start again after the record was deleted.
	Timeless bool
}

// A Takeover says within what time a dead holder's lease is taken over.
type Takeover func(record, own time.Duration) Window

// A Window is a time that is known within bounds.
type Window struct {
	NotBefore time.Duration // until then a contender is refused
	By        time.Duration // from then on it is not
}

// A Budget is how many requests the acts take when they succeed, unless it says
// otherwise. Users pay for these.
type Budget struct {
	First   Count // acquire a name that was never used; the first acquisition of this client
	Cold    Count // acquire a free name; this client has acquired others, but never looked at it
	Known   Count // acquire a name that this client has released
	Renew   Count
	Release Count
	Done    Count // release, and record Grant.Done
	Poll    Count // acquire a name that is held, and be refused
	Observe Count
	Refused Count // renew a term that is over, and be refused

	// Once is what a client's first acquisition costs beside that, if the store
	// may ignore conditions: cas.Options.Doubtful.
	Once Count
}

// CAS is the budget of a backend that is a cas.Engine. Its user has to pay for
// each of these.
var CAS = Budget{
	First:   Count{Reads: 1, Writes: 1},
	Cold:    Count{Reads: 1, Writes: 1},
	Known:   Count{Writes: 1},
	Renew:   Count{Writes: 1},
	Release: Count{Writes: 1},
	Done:    Count{Writes: 1},
	Poll:    Count{Reads: 1},
	Observe: Count{Reads: 1},
	Refused: Count{Reads: 1, Writes: 1},
}
