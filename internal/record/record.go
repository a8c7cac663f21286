// Package record is the stored form of a lease, the same in every store: one JSON
// object, indented for people. It also makes what a record needs: tokens and
// nonces.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// format is the version of the stored form. A reader refuses higher ones;
// whatever older readers can ignore is added without raising it.
const format = 1

// The states of a record.
const (
	Held = "held"
	Free = "free"
)

// MaxTTL is the longest TTL of a record; a longer one is taken for damage.
// MaxSize is the size in bytes beyond which an object cannot be a record.
const (
	MaxTTL  = 24 * time.Hour
	MaxSize = 64 << 10
)

// A Record is the stored form of a lease. It is never changed once it is made.
type Record struct {
	State  string // Held or Free
	Token  backends.Token
	Holder string
	ID     string // names the term; empty in a record that no term wrote
	TTL    time.Duration
	Nonce  string // fresh for each write
	Done   string
	Meta   map[string]string
	Extra  map[string]json.RawMessage // fields of later versions, kept as they are
}

// maxDepth is how deep an unknown field may be nested. Indented, which takes space
// that grows with the square of the depth, one of 10 KB could fill the memory.
const maxDepth = 32

// The names of the stored fields. They are frozen: add, never change.
const (
	keyFormat = "bloblease"
	keyState  = "state"
	keyToken  = "token"
	keyHolder = "holder"
	keyID     = "id"
	keyTTL    = "ttl_ms"
	keyNonce  = "nonce"
	keyDone   = "done"
	keyMeta   = "meta"
)

// Encode returns the stored form of r, ending in a newline. Holders write it often, so
// it is written field by field, as json.Indent would.
func (r *Record) Encode() ([]byte, error) {
	e := encoder{b: make([]byte, 0, 512)}
	e.number(keyFormat, format)
	e.text(keyState, r.State)
	e.number(keyToken, int64(r.Token)) //nolint:gosec // at most 2^53 − 1
	e.optional(keyHolder, r.Holder)
	e.optional(keyID, r.ID)
	if r.TTL != 0 {
		e.number(keyTTL, r.TTL.Milliseconds())
	}
	e.text(keyNonce, r.Nonce)
	e.optional(keyDone, r.Done)
	if len(r.Meta) > 0 {
		e.json(keyMeta, r.Meta)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Extra)) {
		e.json(key, r.Extra[key])
	}
	return e.end()
}

// Decode reads a stored form. Its errors match backends.ErrForeign.
func Decode(data []byte) (*Record, error) {
	if len(data) == 0 {
		return nil, foreign("the object is empty")
	}
	if len(data) > MaxSize {
		return nil, foreign("the object has more than %d bytes", MaxSize)
	}
	if err := checkObject(data); err != nil {
		return nil, foreign("the object is no JSON object (%v)", err)
	}
	r := &Record{}
	var version, millis int64
	var failed error
	for key, value := range members(data) {
		if err := r.take(key, value, &version, &millis); err != nil && failed == nil {
			failed = err
		}
	}
	switch {
	case failed != nil:
		return nil, failed
	case version == 0:
		return nil, foreign("the field %q is missing or 0", keyFormat)
	case version != format:
		return nil, foreign("format %d is not known to this version, which reads %d", version, format)
	case millis < 0 || millis > MaxTTL.Milliseconds():
		return nil, foreign("%s %d is out of range", keyTTL, millis)
	}
	r.TTL = time.Duration(millis) * time.Millisecond
	return r, r.check()
}

// take reads one member of the stored form.
func (r *Record) take(key, value []byte, version, millis *int64) error {
	switch string(key) {
	case keyFormat:
		return takeNumber(keyFormat, value, version)
	case keyState:
		return takeText(keyState, value, &r.State)
	case keyToken:
		var token int64
		err := takeNumber(keyToken, value, &token)
		r.Token = backends.Token(max(token, 0)) //nolint:gosec // not negative
		return err
	case keyHolder:
		return takeText(keyHolder, value, &r.Holder)
	case keyID:
		return takeText(keyID, value, &r.ID)
	case keyTTL:
		return takeNumber(keyTTL, value, millis)
	case keyNonce:
		return takeText(keyNonce, value, &r.Nonce)
	case keyDone:
		return takeText(keyDone, value, &r.Done)
	case keyMeta:
		r.Meta = nil // of two, the latter counts
		return take(keyMeta, value, &r.Meta)
	}
	if _, depth := scan(value); depth > maxDepth {
		return foreign("%.40q is nested deeper than %d levels", key, maxDepth)
	}
	if r.Extra == nil {
		r.Extra = map[string]json.RawMessage{}
	}
	r.Extra[string(key)] = bytes.Clone(value)
	return nil
}

func take(key string, value []byte, to any) error {
	if string(value) == "null" {
		return foreign("%s is null", key)
	}
	if err := json.Unmarshal(value, to); err != nil {
		return foreign("%s is malformed (%v)", key, err)
	}
	return nil
}

func takeNumber(key string, value []byte, to *int64) (err error) {
	if *to, err = strconv.ParseInt(string(value), 10, 64); err == nil {
		return nil
	}
	return take(key, value, to)
}

func takeText(key string, value []byte, to *string) error {
	if text, ok := plain(value); ok {
		*to = string(text)
		return nil
	}
	return take(key, value, to)
}

// check holds a record to what every writer of this format obeys.
func (r *Record) check() error {
	switch {
	case r.State != Held && r.State != Free:
		return foreign("%s %.20q is neither %q nor %q", keyState, r.State, Held, Free)
	case r.Token == 0 || r.Token > backends.MaxToken:
		return foreign("%s %d is not between 1 and %d", keyToken, r.Token, backends.MaxToken)
	case r.Nonce == "":
		return foreign("%s is missing", keyNonce)
	case r.State == Held && r.TTL == 0:
		return foreign("%s is missing in a held record", keyTTL)
	case r.State == Held && r.ID == "":
		return foreign("%s is missing in a held record", keyID)
	}
	return nil
}

func foreign(why string, args ...any) error {
	return fmt.Errorf("%w: %s", backends.ErrForeign, fmt.Sprintf(why, args...))
}
