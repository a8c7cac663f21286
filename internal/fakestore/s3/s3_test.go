package s3_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A desk sends requests to a model, without an SDK, at a time of its own.
type desk struct {
	*s3.Bucket
	t       *testing.T
	service *s3.Service
	now     time.Time
}

func newDesk(t *testing.T, o *s3.Options) *desk {
	d := &desk{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)}
	d.service = s3.New(func() time.Time { return d.now }, o)
	d.Bucket = d.service.Bucket("bucket")
	d.Create()
	return d
}

const (
	helloETag = `"5d41402abc4b2a76b9719d911017c592"` // MD5 of "hello"
	otherETag = `"00000000000000000000000000000000"`
)

// send sends a request with headers, given as "Name: value".
func (d *desk) send(method, key, body string, headers ...string) reply {
	r := httptest.NewRequest(method, "/bucket/"+key, strings.NewReader(body))
	r.Host = "s3.eu-central-1.amazonaws.com"
	sum := sha256.Sum256([]byte(body))
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	r.Header.Set("X-Amz-Date", d.now.Format("20060102T150405Z"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AK/20260102/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=0")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	d.service.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}

// A reply is an answer that was read.
type reply struct {
	status int
	Header http.Header
	body   string
}

// says is the status of an answer, with the code of an error.
func says(r reply) string {
	if _, rest, failed := strings.Cut(r.body, "<Code>"); failed {
		code, _, _ := strings.Cut(rest, "</Code>")
		return fmt.Sprint(r.status, " ", code)
	}
	return fmt.Sprint(r.status)
}

const (
	conflict = "412 PreconditionFailed"
	gone     = "404 NoSuchKey"
	notDone  = "501 NotImplemented"
)

// The rows of the table in the package's comment.
func TestConditions(t *testing.T) {
	for _, row := range []struct {
		method            string
		headers           []string
		present, missing  string
		unquotedOtherwise string // in the unquoted dialect, if it differs
	}{
		{method: "PUT", present: "200", missing: "200"},
		{method: "PUT", headers: []string{"If-None-Match: *"}, present: conflict, missing: "200"},
		{method: "PUT", headers: []string{"If-None-Match: " + helloETag}, present: notDone, missing: notDone},
		{method: "PUT", headers: []string{"If-Match: *"}, present: notDone, missing: notDone},
		{method: "PUT", headers: []string{"If-Match: " + helloETag}, present: "200", missing: gone, unquotedOtherwise: conflict},
		{method: "PUT", headers: []string{"If-Match: " + strings.Trim(helloETag, `"`)}, present: "200", missing: gone},
		{method: "PUT", headers: []string{"If-Match: " + otherETag}, present: conflict, missing: gone},
		{method: "PUT", headers: []string{"If-Match: " + helloETag, "If-None-Match: *"}, present: notDone, missing: notDone},
		{method: "DELETE", present: "204", missing: "204"},
		{method: "DELETE", headers: []string{"If-Match: " + helloETag}, present: "204", missing: gone, unquotedOtherwise: conflict},
		{method: "DELETE", headers: []string{"If-Match: *"}, present: "204", missing: gone},
		{method: "DELETE", headers: []string{"If-Match: " + otherETag}, present: conflict, missing: gone},
		{method: "GET", present: "200", missing: gone},
		{method: "GET", headers: []string{"If-Match: " + otherETag}, present: conflict, missing: gone},
		{method: "GET", headers: []string{"If-None-Match: " + helloETag}, present: "304", missing: gone, unquotedOtherwise: "200"},
		{method: "GET", headers: []string{"If-None-Match: " + otherETag}, present: "200", missing: gone},
		{method: "HEAD", present: "200", missing: "404"},
		{method: "HEAD", headers: []string{"If-Match: " + otherETag}, present: "412", missing: "404"},
	} {
		t.Run(row.method+" "+strings.Join(row.headers, ", "), func(t *testing.T) {
			d := newDesk(t, nil)
			assert.Equal(t, row.missing, says(d.send(row.method, "missing", "", row.headers...)), "missing")
			d.Overwrite("there", []byte("hello"))
			assert.Equal(t, row.present, says(d.send(row.method, "there", "", row.headers...)), "present")
			d.KeepVersions()
			d.Overwrite("deleted", []byte("hello"))
			d.Delete("deleted")
			assert.Equal(t, row.missing, says(d.send(row.method, "deleted", "", row.headers...)), "deleted")
			unquoted := newDesk(t, &s3.Options{UnquotedETags: true})
			unquoted.Overwrite("there", []byte("hello"))
			want := row.present
			if row.unquotedOtherwise != "" {
				want = row.unquotedOtherwise
			}
			assert.Equal(t, want, says(unquoted.send(row.method, "there", "", row.headers...)), "unquoted")
		})
	}
}

func TestAnETagIsTheHashOfTheContent(t *testing.T) {
	d := newDesk(t, nil)
	for range 2 {
		put := d.send("PUT", "a", "hello")
		require.Equal(t, helloETag, put.Header.Get("Etag"))
		d.now = d.now.Add(time.Second)
	}
	opaque := newDesk(t, &s3.Options{OpaqueETags: true})
	first := opaque.send("PUT", "a", "hello").Header.Get("Etag")
	require.NotEqual(t, first, opaque.send("PUT", "a", "hello").Header.Get("Etag"))
}

func TestDatesAreWholeSecondsOfTheStoresClock(t *testing.T) {
	d := newDesk(t, nil)
	put := d.send("PUT", "a", "hello", "Content-Type: application/json")
	require.Equal(t, "Fri, 02 Jan 2026 03:04:05 GMT", put.Header.Get("Date"))
	d.now = d.now.Add(90 * time.Second)
	get := d.send("GET", "a", "")
	require.Equal(t, "Fri, 02 Jan 2026 03:04:05 GMT", get.Header.Get("Last-Modified"))
	require.Equal(t, "Fri, 02 Jan 2026 03:05:35 GMT", get.Header.Get("Date"))
	require.Equal(t, "application/json", get.Header.Get("Content-Type"))
	require.Equal(t, helloETag, get.Header.Get("Etag"))
	require.Equal(t, "hello", get.body)
}

func TestDatesThatAreOfNoUse(t *testing.T) {
	d := newDesk(t, &s3.Options{NoDate: true, FixedModified: true, Clocks: func() time.Duration { return time.Second }})
	d.send("PUT", "a", "hello")
	d.now = d.now.Add(time.Minute)
	d.send("PUT", "a", "again")
	get := d.send("GET", "a", "")
	require.Empty(t, get.Header.Get("Date"))
	require.Equal(t, "Fri, 02 Jan 2026 03:04:06 GMT", get.Header.Get("Last-Modified"))
}

func TestAVersionedBucketKeepsWhatWas(t *testing.T) {
	d := newDesk(t, nil)
	d.KeepVersions()
	first := d.send("PUT", "a", "hello").Header.Get("X-Amz-Version-Id")
	require.NotEmpty(t, first)
	require.Equal(t, "204", says(d.send("DELETE", "a", "")))
	get := d.send("GET", "a", "")
	require.Equal(t, "true", get.Header.Get("X-Amz-Delete-Marker"))
	require.Equal(t, "404 NoSuchKey", says(get))
	d.Undelete("a")
	require.Equal(t, first, d.send("GET", "a", "").Header.Get("X-Amz-Version-Id"))
	d.Delete("a")
	require.Equal(t, "200", says(d.send("PUT", "a", "new", "If-None-Match: *")))
	look, ok := d.Look("a")
	require.True(t, ok)
	require.Equal(t, 3, look.Versions)
}

func TestStoresThatDepart(t *testing.T) {
	for name, c := range map[string]struct {
		o       s3.Options
		key     string
		headers []string
		says    string
	}{
		"IgnoreIfNoneMatch": {s3.Options{IgnoreIfNoneMatch: true}, "there", []string{"If-None-Match: *"}, "200"},
		"IgnoreIfMatch":     {s3.Options{IgnoreIfMatch: true}, "there", []string{"If-Match: " + otherETag}, "200"},
		"CreateIfMatch":     {s3.Options{CreateIfMatch: true}, "missing", []string{"If-Match: " + otherETag}, "200"},
		"ConflictIfMissing": {s3.Options{ConflictIfMissing: true}, "missing", []string{"If-Match: " + otherETag}, conflict},
		"Unconditional":     {s3.Options{Unconditional: true}, "missing", []string{"If-None-Match: *"}, notDone},
		"MarkersExist":      {s3.Options{MarkersExist: true}, "deleted", []string{"If-None-Match: *"}, conflict},
		"NoPut":             {s3.Options{Without: []string{"s3:PutObject"}}, "missing", nil, "403 AccessDenied"},
		"NoGet":             {s3.Options{Without: []string{"s3:GetObject"}}, "there", []string{"If-Match: " + helloETag}, "403 AccessDenied"},
		"Region":            {s3.Options{Region: "us-west-2"}, "there", nil, "301 PermanentRedirect"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, &c.o)
			d.KeepVersions()
			d.Overwrite("there", []byte("hello"))
			d.Overwrite("deleted", []byte("hello"))
			d.Delete("deleted")
			require.Equal(t, c.says, says(d.send("PUT", c.key, "x", c.headers...)))
		})
	}
	d := newDesk(t, &s3.Options{IgnoreDeleteIfMatch: true})
	d.Overwrite("there", []byte("hello"))
	require.Equal(t, "204", says(d.send("DELETE", "there", "", "If-Match: "+otherETag)))
	require.Equal(t, "403 AccessDenied", says(newDesk(t, &s3.Options{Without: []string{"s3:ListBucket"}}).send("GET", "missing", "")))
	require.Equal(t, "W/"+helloETag, newDesk(t, &s3.Options{WeakETags: true}).send("PUT", "a", "hello").Header.Get("Etag"))
	require.Empty(t, newDesk(t, &s3.Options{NoETagOnPut: true}).send("PUT", "a", "hello").Header.Get("Etag"))
}

func TestARacyStoreJudgesBeforeItActs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, &s3.Options{Racy: func() time.Duration { return time.Second }})
		answers := make(chan string, 2)
		for i := range 2 {
			go func() { answers <- says(d.send("PUT", "a", fmt.Sprint(i), "If-None-Match: *")) }()
		}
		require.Equal(t, "200", <-answers)
		require.Equal(t, "200", <-answers, "both have won")
		require.Equal(t, conflict, says(d.send("PUT", "a", "x", "If-None-Match: *")))
	})
}

