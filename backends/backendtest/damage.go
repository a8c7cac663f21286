package backendtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

// What is no record, or a damaged one.
var damageChecks = []check{
	{"WhatIsNoRecordIsForeignAndStays", whatIsNoRecordIsForeignAndStays},
	{"ADamagedRecordIsForeignAndStays", aDamagedRecordIsForeignAndStays},
	{"BreakReplacesWhatIsNoRecord", breakReplacesWhatIsNoRecord},
	{"ADamagedRecordEndsTheTerm", aDamagedRecordEndsTheTerm},
}

// noRecords are objects that somebody else put there.
func noRecords() map[string][]byte {
	return map[string][]byte{
		"nothing":            {},
		"a line break":       []byte("\n"),
		"text":               []byte("do not delete"),
		"a page":             []byte("<!DOCTYPE html><html><body>502 Bad Gateway</body></html>"),
		"bytes":              {0, 1, 2, 0xff, 0xfe},
		"null":               []byte("null"),
		"a list":             []byte("[]"),
		"a string":           []byte(`"held"`),
		"an empty object":    []byte("{}"),
		"another's lock":     []byte(`{"ID":"1","holder":"terraform","token":7,"state":"held"}`),
		"half a record":      []byte(`{"bloblease": 1, "state": "fr`),
		"64 KiB and a byte":  bytes.Repeat([]byte("x"), cas.MaxRecord+1),
		"1 MiB":              bytes.Repeat([]byte("{\"x\":"), 1<<20/5),
		"a very deep object": []byte(strings.Repeat(`{"x":`, 12000)),
	}
}

func whatIsNoRecordIsForeignAndStays(t *trial) {
	t.needRead()
	t.need(t.Overwrite != nil, "Overwrite")
	for what, data := range noRecords() {
		b, g := t.term(what)
		t.release(b, g)
		t.allow(t.Overwrite(what, data))
		t.foreign(b, what, what)
		t.foreign(t.New(), what, what)
		t.allow(t.Overwrite("new "+what, data))
		t.foreign(t.New(), "new "+what, what)
	}
}

// foreign makes sure that b takes what is there for no record, and leaves it.
func (t *trial) foreign(b backends.Backend, name, what string) {
	t.Helper()
	before := t.Read(name)
	for range 2 { // the second time it knows
		_, err := b.Acquire(t.Context(), name, t.claim("holder"))
		require.ErrorIs(t, err, backends.ErrForeign, "acquire: %s", what)
		require.NotErrorIs(t, err, backends.ErrHeld, what)
		require.Less(t, len(err.Error()), 1000, what)
		_, err = b.Observe(t.Context(), name)
		require.ErrorIs(t, err, backends.ErrForeign, "observe: %s", what)
	}
	require.Equal(t, before, t.Read(name), "%s was overwritten", what)
}

// damages are values that a field of a record must not have; nil takes it away.
var damages = map[string][]string{
	"bloblease": {"", "2", "0", "-1", `"1"`, "1.5", "null"},
	"token":     {"", "0", "-1", `"7"`, "1.5", "1e3", "9007199254740992", "18446744073709551616", "null", "[]", "true"},
	"state":     {"", `""`, `"Held"`, `"broken"`, "1", "null"},
	"nonce":     {"", `""`, "7", "null"},
	"ttl_ms":    {"-1", "1.5", `"30"`, "9223372036854775807", "null"},
	"meta":      {"[]", "1", `{"a":1}`, "null"},
	"holder":    {"7", "null"},
	"done":      {"7", "null"},
	"id":        {"7", "null"},
}

// eachDamage calls f with every damage of the record.
func (t *trial) eachDamage(record []byte, f func(what string, damaged []byte)) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(damages)) {
		for _, value := range damages[key] {
			fields := fieldsOf(record)
			if value == "" {
				require.Contains(t, fields, key, "the harness does not read the stored form")
				delete(fields, key)
			} else {
				fields[key] = json.RawMessage(value)
			}
			data, err := json.Marshal(fields)
			require.NoError(t, err)
			f(fmt.Sprintf("%s: %s", key, value), data)
		}
	}
	f("more than 64 KiB", append(slices.Clone(record), bytes.Repeat([]byte(" "), cas.MaxRecord)...))
	f("followed by another", append(slices.Clone(record), record...))
}

func (t *trial) needFields(name string) {
	t.Helper()
	t.needRead()
	t.need(t.Overwrite != nil, "Overwrite")
	fields := fieldsOf(t.Read(name))
	t.need(fields["bloblease"] != nil && fields["token"] != nil, "stored form like that of package cas")
}

func aDamagedRecordIsForeignAndStays(t *trial) {
	b, g := t.term("job")
	t.needFields("job")
	held := t.Read("job")
	t.release(b, g)
	for state, record := range map[string][]byte{"held": held, "free": t.Read("job")} {
		t.eachDamage(record, func(what string, damaged []byte) {
			name := state + " " + what
			b, g := t.term(name)
			t.release(b, g)
			t.allow(t.Overwrite(name, damaged))
			t.foreign(b, name, name)
			t.foreign(t.New(), name, name)
		})
	}
}

func breakReplacesWhatIsNoRecord(t *trial) {
	breaker := t.breaker()
	t.needRead()
	for what, data := range noRecords() {
		b := t.New()
		highest := t.used(b, what)
		version := t.observe(b, what).Version
		t.allow(t.Overwrite(what, data))
		before := t.Read(what)
		require.ErrorIs(t, breaker.Break(t.Context(), what, version), backends.ErrLost, "another version: %s", what)
		require.Equal(t, before, t.Read(what), what)
		time.Sleep(lifetime)
		require.NoError(t, breaker.Break(t.Context(), what, ""), what)
		require.Equal(t, backends.Free, t.look(what).State, what)
		next := t.acquire(t.New(), what)
		if !t.Timeless {
			require.Greater(t, next.Token, highest, what)
		}
	}
}

func aDamagedRecordEndsTheTerm(t *trial) {
	t.needRead()
	t.need(t.Overwrite != nil, "Overwrite")
	for what, data := range noRecords() {
		b, g := t.term(what)
		t.allow(t.Overwrite(what, data))
		t.over(b, g, what)
	}
}
