package azure

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// leased answers a lease operation that led to l.
func (x *exchange) leased(b *blob, l lease, status int) {
	b.lease = l
	x.stamp(b)
	if l.held {
		x.w.Header().Set("X-Ms-Lease-Id", l.id)
	}
	x.w.WriteHeader(status)
}

func (x *exchange) acquireLease() *Error {
	d, err := x.leaseDuration()
	if err != nil {
		return err
	}
	id, err := x.leaseID("X-Ms-Proposed-Lease-Id")
	if err != nil {
		return err
	}
	_, b, err := x.changeable() // conditions come before the lease
	if err != nil {
		return err
	}
	l, err := b.lease.acquire(x.now, id, x.nextLeaseID(), d, x.opts.ExpiryGrace)
	if err != nil {
		return err
	}
	x.leased(b, l, http.StatusCreated)
	return nil
}

func (x *exchange) leaseDuration() (time.Duration, *Error) {
	const name = "X-Ms-Lease-Duration"
	if x.header.Get(name) == "" {
		return 0, errHeaderMissing(name)
	}
	n, err := strconv.Atoi(x.header.Get(name))
	if err == nil && n == -1 {
		return Infinite, nil
	}
	d := time.Duration(n) * time.Second
	if err != nil || d < shortestLease || d > longestLease {
		return 0, errHeaderValue(name)
	}
	return d, nil
}

func (x *exchange) renewLease() *Error {
	return x.withOwnLease(func(l lease, id string) (lease, *Error) {
		return l.renew(x.now, id, x.opts.RenewExpired)
	})
}

func (x *exchange) releaseLease() *Error {
	return x.withOwnLease(func(l lease, id string) (lease, *Error) {
		return l.release(x.now, id)
	})
}

func (x *exchange) changeLease() *Error {
	proposed, err := x.leaseID("X-Ms-Proposed-Lease-Id")
	if err != nil {
		return err
	}
	if proposed == "" {
		return errHeaderMissing("x-ms-proposed-lease-id")
	}
	return x.withOwnLease(func(l lease, id string) (lease, *Error) {
		return l.change(x.now, id, proposed)
	})
}

func (x *exchange) withOwnLease(change func(lease, string) (lease, *Error)) *Error {
	id, err := x.ownLease()
	if err != nil {
		return err
	}
	_, b, err := x.changeable() // conditions come before the lease
	if err != nil {
		return err
	}
	l, err := change(b.lease, id)
	if err != nil {
		return err
	}
	x.leased(b, l, http.StatusOK)
	return nil
}

func (x *exchange) breakLease() *Error {
	period, err := x.breakPeriod()
	if err != nil {
		return err
	}
	_, b, err := x.changeable() // conditions come before the lease
	if err != nil {
		return err
	}
	l, remaining, err := b.lease.breakIn(x.now, period)
	if err != nil {
		return err
	}
	x.w.Header().Set("X-Ms-Lease-Time", strconv.Itoa(int(math.Ceil(remaining.Seconds()))))
	x.leased(b, l, http.StatusAccepted)
	return nil
}

// breakPeriod is negative if the request names none.
func (x *exchange) breakPeriod() (time.Duration, *Error) {
	const name = "X-Ms-Lease-Break-Period"
	value := x.header.Get(name)
	if value == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(value)
	d := time.Duration(n) * time.Second
	if err != nil || n < 0 || d > longestBreak {
		return 0, errHeaderValue(name)
	}
	return d, nil
}
