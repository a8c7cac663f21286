package cas

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

const (
	stateHeld = "held"
	stateFree = "free"
)

// A record is the stored form of a lease: one JSON object, indented for people.
// A record is never changed once it is made.
type record struct {
	state  string
	token  backends.Token
	holder string
	id     string // names the term; empty in a record that no term wrote
	ttl    time.Duration
	nonce  string // fresh for each write
	done   string
	meta   map[string]string
	extra  map[string]json.RawMessage // fields of later versions, kept as they are
}

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

// encode returns the stored form of r, ending in a newline.
func (r *record) encode() ([]byte, error) {
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
	for _, key := range slices.Sorted(maps.Keys(r.extra)) {
		if err := add(key, r.extra[key]); err != nil {
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
	if b.Len() > MaxRecord {
		return nil, fmt.Errorf("record would have %d bytes: at most %d are allowed", b.Len(), MaxRecord)
	}
	return b.Bytes(), nil
}

type field struct {
	key   string
	value any
	omit  bool
}

func (r *record) fields() []field {
	return []field{
		{keyFormat, format, false},
		{keyState, r.state, false},
		{keyToken, r.token, false},
		{keyHolder, r.holder, r.holder == ""},
		{keyID, r.id, r.id == ""},
		{keyTTL, r.ttl.Milliseconds(), r.ttl == 0},
		{keyNonce, r.nonce, false},
		{keyDone, r.done, r.done == ""},
		{keyMeta, r.meta, len(r.meta) == 0},
	}
}

// decode reads a stored form. Its errors match backends.ErrForeign.
func decode(data []byte) (*record, error) {
	if len(data) == 0 {
		return nil, foreign("the object is empty")
	}
	if len(data) > MaxRecord {
		return nil, foreign("the object has more than %d bytes", MaxRecord)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, foreign("the object is no JSON object (%v)", err)
	}
	if raw[keyFormat] == nil {
		return nil, foreign("the field %q is missing", keyFormat)
	}
	r := &record{}
	var version, millis int64
	for _, f := range []struct {
		key string
		to  any
	}{
		{keyFormat, &version}, {keyState, &r.state}, {keyToken, &r.token}, {keyHolder, &r.holder},
		{keyID, &r.id}, {keyTTL, &millis}, {keyNonce, &r.nonce}, {keyDone, &r.done}, {keyMeta, &r.meta},
	} {
		if err := take(raw, f.key, f.to); err != nil {
			return nil, err
		}
	}
	if version != format {
		return nil, foreign("format %d is not known to this version, which reads %d", version, format)
	}
	if millis < 0 || millis > maxTTL.Milliseconds() {
		return nil, foreign("%s %d is out of range", keyTTL, millis)
	}
	r.ttl, r.extra = time.Duration(millis)*time.Millisecond, raw
	return r, r.check()
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
func (r *record) check() error {
	switch {
	case r.state != stateHeld && r.state != stateFree:
		return foreign("%s %.20q is neither %q nor %q", keyState, r.state, stateHeld, stateFree)
	case r.token == 0 || r.token > backends.MaxToken:
		return foreign("%s %d is not between 1 and %d", keyToken, r.token, backends.MaxToken)
	case r.nonce == "":
		return foreign("%s is missing", keyNonce)
	case r.state == stateHeld && r.ttl == 0:
		return foreign("%s is missing in a held record", keyTTL)
	case r.state == stateHeld && r.id == "":
		return foreign("%s is missing in a held record", keyID)
	}
	return nil
}

func foreign(why string, args ...any) error {
	return fmt.Errorf("%w: %s", backends.ErrForeign, fmt.Sprintf(why, args...))
}
