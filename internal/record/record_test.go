package record

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

const (
	id    = "0123456789abcdef0123456789abcdef"
	nonce = "fedcba9876543210fedcba9876543210"
)

// The stored form is frozen: records that are out there have to be read, and
// written so that older versions read them. Fields may be added. Do not change
// these files.
var golden = map[string]Record{
	"held.json": {
		State: Held, Token: 1874919424491520, Holder: "worker-7:4711", ID: id, TTL: 30 * time.Second, Nonce: nonce,
		Done: "2026-10-12", Meta: map[string]string{"zone": "a", "address": "10.0.0.7:8080"},
	},
	"free.json": {
		State: Free, Token: backends.MaxToken, Holder: "größe <&>", TTL: 1500 * time.Millisecond, Nonce: strings.Repeat("0", 32),
	},
	"unknown.json": {
		State: Held, Token: 1, ID: id, TTL: 24 * time.Hour, Nonce: nonce,
		Extra: map[string]json.RawMessage{
			"zeta": json.RawMessage(`"last"`), "a-list": json.RawMessage(`[1, 2.50, "three"]`),
			"quorum": json.RawMessage(`{"members": 3, "none": null}`),
		},
	},
}

func TestTheStoredFormIsFrozen(t *testing.T) {
	for file, r := range golden {
		stored, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		encoded, err := r.Encode()
		require.NoError(t, err)
		require.Equal(t, string(stored), string(encoded), file)

		read, err := Decode(stored)
		require.NoError(t, err, file)
		again, err := read.Encode()
		require.NoError(t, err)
		require.Equal(t, string(stored), string(again), file)
		read.Extra, r.Extra = nil, nil
		require.Equal(t, &r, read, file)
	}
}

func TestEveryGoldenFileIsRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(golden))
}

