package backends

import (
	"context"
	"time"
)

// A Backend grants leases on named objects of one store. At most one term of a
// name is in force at a time, and every term's token is higher than those of
// all earlier terms of that name.
//
// All methods are safe for concurrent use, by any number of mutexes, and
// return soon after ctx ends. None waits for a lease to become free, retries
// at leisure or sleeps: waiting is the business of package mutex.
//
// An error that is none of this package's says that the outcome is unknown: the
// request may or may not have had its effect, now or later.
type Backend interface {
	// Acquire starts a new term of name for c if none is in force; otherwise
	// it returns a *HeldError. It succeeds only for a write that was first
	// sent within this very call, so that a clock read before the call is
	// early enough to count the holder's deadline from.
	//
	// When the error leaves the outcome unknown, the Grant that comes with it
	// is no title to the lease, but says what may have been written: Release
	// frees that, and a later Acquire on the same backend takes it over.
	Acquire(ctx context.Context, name string, c Claim) (Grant, error)

	// Renew prolongs the term of g by its TTL. The Grant that it returns
	// replaces g, on error too: it knows of writes whose outcome is open. An
	// error that matches ErrLost says that the term is over; after any other
	// the term stands as before, and Renew may be called again. Like Acquire
	// it succeeds only for a write first sent within this call.
	Renew(ctx context.Context, g Grant) (Grant, error)

	// Release ends the term of g and records g.Done. Nil says that this has
	// happened, ErrLost that the term was over before, anything else that the
	// outcome is unknown; then Release may be called again with the same g.
	// Nothing is deleted: the record stays, as free, so that tokens go on
	// growing.
	Release(ctx context.Context, g Grant) error

	// Observe tells what is known of name. It never contends and never
	// writes. A name that was never used is Free.
	Observe(ctx context.Context, name string) (Record, error)

	// Limits are the settings that the store allows. They are constant.
	Limits() Limits
}

// A Breaker is a Backend whose terms an operator can end by force.
type Breaker interface {
	// Break frees name if its record still has this version, as Observe or a
	// HeldError reported it; "" stands for whatever is there now. A record
	// that is not there in that version gives an error that matches ErrLost.
	// Break also replaces objects that are no records (ErrForeign).
	//
	// The holder learns of it at its next renewal, a TTL later at the most.
	// Until then two processes may believe that they hold the lease; only the
	// fencing token keeps them apart.
	Break(ctx context.Context, name, version string) error
}

// A NameChecker is a Backend whose store does not take every name that
// CheckName accepts.
type NameChecker interface {
	// CheckName returns an error that names the rule that name breaks. It
	// makes no request.
	CheckName(name string) error
}

// Limits are the settings that a store allows.
type Limits struct {
	MinTTL, MaxTTL time.Duration
	Step           time.Duration // a TTL is a multiple of this
	MinPoll        time.Duration // the shortest sensible time between two looks
}

// A Claim is what a contender asks for.
type Claim struct {
	// Holder names the contender for people. It proves nothing.
	Holder string
	// TTL is how long the lease lasts without a renewal. It is constant over
	// the term, and written into the record, where other contenders honour it.
	TTL time.Duration
	// Meta is shown to whoever observes the lease, for example an address.
	Meta map[string]string
	// Floor is the lowest token that will do; 0 if any.
	Floor Token
}

// A Grant is the title to one term. It is a value: copy it, but use only the
// newest one of a term, from one goroutine at a time.
type Grant struct {
	Name   string
	Holder string
	ID     string // names the term; fresh for each one
	Token  Token
	TTL    time.Duration
	// Version is the store's condition for the record as last written, such
	// as an ETag or a generation. Compare it for equality only.
	Version string
	// Done is the mark that the last release recorded, if any. Set it before
	// Release to record another; "" keeps the old one.
	Done string
	// Proof belongs to the backend.
	Proof any
}

// State says whether a lease is in force.
type State int

// The states of a lease.
const (
	Unknown State = iota // it cannot be told
	Free                 // nobody holds it: a contender may take it now
	Held                 // it is in force, as far as this observer can tell
)

// String returns "unknown", "free" or "held".
func (s State) String() string {
	switch s {
	case Free:
		return "free"
	case Held:
		return "held"
	default:
		return "unknown"
	}
}

// A Record is what an observer knows of a lease.
type Record struct {
	State  State
	Holder string // the holder, or the last one
	ID     string // the term
	Token  Token
	TTL    time.Duration
	// Age is the time since the record was last written: by the store's dates
	// where they can be trusted, else since this process first saw it so.
	Age time.Duration
	// Left is how much longer this observer would have to wait before it may
	// take over, if the holder wrote no more. It is 0 when that is not known.
	Left    time.Duration
	Done    string
	Meta    map[string]string
	Version string    // for Break, and for comparison
	Now     time.Time // the store's clock when it answered; zero if not known
}
