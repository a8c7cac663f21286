package backendtest

import (
	"errors"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

// ErrReset is what a client gets of a request or an answer that was lost, if
// the Fault names no other error. It is none of package backends': the outcome
// is unknown.
var ErrReset = errors.New("connection reset")

// Op is what a request asks for.
type Op int

// What a request asks for. A store with HTTP requests needs Load and Put only:
// what may write is a Put.
const (
	Load Op = iota
	Put
	Touch
)

// String returns "load", "put" or "touch".
func (o Op) String() string {
	switch o {
	case Load:
		return "load"
	case Put:
		return "put"
	default:
		return "touch"
	}
}

// A Request is on its way to the store.
type Request struct {
	Op   Op
	Name string // of the lease; "" if it cannot be told
	// Version and Data are what a Store is given; a Harness of its own need not
	// fill them in.
	Version string
	Data    []byte
}

// Writes reports whether r may change something.
func (r Request) Writes() bool { return r.Op != Load }

// Reads is the opposite of Writes.
func (r Request) Reads() bool { return !r.Writes() }

// A Fault is what befalls one request. The zero Fault is none: the store acts
// at once, and its answer arrives at once. The fields combine; the functions
// of this package make the usual combinations.
//
// What is on its way cannot be called back: a caller whose context ends stops
// waiting, but a delayed request reaches the store all the same.
type Fault struct {
	// Before is how much later the request reaches the store.
	Before time.Duration
	// Dropped requests never reach the store. The caller gets Err, ErrReset if
	// there is none, or nothing if Hang is set.
	Dropped bool
	// Again makes the store receive the request once more for each entry, that
	// much after the first time. The answers to these are lost.
	Again []time.Duration

	// After is how much later the answer reaches the caller. It tells what the
	// store looked like when the store gave it.
	After time.Duration
	// Stale answers a read with the last answer that was different from the
	// true one, if there was any.
	Stale bool
	// Err is what the caller gets instead of an answer: cas.ErrConflict for a
	// condition that does not hold, a *backends.RetryError for a store that is
	// busy, backends.ErrDenied, ErrNoContainer or ErrUnsupported, or anything
	// else for a broken connection. Where the requests are HTTP, a harness
	// translates these into what the store would say.
	Err error
	// Hang leaves the caller without an answer until its context ends.
	Hang bool
}

// LostBefore loses the request: the store never sees it.
func LostBefore() Fault { return Fault{Dropped: true, Err: ErrReset} }

// LostAfter loses the answer: the store has acted.
func LostAfter() Fault { return Fault{Err: ErrReset} }

// DelayedBefore makes the request reach the store d later.
func DelayedBefore(d time.Duration) Fault { return Fault{Before: d} }

// DelayedAfter makes the answer arrive d after the store gave it.
func DelayedAfter(d time.Duration) Fault { return Fault{After: d} }

// Twice makes the store receive the request once more, d later.
func Twice(d time.Duration) Fault { return Fault{Again: []time.Duration{d}} }

// Refused answers err in the store's place; the store never sees the request.
func Refused(err error) Fault { return Fault{Dropped: true, Err: err} }

// RefusedAfter answers err although the store has acted. With cas.ErrConflict it
// is what a client sees if something below it, such as an SDK or a proxy, lost
// the first answer, and sent the request again.
func RefusedAfter(err error) Fault { return Fault{Err: err} }

// Conflict is RefusedAfter for a condition that does not hold any more.
func Conflict() Fault { return RefusedAfter(cas.ErrConflict) }

// Busy is the error of a store that asks to retry after d.
func Busy(d time.Duration) error {
	return &backends.RetryError{After: d, Err: errors.New("too many requests")}
}

// Hung drops the request and says nothing.
func Hung() Fault { return Fault{Dropped: true, Hang: true} }

// HungAfter lets the store act and says nothing.
func HungAfter() Fault { return Fault{Hang: true} }

// StaleRead answers a read with what the store said before.
func StaleRead() Fault { return Fault{Stale: true} }

// none reports whether nothing befalls the request.
func (f Fault) none() bool {
	return f.Before == 0 && !f.Dropped && len(f.Again) == 0 &&
		f.After == 0 && !f.Stale && f.Err == nil && !f.Hang
}

// err is what the caller gets instead of an answer, or nil.
func (f Fault) err() error {
	if f.Dropped && f.Err == nil {
		return ErrReset
	}
	return f.Err
}

// A Schedule decides what befalls a request. It is asked once for each, in the
// order in which they were sent, and one at a time. A nil Schedule lets all
// requests pass.
type Schedule func(Request) Fault

// Always does f to every request.
func Always(f Fault) Schedule { return func(Request) Fault { return f } }

// Each does the first fault to the first request, the second to the second, and
// nothing to those that follow.
func Each(faults ...Fault) Schedule {
	var mu sync.Mutex
	return func(Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if len(faults) == 0 {
			return Fault{}
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}
}

// Nth does f to the n-th request, counted from 1.
func Nth(n int, f Fault) Schedule {
	faults := make([]Fault, n)
	faults[n-1] = f
	return Each(faults...)
}

// Where asks s about those requests only that match: so Nth counts only these.
func (s Schedule) Where(match func(Request) bool) Schedule {
	return func(r Request) Fault {
		if s == nil || !match(r) {
			return Fault{}
		}
		return s(r)
	}
}

// Or asks other about requests to which s does nothing.
func (s Schedule) Or(other Schedule) Schedule {
	return func(r Request) Fault {
		if s != nil {
			if f := s(r); !f.none() {
				return f
			}
		}
		if other == nil {
			return Fault{}
		}
		return other(r)
	}
}
