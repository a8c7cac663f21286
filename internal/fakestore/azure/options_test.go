package azure_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/fakestore/azure"
)

const (
	idA = "aaaaaaaa-0000-4000-8000-000000000000"
	idB = "bbbbbbbb-0000-4000-8000-000000000000"
)

// A bench is a model with a clock that stands still until it is moved, asked
// in plain HTTP: here the SDK would hide what is looked at.
type bench struct {
	t       *testing.T
	account *azure.Account
	locks   *azure.Container
	now     time.Time
}

func newBench(t *testing.T, o *azure.Options) *bench {
	b := &bench{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.account = azure.New(func() time.Time { return b.now }, o)
	b.locks = b.account.Container("locks")
	b.locks.Create()
	return b
}

func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

// ask sends a request about the blob "x", or about another path, with headers
// given as names and values.
func (b *bench) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, "https://model.blob.core.windows.net/locks"+path, strings.NewReader(body))
	r.Header.Set("x-ms-version", "2026-12-06")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.account.ServeHTTP(w, r)
	return w
}

func (b *bench) put(body string, headers ...string) string {
	return result(b.ask("PUT", "/x", body, append(headers, "x-ms-blob-type", "BlockBlob")...))
}

func (b *bench) lease(action string, headers ...string) string {
	return result(b.ask("PUT", "/x?comp=lease", "", append(headers, "x-ms-lease-action", action)...))
}

func (b *bench) acquire(id string) string {
	return b.lease("acquire", "x-ms-lease-duration", "15", "x-ms-proposed-lease-id", id)
}

// held makes the blob, and leases it to A.
func (b *bench) held() *bench {
	b.t.Helper()
	require.Equal(b.t, "201", b.put("first"))
	require.Equal(b.t, "201", b.acquire(idA))
	return b
}

// expired is held, until the lease has run out.
func (b *bench) expired() *bench {
	b.t.Helper()
	b.held().pass(15 * time.Second)
	return b
}

// result is the status, and the code of a refusal.
func result(w *httptest.ResponseRecorder) string {
	return strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Header().Get("X-Ms-Error-Code")))
}

func TestAWriteUnderAnExpiredLease(t *testing.T) {
	for rule, want := range map[azure.ExpiredWrite]string{
		azure.RefusedAsLost:       "412 LeaseLost",
		azure.RefusedAsNotPresent: "412 LeaseNotPresentWithBlobOperation",
		azure.Accepted:            "201",
	} {
		t.Run(want, func(t *testing.T) {
			b := newBench(t, &azure.Options{ExpiredWrite: rule}).expired()
			assert.Equal(t, want, b.put("second", "x-ms-lease-id", idA))
			assert.Equal(t, "412 LeaseNotPresentWithBlobOperation", b.put("second", "x-ms-lease-id", idB))
		})
	}
}

func TestAnAcceptedWriteMakesTheBlobForgetTheLease(t *testing.T) {
	b := newBench(t, &azure.Options{ExpiredWrite: azure.Accepted}).expired()
	require.Equal(t, "201", b.put("second", "x-ms-lease-id", idA))
	assert.Equal(t, "409 LeaseIdMismatchWithLeaseOperation", b.lease("renew", "x-ms-lease-id", idA))
	assert.Equal(t, "412 LeaseNotPresentWithBlobOperation", b.put("third", "x-ms-lease-id", idA))
}

func TestNoWriteIsAcceptedAfterASuccessor(t *testing.T) {
	b := newBench(t, &azure.Options{ExpiredWrite: azure.Accepted}).expired()
	require.Equal(t, "201", b.acquire(idB))
	assert.Equal(t, "412 LeaseIdMismatchWithBlobOperation", b.put("second", "x-ms-lease-id", idA))
}

func TestForAGraceOnlyTheOwnIDAcquires(t *testing.T) {
	b := newBench(t, &azure.Options{ExpiryGrace: time.Minute}).expired()
	b.pass(time.Minute - time.Nanosecond)
	assert.Equal(t, "409 LeaseAlreadyPresent", b.acquire(idB))
	look, _ := b.locks.Look("x")
	assert.Equal(t, azure.Expired, look.Lease, "which shows")
	b.pass(time.Nanosecond)
	assert.Equal(t, "201", b.acquire(idB))

	b = newBench(t, &azure.Options{ExpiryGrace: time.Minute}).expired()
	assert.Equal(t, "200", b.lease("renew", "x-ms-lease-id", idA))
	b.pass(15 * time.Second)
	assert.Equal(t, "201", b.acquire(idA))
}