func TestWhatTheModelDoesNotTake(t *testing.T) {
	d := newDesk(t, nil)
	for what, headers := range map[string][]string{
		"501 NotImplemented":            {"X-Amz-Storage-Class: GLACIER"},
		"403 AccessDenied":              {"Authorization: Bearer x"},
		"403 RequestTimeTooSkewed":      {"X-Amz-Date: 20260102T032006Z"},
		"400 XAmzContentSHA256Mismatch": {"X-Amz-Content-Sha256: 00"},
		"400 BadDigest":                 {"X-Amz-Checksum-Crc32: AAAAAA=="},
	} {
		require.Equal(t, what, says(d.send("PUT", "a", "hello", headers...)))
	}
	require.Equal(t, notDone, says(d.send("PUT", "a?acl", "hello")))
	require.Equal(t, "400 KeyTooLongError", says(d.send("PUT", strings.Repeat("k", 1025), "hello")))
	require.Empty(t, d.Keys())
	d.Vanish()
	require.Equal(t, "404 NoSuchBucket", says(d.send("PUT", "a", "hello")))
	require.Equal(t, "404 NoSuchBucket", says(d.send("GET", "a", "")))
}

const trailing = "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"

func TestABodyWithATrailer(t *testing.T) {
	headers := []string{
		"Content-Encoding: aws-chunked", "X-Amz-Content-Sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER",
		"X-Amz-Trailer: x-amz-checksum-crc32", "X-Amz-Decoded-Content-Length: 5",
	}
	d := newDesk(t, nil)
	require.Equal(t, "200", says(d.send("PUT", "a", trailing, headers...)))
	require.Equal(t, "NhCmhg==", d.send("GET", "a", "", "X-Amz-Checksum-Mode: ENABLED").Header.Get("X-Amz-Checksum-Crc32"))
	look, _ := d.Look("a")
	require.Equal(t, "hello", string(look.Body))
	for body, want := range map[string]string{
		strings.Replace(trailing, "hello", "hullo", 1): "400 BadDigest",
		trailing[:10]:  "400 IncompleteBody",
		"x" + trailing: "400 IncompleteBody",
	} {
		require.Equal(t, want, says(d.send("PUT", "a", body, headers...)))
	}
	require.Equal(t, notDone, says(newDesk(t, &s3.Options{NoChecksums: true}).send("PUT", "a", trailing, headers...)))
}

