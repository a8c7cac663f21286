package azurelease

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/bloblease/bloblease/backends"
)

// What Azure says of a condition or a lease. All of these mean that the request
// had no effect; but see Backend.write for why that is not the last word.
var (
	errChanged = errors.New("the blob has changed")       // If-Match or If-None-Match does not hold
	errGone    = errors.New("the blob does not exist")    //
	errLeased  = errors.New("the blob is leased")         // by another lease ID
	errNoLease = errors.New("this lease is not in force") // the own lease ID does not hold it
)

// An azureError is an answer that is no success, in one line. It keeps nothing of
// the SDK's error, which holds the request with its secrets.
type azureError struct {
	status int
	code   string
	means  error // one of the above or of package backends; nil if the outcome is unknown
	absent bool  // the blob does not exist, its container does
	date   time.Time
}

func (e *azureError) Error() string {
	said := fmt.Sprintf("Azure answers %d %s", e.status, e.code)
	if e.means == nil {
		return said
	}
	return fmt.Sprintf("%v (%s)", e.means, said)
}

func (e *azureError) Unwrap() error { return e.means }

// explain turns an error of the SDK into one of ours: one line, typed, and
// without secrets.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var response *azcore.ResponseError
	if errors.As(err, &response) {
		return answered(response)
	}
	return unanswered(err)
}

// answered explains an answer by its status first and its code second.
func answered(r *azcore.ResponseError) error {
	e := &azureError{status: r.StatusCode, code: r.ErrorCode}
	var header http.Header
	if r.RawResponse != nil {
		header = r.RawResponse.Header
	}
	e.date, _ = http.ParseTime(header.Get("Date"))
	if e.code == "" {
		e.code = http.StatusText(e.status)
	}
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.means = backends.ErrDenied
	case http.StatusNotFound:
		e.means = errGone
		if bloberror.Code(e.code) == bloberror.ContainerNotFound {
			e.means = fmt.Errorf("%w: make it with `az storage container create --name CONTAINER --account-name ACCOUNT`, or set Options.Create", backends.ErrNoContainer)
		}
		e.absent = e.means == errGone
	case http.StatusConflict, http.StatusPreconditionFailed:
		e.means = refused(bloberror.Code(e.code), e.status)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &backends.RetryError{After: retryAfter(header), Err: e}
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		e.means = backends.ErrUnsupported
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		e.means = backends.ErrUnsupported
	}
	return e
}

// refused tells apart what 409 and 412 stand for. Codes that are not known leave
// the outcome unknown.
func refused(code bloberror.Code, status int) error {
	switch code {
	case bloberror.LeaseAlreadyPresent, bloberror.LeaseIsBreakingAndCannotBeAcquired, bloberror.LeaseIDMissing:
		return errLeased
	case bloberror.LeaseIDMismatchWithLeaseOperation, bloberror.LeaseIDMismatchWithBlobOperation,
		bloberror.LeaseIsBrokenAndCannotBeRenewed, bloberror.LeaseLost, bloberror.LeaseAlreadyBroken,
		bloberror.LeaseNotPresentWithLeaseOperation, bloberror.LeaseNotPresentWithBlobOperation,
		bloberror.LeaseIsBreakingAndCannotBeChanged:
		return errNoLease
	case bloberror.BlobAlreadyExists:
		return errChanged
	case bloberror.InvalidBlobType:
		return fmt.Errorf("%w: the blob is no block blob", backends.ErrForeign)
	case bloberror.BlobImmutableDueToPolicy:
		return fmt.Errorf("%w: the container keeps its blobs from being changed", backends.ErrUnsupported)
	case bloberror.ContainerBeingDeleted, bloberror.ContainerDisabled:
		return backends.ErrNoContainer
	}
	if status == http.StatusPreconditionFailed { // ConditionNotMet, TargetConditionNotMet, …
		return errChanged
	}
	return nil
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > 24*60*60 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// A plainError is an error without an answer, cleaned of URLs and secrets. It
// keeps of its causes only those that a caller may ask for.
type plainError struct {
	text   string
	causes []error
}

func (e *plainError) Error() string   { return e.text }
func (e *plainError) Unwrap() []error { return e.causes }

func unanswered(err error) error {
	for u := (*url.Error)(nil); errors.As(err, &u); { // it prints the URL, with a SAS
		err = u.Err
	}
	e := &plainError{text: clean(err.Error())}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			e.causes = append(e.causes, cause)
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		e.causes = append(e.causes, dns)
	}
	return e
}

var (
	urls    = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://\S+`)
	secrets = regexp.MustCompile(`(?i)\b(sig|sv|se|skoid|authorization|accountkey|sharedaccesssignature|bearer|sharedkey)\s*[=: ]\s*\S+`)
)

const longestText = 300

// clean makes one short line of text, without URLs and what looks like a secret.
func clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = urls.ReplaceAllString(text, "URL")
	text = secrets.ReplaceAllString(text, "$1=…")
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}
