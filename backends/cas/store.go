package cas

import (
	"context"
	"errors"
	"time"

	"github.com/bloblease/bloblease/internal/record"
)

// MaxRecord is the size in bytes beyond which an object cannot be a record. A
// Store need not read further than one byte more.
const MaxRecord = record.MaxSize

// A Store is the little that the engine needs of an object store: it reads an
// object, and replaces it if it has not changed since. Every call is exactly
// one request. A Store is safe for concurrent use, returns soon after ctx ends,
// and neither sleeps nor retries.
//
// Put and Touch answer
//
//	nil                    applied; the Object carries the new Version
//	ErrConflict            not applied: the object has another version
//	ErrVanished            not applied: there is no such object
//	*backends.RetryError   the store is busy and may be asked again
//	backends.ErrDenied, ErrNoContainer, ErrUnsupported
//	                       not applied, and will not be
//	any other error        unknown: applied or not, now or later
//
// An error may wrap these. Not even a refusal has to be the last word: the
// engine reads the object after each, since something below the Store may have
// sent the request twice and tell of the second.
type Store interface {
	// Load reads the object. One that does not exist is Object{Exists: false}
	// without an error, with Now if the store told it.
	Load(ctx context.Context, name string) (Object, error)

	// Put replaces the object, if it has this version; version "" demands
	// that it does not exist. Writes that start a term use Put.
	Put(ctx context.Context, name, version string, data []byte) (Object, error)

	// Touch is Put for the writes within a term: renewals and releases. A store
	// that can change an object in place, without leaving an old version
	// behind, does so here.
	Touch(ctx context.Context, name, version string, data []byte) (Object, error)
}

// A NameChecker is a Store that cannot keep an object for every name.
type NameChecker interface {
	// CheckName returns an error that names the rule that name breaks.
	CheckName(name string) error
}

// An Object is what a Store knows of one object. After a write, Data may be nil.
type Object struct {
	Exists bool
	Data   []byte
	// Version changes with every write and never comes back, as long as no two
	// writes have the same bytes. It is never "" for an object that exists.
	Version string
	// Modified is when the object was last written and Now when the store
	// answered, both by the store's own clock. Either is zero if it is not
	// known or not to be believed, for example on an answer from a cache.
	Modified, Now time.Time
}

// What a Store answers to a condition that does not hold.
var (
	ErrConflict = errors.New("object has changed")
	ErrVanished = errors.New("object does not exist")
)