func TestWhatAnOperatorDoes(t *testing.T) {
	d := newDesk(t, nil)
	d.Overwrite("a", []byte("hello"))
	saved := d.Save("a")
	d.now = d.now.Add(time.Minute)
	d.Overwrite("a", []byte("later"))
	d.Restore("a", saved)
	look, _ := d.Look("a")
	require.Equal(t, helloETag, look.ETag, "the content is back, and so is its hash")
	require.Equal(t, d.now, look.Modified)
	d.RollBack("a", saved)
	look, _ = d.Look("a")
	require.Equal(t, d.now.Add(-time.Minute), look.Modified)
	nothing := d.Save("b")
	d.Overwrite("b", nil)
	require.Equal(t, []string{"a", "b"}, d.Keys())
	d.Restore("b", nothing)
	d.Delete("a")
	require.Empty(t, d.Keys())
}

func TestFaultsLookAsS3WouldSay(t *testing.T) {
	for want, f := range map[string]fakestore.Fault{
		"503 SlowDown":                   s3.SlowDown(3 * time.Second),
		"500 InternalError":              s3.InternalError(),
		"409 ConditionalRequestConflict": s3.Conflict("ConditionalRequestConflict"),
		"403 ExpiredToken":               s3.Denied("ExpiredToken"),
	} {
		layer := fakestore.New(s3.New(time.Now, nil), &fakestore.Options{Faults: fakestore.Always(f), Kind: s3.Kind})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://bucket.s3.eu-central-1.amazonaws.com/key?x-id=GetObject", nil)
		require.NoError(t, err)
		resp, err := layer.RoundTrip(r)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, says(reply{resp.StatusCode, resp.Header, string(body)}))
		require.Equal(t, map[string]int{string(s3.GetObject): 1}, layer.Counts())
		require.Equal(t, "key", s3.Key(r))
		layer.Close()
	}
	require.Equal(t, "3", s3.SlowDown(3*time.Second).Header.Get("Retry-After"))
}
