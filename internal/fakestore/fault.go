package fakestore

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrReset is what a caller sees when a request or its answer was lost and the
// Fault names no other error: the connection was reset.
var ErrReset error = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// A Fault is what happens to one request. The zero Fault is none: the store
// acts at once, and its answer arrives at once. The fields combine; the
// functions of this package build the usual combinations.
//
// What is on its way cannot be called back: a caller whose context ends stops
// waiting, but a delayed request still reaches the store.
type Fault struct {
	// Before is how much later the request reaches the store.
	Before time.Duration
	// Dropped requests never reach the store. The caller sees Err, Status, or
	// nothing at all if Hang is set.
	Dropped bool
	// Again makes the store receive the request once more for each entry, that
	// much later than the first time. The answers to these are dropped.
	Again []time.Duration

	// After is how much later the answer reaches the caller. It tells what the
	// store looked like when the store gave it.
	After time.Duration
	// Stale answers a GET or HEAD with the latest earlier answer to the same
	// question that differs from the true one, if there was any.
	Stale bool
	// Err is what the caller gets instead of an answer.
	Err error
	// Status, Header and Body are what the caller gets instead of the store's
	// answer, if Status is not 0.
	Status int
	Header http.Header
	Body   string
	// Hang leaves the caller waiting until its context ends.
	Hang bool
}

// LostBefore loses the request: the store never sees it.
func LostBefore() Fault { return Fault{Dropped: true, Err: ErrReset} }

// LostAfter loses the answer: the store has acted.
func LostAfter() Fault { return Fault{Err: ErrReset} }

// DelayedBefore makes the request reach the store d later.
func DelayedBefore(d time.Duration) Fault { return Fault{Before: d} }

// DelayedAfter makes the answer arrive d after the store gave it, so that a
// newer write may have overtaken it.
func DelayedAfter(d time.Duration) Fault { return Fault{After: d} }

// Twice makes the store receive the request once more, d later.
func Twice(d time.Duration) Fault { return Fault{Again: []time.Duration{d}} }

// Refused answers with status in the store's place; the store never sees the
// request. RetryAfter is announced in whole seconds, unless it is negative.
func Refused(status int, retryAfter time.Duration) Fault {
	return Fault{Dropped: true, Status: status, Header: retryHeader(retryAfter)}
}

// RefusedAfter is Refused, but the store has acted.
func RefusedAfter(status int, retryAfter time.Duration) Fault {
	return Fault{Status: status, Header: retryHeader(retryAfter)}
}

// Hung drops the request and says nothing.
func Hung() Fault { return Fault{Dropped: true, Hang: true} }

// HungAfter lets the store act and says nothing.
func HungAfter() Fault { return Fault{Hang: true} }

// StaleRead answers with what the store said earlier.
func StaleRead() Fault { return Fault{Stale: true} }

// Redirected sends the caller elsewhere; the store never sees the request.
func Redirected(location string) Fault {
	return Fault{
		Dropped: true,
		Status:  http.StatusTemporaryRedirect,
		Header:  http.Header{"Location": {location}},
	}
}

func retryHeader(after time.Duration) http.Header {
	if after < 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(int(after / time.Second))}}
}

// none reports whether nothing happens to the request.
func (f Fault) none() bool {
	return f.Before == 0 && !f.Dropped && len(f.Again) == 0 && f.answersTruly()
}

func (f Fault) answersTruly() bool {
	return f.After == 0 && !f.Stale && f.Err == nil && f.Status == 0 && !f.Hang
}

// err is what the caller of a request without answer gets.
func (f Fault) err() error {
	if f.Err == nil && f.Dropped && f.Status == 0 {
		return ErrReset
	}
	return f.Err
}

// String names what happens, in the order in which it does.
func (f Fault) String() string {
	var s []string
	add := func(when bool, format string, a ...any) {
		if when {
			s = append(s, fmt.Sprintf(format, a...))
		}
	}
	add(f.Before > 0, "delayed %v", f.Before)
	add(f.Dropped, "dropped")
	for _, d := range f.Again {
		add(true, "again %v later", d)
	}
	add(f.After > 0, "answered %v late", f.After)
	add(f.Stale, "stale")
	add(f.err() != nil, "%s", short(f.err()))
	add(f.Status != 0, "status %d", f.Status)
	add(f.Hang, "hung")
	if s == nil {
		return "no fault"
	}
	return strings.Join(s, ", ")
}

// short is the innermost error's text: the layers around it tell addresses.
func short(err error) string {
	for err != nil {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
	return ""
}
