package azure

import (
	"strings"
	"time"
)

// A LeaseState is one of the five that Azure reports.
type LeaseState string

// The states of a blob's lease.
const (
	Available LeaseState = "available"
	Leased    LeaseState = "leased"
	Expired   LeaseState = "expired"
	Breaking  LeaseState = "breaking"
	Broken    LeaseState = "broken"
)

// Infinite is the duration of a lease that does not expire.
const Infinite time.Duration = -1

const (
	shortestLease = 15 * time.Second
	longestLease  = 60 * time.Second
	longestBreak  = 60 * time.Second
)

// A lease is what a blob knows about its lease. The zero lease is available.
// Its methods are pure: those that change it return the lease that results.
type lease struct {
	id       string
	duration time.Duration // what was asked for, or Infinite
	ends     time.Time     // of a held lease: its expiry; of a broken one: when it can be acquired
	held     bool
	broken   bool // somebody broke it, perhaps as of later
}

func (l lease) state(now time.Time) LeaseState {
	over := !now.Before(l.ends)
	switch {
	case l.held && (l.duration == Infinite || !over):
		return Leased
	case l.held:
		return Expired
	case l.broken && !over:
		return Breaking
	case l.broken:
		return Broken
	}
	return Available
}

// locked reports whether writing needs the lease ID.
func (s LeaseState) locked() bool { return s == Leased || s == Breaking }

// begin is a lease that starts now.
func begin(now time.Time, id string, d time.Duration) lease {
	l := lease{id: id, duration: d, held: true}
	if d != Infinite {
		l.ends = now.Add(d)
	}
	return l
}

// acquire takes the lease. An empty id matches none; fresh is used then.
func (l lease) acquire(now time.Time, id, fresh string, d time.Duration, grace time.Duration) (lease, *Error) {
	own := id != "" && id == l.id
	switch l.state(now) {
	case Breaking:
		if own {
			return l, errBreakingAcquire
		}
		return l, errAlreadyLeased
	case Leased:
		if !own {
			return l, errAlreadyLeased
		}
	case Expired:
		if !own && now.Before(l.ends.Add(grace)) {
			return l, errAlreadyLeased
		}
	}
	if id == "" {
		id = fresh
	}
	return begin(now, id, d), nil
}

func (l lease) renew(now time.Time, id string, rule RenewExpired) (lease, *Error) {
	own := id == l.id
	switch l.state(now) {
	case Leased:
		if own {
			return begin(now, l.id, l.duration), nil
		}
	case Expired:
		if rule == WithAnyID || own && rule == IfUntouched {
			return begin(now, l.id, l.duration), nil
		}
	case Breaking, Broken:
		if own {
			return l, errBrokenRenew
		}
	}
	return l, errWrongLease
}

// change gives the lease another id. It is idempotent: the ID that the blob
// already knows may be proposed by anybody.
func (l lease) change(now time.Time, id, proposed string) (lease, *Error) {
	switch l.state(now) {
	case Leased:
		if id != l.id && proposed != l.id {
			return l, errWrongLease
		}
		l.id = proposed
		return l, nil
	case Breaking:
		if id == l.id {
			return l, errBreakingChange
		}
		return l, errWrongLease
	}
	return l, errNoLease
}

func (l lease) release(now time.Time, id string) (lease, *Error) {
	if l.state(now) == Available || id != l.id {
		return l, errWrongLease
	}
	return lease{}, nil
}

// breakIn ends the lease after the given period, or when it would have ended
// anyway if that is sooner. A negative period is none: a fixed lease then runs
// out, an infinite one ends at once. It returns what remains.
func (l lease) breakIn(now time.Time, period time.Duration) (lease, time.Duration, *Error) {
	state := l.state(now)
	if state == Available {
		return l, 0, errNoLease
	}
	remaining := l.remaining(now)
	switch {
	case period < 0 && remaining == Infinite:
		remaining = 0
	case period >= 0 && (remaining == Infinite || period < remaining):
		remaining = period
	}
	return lease{id: l.id, duration: l.duration, broken: true, ends: now.Add(remaining)}, remaining, nil
}

// remaining is how long the lease stays locked: 0 if it is not.
func (l lease) remaining(now time.Time) time.Duration {
	state := l.state(now)
	switch {
	case !state.locked():
		return 0
	case state == Leased && l.duration == Infinite:
		return Infinite
	}
	return l.ends.Sub(now)
}

// admitWrite reports whether a write may pass that carries id, or none.
func (l lease) admitWrite(now time.Time, id string, o *Options) *Error {
	switch state := l.state(now); {
	case id == "" && state.locked():
		return errLeaseMissing
	case state == Expired && strings.EqualFold(id, l.id) && o.ExpiredWrite == Accepted:
		return nil
	}
	return l.admitRead(now, id, o)
}

// admitRead reports whether a read may pass that carries id, or none.
func (l lease) admitRead(now time.Time, id string, o *Options) *Error {
	state, own := l.state(now), strings.EqualFold(id, l.id)
	switch {
	case id == "":
		return nil
	case state.locked() && own:
		return nil
	case state.locked() && o.WrongLeaseConflict:
		return errWrongLeaseOnBlob9
	case state.locked():
		return errWrongLeaseOnBlob
	case own && o.ExpiredWrite != RefusedAsNotPresent:
		return errLeaseLost
	}
	return errNoLeaseOnBlob
}

// written is the lease after a write: one that is over is forgotten.
func (l lease) written(now time.Time) lease {
	if !l.state(now).locked() {
		return lease{}
	}
	return l
}