func TestRenewingAnExpiredLease(t *testing.T) {
	const refused = "409 LeaseIdMismatchWithLeaseOperation"
	for rule, want := range map[azure.RenewExpired][2]string{
		azure.IfUntouched: {"200", refused},
		azure.Never:       {refused, refused},
		azure.WithAnyID:   {"200", "200"},
	} {
		for i, id := range []string{idA, idB} {
			b := newBench(t, &azure.Options{RenewExpired: rule}).expired()
			assert.Equal(t, want[i], b.lease("renew", "x-ms-lease-id", id))
		}
		b := newBench(t, &azure.Options{RenewExpired: rule}).expired()
		require.NoError(t, b.locks.SetMetadata("x", map[string]string{"Note": "seen"}))
		assert.Equal(t, refused, b.lease("renew", "x-ms-lease-id", idA), "after a foreign write")
	}
}

func TestAWrongLeaseIDMayBeAConflict(t *testing.T) {
	b := newBench(t, &azure.Options{WrongLeaseConflict: true}).held()
	assert.Equal(t, "409 LeaseIdMismatchWithBlobOperation", b.put("second", "x-ms-lease-id", idB))
}

func TestTheConditionMayBeCalledTarget(t *testing.T) {
	b := newBench(t, &azure.Options{TargetConditionNotMet: true}).held()
	assert.Equal(t, "412 TargetConditionNotMet", b.put("second", "If-Match", `"0x0"`))
	assert.Equal(t, "412 TargetConditionNotMet", b.lease("renew", "x-ms-lease-id", idA, "If-Match", `"0x0"`))
}

func TestRequestsCanBeDenied(t *testing.T) {
	writes := func(r *http.Request) string {
		if azure.Is(azure.PutBlob, azure.AcquireLease)(r) {
			return "AuthorizationPermissionMismatch"
		}
		return ""
	}
	b := newBench(t, &azure.Options{Deny: writes})
	assert.Equal(t, "403 AuthorizationPermissionMismatch", b.put("first"))
	assert.Equal(t, "404 BlobNotFound", result(b.ask("GET", "/x", "")))
	assert.Empty(t, b.locks.Names())
}

func TestBodiesAreBounded(t *testing.T) {
	b := newBench(t, &azure.Options{MaxBody: 4})
	assert.Equal(t, "201", b.put("four"))
	assert.Equal(t, "413 RequestBodyTooLarge", b.put("fives"))
}

func TestAnAccountForPageBlobsTakesNoBlockBlobs(t *testing.T) {
	b := newBench(t, &azure.Options{PageBlobsOnly: true})
	assert.Equal(t, "400 BlobTypeNotSupported", b.put("first"))
	w := b.ask("GET", "?restype=account&comp=properties", "")
	assert.Equal(t, "Premium_LRS", w.Header().Get("X-Ms-Sku-Name"))
}

func TestAnAccountTellsOfItsNamespace(t *testing.T) {
	for _, hierarchical := range []bool{true, false} {
		b := newBench(t, &azure.Options{Hierarchical: hierarchical})
		w := b.ask("GET", "?restype=account&comp=properties", "")
		assert.Equal(t, hierarchical, w.Header().Get("X-Ms-Is-Hns-Enabled") == "true")
	}
}

func TestAnImmutableBlobIsWrittenOnce(t *testing.T) {
	b := newBench(t, &azure.Options{Immutable: true}).held()
	assert.Equal(t, "409 BlobImmutableDueToPolicy", b.put("second", "x-ms-lease-id", idA))
	assert.Equal(t, "409 BlobImmutableDueToPolicy", result(b.ask("DELETE", "/x", "", "x-ms-lease-id", idA)))
	assert.Equal(t, "200", b.lease("renew", "x-ms-lease-id", idA))
}

func TestWhatTheModelDoesNotKnowItRefuses(t *testing.T) {
	b := newBench(t, nil).held()
	for path, headers := range map[string][]string{
		"/x":                     {"x-ms-if-tags", "a='b'"},
		"/x?comp=tags":           nil,
		"/x?comp=snapshot":       nil,
		"/x?snapshot=2026":       nil,
		"/y":                     {"x-ms-blob-type", "AppendBlob"},
		"/x?comp=block&blockid=": nil,
	} {
		assert.Equal(t, "501 NotImplemented", result(b.ask("PUT", path, "", headers...)), path)
	}
	assert.Equal(t, "501 NotImplemented", result(b.ask("GET", "?restype=container&comp=list&include=metadata", "")))
}

func TestHeadersAreChecked(t *testing.T) {
	b := newBench(t, nil).held()
	for want, w := range map[string]*httptest.ResponseRecorder{
		"400 MissingRequiredHeader":                b.ask("GET", "/x", "", "x-ms-version", ""),
		"400 InvalidHeaderValue":                   b.ask("GET", "/x", "", "x-ms-lease-id", "me"),
		"416 InvalidRange":                         b.ask("GET", "/x", "", "Range", "bytes=5-"),
		"400 UnsatisfiableCondition":               b.ask("GET", "/x", "", "If-None-Match", "*"),
		"400 InvalidMetadata":                      b.ask("PUT", "/x?comp=metadata", "", "x-ms-meta-a-b", "1", "x-ms-lease-id", idA),
		"400 MetadataTooLarge":                     b.ask("PUT", "/x?comp=metadata", "", "x-ms-meta-a", strings.Repeat("x", 9000), "x-ms-lease-id", idA),
		"400 MultipleConditionHeadersNotSupported": b.ask("PUT", "/x?comp=metadata", "", "If-Match", `"a","b"`),
	} {
		assert.Equal(t, want, result(w))
	}
	assert.Equal(t, "400 MissingRequiredHeader", b.lease("acquire"), "without duration")
	assert.Equal(t, "400 MissingRequiredHeader", b.lease("renew"))
	assert.Equal(t, "400 MissingRequiredHeader", b.lease("change", "x-ms-lease-id", idA))
}

