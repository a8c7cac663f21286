package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"
)

// A record is read and written at every look and every renewal, so this is done in
// few allocations: what encoding/json needs for a map of raw fields is more than a
// request to a store does.

// An encoder writes one JSON object, indented by two blanks.
type encoder struct {
	b   []byte
	err error
}

func (e *encoder) key(key string) {
	if len(e.b) == 0 {
		e.b = append(e.b, '{')
	} else {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, "\n  "...)
	e.string(key)
	e.b = append(e.b, ": "...)
}

func (e *encoder) number(key string, n int64) {
	e.key(key)
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) text(key, value string) {
	e.key(key)
	e.string(value)
}

func (e *encoder) optional(key, value string) {
	if value != "" {
		e.text(key, value)
	}
}

// string appends s as json.Marshal does, which it leaves to that unless s is plain.
func (e *encoder) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always marshals
			e.b = append(e.b, quoted...)
			return
		}
	}
	e.b = append(append(append(e.b, '"'), s...), '"')
}

func (e *encoder) json(key string, value any) {
	e.key(key)
	indented, err := json.MarshalIndent(value, "  ", "  ")
	if err != nil {
		e.err = cmp.Or(e.err, fmt.Errorf("encode %q: %w", key, err))
	}
	e.b = append(e.b, indented...)
}

func (e *encoder) end() ([]byte, error) {
	e.b = append(e.b, "\n}\n"...)
	if e.err != nil || len(e.b) <= MaxSize {
		return e.b, e.err
	}
	var compact bytes.Buffer // hard on the eye, but perhaps it fits
	if err := json.Compact(&compact, e.b); err != nil {
		return nil, err
	}
	if compact.Len() > MaxSize {
		return nil, foreign("with what others added it has %d bytes: at most %d are allowed", compact.Len(), MaxSize)
	}
	return compact.Bytes(), nil
}

// checkObject tells why data is no JSON object.
func checkObject(data []byte) error {
	if json.Valid(data) && bytes.TrimLeft(data, blanks)[0] == '{' {
		return nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	return errors.New("it is null")
}

const blanks = " \t\r\n" // JSON's

// members yields the keys, without quotes and escapes, and the values of a valid JSON
// object. They are parts of it: to be read, and copied.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		rest := bytes.TrimLeft(object, blanks)[1:]
		for {
			rest = bytes.TrimLeft(rest, blanks+",")
			if rest[0] == '}' {
				return
			}
			end, _ := scan(rest)
			key := bytes.TrimRight(rest[:end], blanks)
			rest = bytes.TrimLeft(rest[end:], blanks+":")
			end, _ = scan(rest)
			if !yield(unquote(key), bytes.TrimRight(rest[:end], blanks)) {
				return
			}
			rest = rest[end:]
		}
	}
}

// scan returns where the first value of valid JSON ends, and how deep it is nested: 0 for
// a number or a string.
func scan(rest []byte) (end, deepest int) {
	level, quoted := 0, false
	for end < len(rest) {
		switch c := rest[end]; {
		case quoted && c == '\\':
			end++ // what follows ends no string
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case level > 0 && (c == '}' || c == ']'):
			level--
		case level == 0 && (c == ',' || c == ':' || c == '}' || c == ']'):
			return end, deepest
		}
		end++
	}
	return end, deepest
}

// plain returns what a JSON string says if it says it without escapes.
func plain(value []byte) (text []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 || !utf8.Valid(value) {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// unquote returns what a valid JSON string says.
func unquote(quoted []byte) []byte {
	if text, ok := plain(quoted); ok {
		return text
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // a valid string always unmarshals
	return []byte(text)
}
