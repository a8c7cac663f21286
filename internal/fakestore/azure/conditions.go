package azure

import (
	"net/http"
	"strings"
	"time"
)

// Conditions are the conditional headers of a request.
type conditions struct {
	match, noneMatch string
	since, notSince  time.Time // If-Modified-Since, If-Unmodified-Since
}

func readConditions(h http.Header) (c conditions, e *Error) {
	c.match, c.noneMatch = h.Get("If-Match"), h.Get("If-None-Match")
	if c.since, e = date(h, "If-Modified-Since"); e != nil {
		return c, e
	}
	if c.notSince, e = date(h, "If-Unmodified-Since"); e != nil {
		return c, e
	}
	return c, c.combinable()
}

func date(h http.Header, name string) (time.Time, *Error) {
	value := h.Get(name)
	if value == "" {
		return time.Time{}, nil
	}
	t, err := http.ParseTime(value)
	if err != nil {
		return time.Time{}, errHeaderValue(name)
	}
	return t, nil
}

// combinable refuses lists of ETags, and pairs other than a tag with the date
// that says the same.
func (c conditions) combinable() *Error {
	if strings.Contains(c.match+c.noneMatch, ",") {
		return errConditions
	}
	unchanged := c.match != "" || !c.notSince.IsZero()
	changed := c.noneMatch != "" || !c.since.IsZero()
	if unchanged && changed {
		return errConditions
	}
	return nil
}

// creating reports whether the blob must not exist.
func (c conditions) creating() bool { return c.noneMatch == "*" }

// failed reports whether a condition that needs an existing blob is not met by
// b. A tag outweighs the date that goes with it. If-None-Match: * is for the
// caller.
func (c conditions) failed(b *blob) bool {
	modified := b.modified.Truncate(time.Second)
	switch {
	case c.match != "":
		return c.match != "*" && c.match != b.etag
	case c.noneMatch != "":
		return c.noneMatch == b.etag
	case !c.since.IsZero():
		return !modified.After(c.since)
	case !c.notSince.IsZero():
		return modified.After(c.notSince)
	}
	return false
}

// read judges a read of b.
func (c conditions) read(b *blob) *Error {
	switch {
	case c.creating():
		return errUnsatisfiable
	case !c.failed(b):
		return nil
	case c.noneMatch != "" || !c.since.IsZero():
		return errNotModified
	}
	return errCondition
}