// fields make a stored form: "" leaves a field out.
func stored(fields ...string) string {
	all := map[string]string{
		"bloblease": `1`, "state": `"held"`, "token": `7`, "id": `"x"`, "ttl_ms": `1000`, "nonce": `"n"`,
	}
	for i := 0; i < len(fields); i += 2 {
		all[fields[i]] = fields[i+1]
	}
	var parts []string
	for k, v := range all {
		if v != "" {
			parts = append(parts, `"`+k+`":`+v)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestARecordIsRead(t *testing.T) {
	for _, s := range []string{
		stored(),
		stored("holder", `"somebody"`, "done", `""`, "meta", `{}`),
		stored("state", `"free"`, "id", "", "ttl_ms", ""),
		stored("state", `"free"`, "ttl_ms", "0"),
		stored("token", "9007199254740991", "ttl_ms", "86400000"),
		stored("Token", `"another field"`, "STATE", "[]"),
		stored("x", "null", "y", `{"deep":[{}]}`),
		" \t\n" + stored() + "\n\n",
	} {
		_, err := Decode([]byte(s))
		require.NoError(t, err, s)
	}
}

func TestWhatIsNoRecordIsForeign(t *testing.T) {
	for _, s := range []string{
		"", " ", "null", "[]", "{}", "7", `"x"`, "<html>", "{", stored() + stored(), stored() + "x", "\xef\xbb\xbf" + stored(),
		stored("bloblease", ""), stored("bloblease", "null"), stored("bloblease", "2"), stored("bloblease", "0"),
		stored("bloblease", `"1"`), stored("bloblease", "1.5"),
		stored("state", ""), stored("state", `""`), stored("state", `"HELD"`), stored("state", "1"), stored("state", "null"),
		stored("token", ""), stored("token", "0"), stored("token", "-1"), stored("token", "1.0"), stored("token", "1e3"),
		stored("token", `"7"`), stored("token", "9007199254740992"), stored("token", "18446744073709551616"), stored("token", "null"),
		stored("id", ""), stored("id", `""`), stored("id", "7"), stored("id", "null"),
		stored("ttl_ms", ""), stored("ttl_ms", "0"), stored("ttl_ms", "-1"), stored("ttl_ms", "86400001"),
		stored("ttl_ms", "9223372036854775807"), stored("ttl_ms", "1000.5"), stored("ttl_ms", `"1000"`), stored("ttl_ms", "null"),
		stored("nonce", ""), stored("nonce", `""`), stored("nonce", "7"),
		stored("holder", "7"), stored("holder", "null"), stored("done", "true"), stored("meta", "[]"), stored("meta", `{"a":1}`),
	} {
		_, err := Decode([]byte(s))
		require.ErrorIs(t, err, backends.ErrForeign, s)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestTheSizeIsBounded(t *testing.T) {
	s := stored()
	fits := s + strings.Repeat(" ", MaxSize-len(s))
	_, err := Decode([]byte(fits))
	require.NoError(t, err)
	_, err = Decode([]byte(fits + " "))
	require.ErrorIs(t, err, backends.ErrForeign)

	r := Record{State: Free, Token: 1, Nonce: nonce, Extra: map[string]json.RawMessage{
		"x": json.RawMessage(`"` + strings.Repeat("x", MaxSize) + `"`),
	}}
	_, err = r.Encode()
	require.Error(t, err)
}

func TestADeepFieldIsForeign(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, s := range []string{nested(maxDepth), `{"\"[[":"]]\\"}`, `"` + nested(100) + `"`, `[` + strings.Repeat(`[],`, 100) + `{}]`} {
		_, err := Decode([]byte(stored("x", s)))
		require.NoError(t, err, s)
	}
	for _, s := range []string{nested(maxDepth + 1), nested(9000), strings.Repeat(`{"x":`, 100) + "1" + strings.Repeat(`}`, 100)} {
		_, err := Decode([]byte(stored("x", s)))
		require.ErrorIs(t, err, backends.ErrForeign)
	}
}

func TestALongMessageIsCut(t *testing.T) {
	_, err := Decode([]byte(stored("state", `"`+strings.Repeat("x", 5000)+`"`)))
	require.ErrorIs(t, err, backends.ErrForeign)
	require.Less(t, len(err.Error()), 200)
}

func FuzzDecode(f *testing.F) {
	for file := range golden {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(f, err)
		f.Add(data)
	}
	for _, s := range []string{stored(), stored("x", `"\u003c<\xff"`), stored("meta", `{"a":null}`), `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameMembers(t, data)
		r, err := Decode(data)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrForeign)
			return
		}
		once, err := r.Encode()
		if err != nil {
			return // it grew too big
		}
		again, err := Decode(once)
		require.NoError(t, err)
		require.Equal(t, r.Token, again.Token)
		require.Equal(t, r.TTL, again.TTL)
		require.Equal(t, len(r.Extra), len(again.Extra))
		twice, err := again.Encode()
		require.NoError(t, err)
		require.True(t, bytes.Equal(once, twice), "%s\n%s", once, twice)
	})
}

// sameMembers holds the reader of the top level to that of encoding/json.
func sameMembers(t *testing.T, data []byte) {
	var want map[string]json.RawMessage
	if json.Unmarshal(data, &want) != nil || want == nil {
		require.Error(t, checkObject(data))
		return
	}
	require.NoError(t, checkObject(data))
	got := map[string]json.RawMessage{}
	for key, value := range members(data) {
		got[string(key)] = bytes.Clone(value)
	}
	require.Equal(t, want, got)
}

func TestMembersAreReadAsByEncodingJSON(t *testing.T) {
	for _, s := range []string{
		`{}`, " { } ", `{"a":1}`, `{ "a" : 1 , "b" : [1,{"c":",:}"}] }`, `{"a\u0062\"":"\\"}`, "{\"\xff\":\"\xff\"}",
		`{"a":1,"a":2}`, `{"a":{},"":"","b":-1.5e3}`, "{\n\t\"a\"\r: true\t,\n\"b\":null }", `[]`, `null`, ` `, `{"a":1`,
	} {
		sameMembers(t, []byte(s))
	}
}

func TestARecordIsReadAndWrittenInFewAllocations(t *testing.T) {
	r := &Record{State: Held, Token: 1874919424491520, Holder: "worker-7:4711", ID: id, TTL: 30 * time.Second, Nonce: nonce, Done: "x"}
	stored, err := r.Encode()
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = r.Encode() }), 4.0)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = Decode(stored) }), 9.0)
}