func TestAPartOfABody(t *testing.T) {
	b := newBench(t, nil).held()
	for value, want := range map[string]string{"bytes=1-2": "ir", "bytes=3-": "st", "bytes=0-99": "first"} {
		w := b.ask("GET", "/x", "", "x-ms-range", value)
		assert.Equal(t, http.StatusPartialContent, w.Code)
		assert.Equal(t, want, w.Body.String())
	}
}

func TestAnErrorIsToldTwice(t *testing.T) {
	b := newBench(t, nil)
	w := b.ask("GET", "/x", "", "x-ms-client-request-id", "mine")
	assert.Equal(t, "BlobNotFound", w.Header().Get("X-Ms-Error-Code"))
	assert.Equal(t, "mine", w.Header().Get("X-Ms-Client-Request-Id"))
	assert.Equal(t, "Thu, 01 Jan 2026 00:00:00 GMT", w.Header().Get("Date"))
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	assert.Contains(t, string(body), "<Error><Code>BlobNotFound</Code><Message>The specified blob does not exist.")
	assert.Contains(t, string(body), "RequestId:"+w.Header().Get("X-Ms-Request-Id"))
	assert.Empty(t, b.ask("HEAD", "/x", "").Body.String())
}

func TestAServerInventsALeaseID(t *testing.T) {
	b := newBench(t, nil)
	b.put("first")
	w := b.ask("PUT", "/x?comp=lease", "", "x-ms-lease-action", "acquire", "x-ms-lease-duration", "15")
	id := w.Header().Get("X-Ms-Lease-Id")
	assert.Len(t, id, 36)
	assert.Equal(t, "200", b.lease("renew", "x-ms-lease-id", id))
	assert.Equal(t, "409 LeaseAlreadyPresent", b.lease("acquire", "x-ms-lease-duration", "15"), "none is nobody's")
}

func TestGUIDsHaveSeveralForms(t *testing.T) {
	b := newBench(t, nil).held()
	bare := strings.ReplaceAll(idA, "-", "")
	for _, id := range []string{idA, bare, "{" + idA + "}", "(" + idA + ")", strings.ToUpper(idA)} {
		assert.Equal(t, "200", b.lease("renew", "x-ms-lease-id", id), id)
	}
	for _, id := range []string{"me", "{" + idA + ")", "{" + idA, bare[1:], strings.ReplaceAll(idA, "0", "g"), idA[:8] + "x" + idA[9:]} {
		assert.Equal(t, "400 InvalidHeaderValue", b.lease("renew", "x-ms-lease-id", id), id)
	}
}

func TestETagsAreUniqueAndInNoOrder(t *testing.T) {
	b := newBench(t, nil)
	seen, rising, last := map[string]bool{}, 0, ""
	for range 1000 {
		etag := b.ask("PUT", "/x", "same", "x-ms-blob-type", "BlockBlob").Header().Get("ETag")
		require.Regexp(t, `^"0x8D[0-9A-F]{13}"$`, etag)
		require.False(t, seen[etag])
		if etag > last {
			rising++
		}
		seen[etag], last = true, etag
	}
	assert.InDelta(t, 500, rising, 400)
}

func TestAnEmulatorsURLNamesTheAccountFirst(t *testing.T) {
	b := newBench(t, nil).held()
	r := httptest.NewRequest("GET", "http://127.0.0.1:10000/devstoreaccount1/locks/x", nil)
	r.Header.Set("x-ms-version", "2026-12-06")
	w := httptest.NewRecorder()
	b.account.ServeHTTP(w, r)
	assert.Equal(t, "first", w.Body.String())
}

func TestKindsOfRequests(t *testing.T) {
	for want, r := range map[string]*http.Request{
		"put blob":    httptest.NewRequest("PUT", "https://a.example/locks/x", nil),
		"head blob":   httptest.NewRequest("HEAD", "https://a.example/locks/x?sig=y", nil),
		"list blobs":  httptest.NewRequest("GET", "https://a.example/locks?restype=container&comp=list", nil),
		"unknown PUT": httptest.NewRequest("PUT", "https://a.example/locks/x?comp=lease", nil),
	} {
		assert.Equal(t, want, azure.Kind(r))
	}
}
