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

// Encode returns the stored form of r, ending in a newline.
func (r *Record) Encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	add := func(key string, value any) error {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		v, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode %q: %w", key, err)
		}
		k, _ := json.Marshal(key) // a string always marshals
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
		return nil
	}
	for _, f := range r.fields() {
		if f.omit {
			continue
		}
		if err := add(f.key, f.value); err != nil {
			return nil, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Extra)) {
		if err := add(key, r.Extra[key]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return indent(b.Bytes())
}

func indent(compact []byte) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	switch {
	case b.Len() <= MaxSize:
		return b.Bytes(), nil
	case len(compact) <= MaxSize: // hard on the eye, but it fits
		return compact, nil
	}
	return nil, foreign("with what others added it has %d bytes: at most %d are allowed", len(compact), MaxSize)
}

type field struct {
	key   string
	value any
	omit  bool
}

func (r *Record) fields() []field {
	return []field{
		{keyFormat, format, false},
		{keyState, r.State, false},
		{keyToken, r.Token, false},
		{keyHolder, r.Holder, r.Holder == ""},
		{keyID, r.ID, r.ID == ""},
		{keyTTL, r.TTL.Milliseconds(), r.TTL == 0},
		{keyNonce, r.Nonce, false},
		{keyDone, r.Done, r.Done == ""},
		{keyMeta, r.Meta, len(r.Meta) == 0},
	}
}

// Decode reads a stored form. Its errors match backends.ErrForeign.
func Decode(data []byte) (*Record, error) {
	if len(data) == 0 {
		return nil, foreign("the object is empty")
	}
	if len(data) > MaxSize {
		return nil, foreign("the object has more than %d bytes", MaxSize)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, foreign("the object is no JSON object (%v)", err)
	}
	if raw[keyFormat] == nil {
		return nil, foreign("the field %q is missing", keyFormat)
	}
	r := &Record{}
	var version, millis int64
	for _, f := range []struct {
		key string
		to  any
	}{
		{keyFormat, &version}, {keyState, &r.State}, {keyToken, &r.Token}, {keyHolder, &r.Holder},
		{keyID, &r.ID}, {keyTTL, &millis}, {keyNonce, &r.Nonce}, {keyDone, &r.Done}, {keyMeta, &r.Meta},
	} {
		if err := take(raw, f.key, f.to); err != nil {
			return nil, err
		}
	}
	if version != format {
		return nil, foreign("format %d is not known to this version, which reads %d", version, format)
	}
	if millis < 0 || millis > MaxTTL.Milliseconds() {
		return nil, foreign("%s %d is out of range", keyTTL, millis)
	}
	for key, value := range raw {
		if depth(value) > maxDepth {
			return nil, foreign("%.40q is nested deeper than %d levels", key, maxDepth)
		}
	}
	r.TTL, r.Extra = time.Duration(millis)*time.Millisecond, raw
	return r, r.check()
}

// depth is how deep a valid JSON value is nested: 0 for a number or a string.
func depth(value json.RawMessage) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++ // what follows ends no string
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}

// take moves one field out of raw, if it is there.
func take(raw map[string]json.RawMessage, key string, to any) error {
	value, ok := raw[key]
	if !ok {
		return nil
	}
	delete(raw, key)
	if string(value) == "null" {
		return foreign("%s is null", key)
	}
	if err := json.Unmarshal(value, to); err != nil {
		return foreign("%s is malformed (%v)", key, err)
	}
	return nil
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
