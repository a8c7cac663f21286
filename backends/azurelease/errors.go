package azurelease

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/bloblease/bloblease/backends"
)

// What Azure says of a condition or a lease. By all of these it refuses a request
// for good; see Backend.write and Backend.refused for why even that may not be the
// last word.
var (
	errChanged = errors.New("the blob has changed")       // If-Match or If-None-Match does not hold
	errExists  = errors.New("the blob exists")            // and was to be created
	errGone    = errors.New("the blob does not exist")    //
	errLeased  = errors.New("the blob is leased")         // under another lease ID
	errNoLease = errors.New("this lease is not in force") // the own lease ID does not hold it
	errBroken  = errors.New("the lease was broken")       // the own, by an operator
)

// An azureError is an answer that is no success, in one line. It keeps nothing of
// the SDK's error, which holds the request with its secrets.
type azureError struct {
	status int
	code   string
	means  error     // one of the above or of package backends; nil if the outcome is unknown
	date   time.Time // of the answer
}

func (e *azureError) Error() string {
	if e.means == nil {
		return fmt.Sprintf("Azure answers %d %s", e.status, e.code)
	}
	return fmt.Sprintf("%v (Azure answers %d %s)", e.means, e.status, e.code)
}

func (e *azureError) Unwrap() error { return e.means }

// explain turns an error of the SDK into one of ours: one line, typed, and
// without secrets.
func (b *blobs) explain(err error) error {
	if err == nil {
		return nil
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return unanswered(err)
	}
	var header http.Header
	if response.RawResponse != nil {
		header = response.RawResponse.Header
	}
	return b.answered(response.StatusCode, response.ErrorCode, header)
}

var codeForm = regexp.MustCompile(`^[A-Za-z0-9]{1,80}$`)

// answered explains an answer by its status and its code. Neither the SDK nor
// whoever gave the answer is trusted to give a code that is fit to print.
func (b *blobs) answered(status int, code string, header http.Header) error {
	e := &azureError{status: status, code: code, means: meaning(status, bloberror.Code(code))}
	if !codeForm.MatchString(code) {
		e.code = http.StatusText(status)
	}
	switch {
	case matches(e.means, backends.ErrNoContainer):
		e.means = fmt.Errorf("%w: make it with `%s`, or set Options.Create", e.means, b.remedy)
	case matches(e.means, backends.ErrDenied):
		e.means = fmt.Errorf("%w: %s", e.means, denial(status, bloberror.Code(code)))
	}
	e.date, _ = http.ParseTime(header.Get("Date"))
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return &backends.RetryError{After: retryAfter(header), Err: e}
	}
	return e
}

// meanings are those of the codes that Azure documents. What is not here means
// what its status says. The doc of package fakestore/azure tells when Azure gives
// the codes of leases.
var meanings = map[bloberror.Code]error{
	bloberror.ConditionNotMet:       errChanged,
	bloberror.TargetConditionNotMet: errChanged,
	bloberror.BlobAlreadyExists:     errExists,
	bloberror.ResourceAlreadyExists: errExists,
	bloberror.BlobNotFound:          errGone,

	bloberror.LeaseAlreadyPresent:                errLeased,
	bloberror.LeaseIsBreakingAndCannotBeAcquired: errLeased,
	bloberror.LeaseIDMissing:                     errLeased,

	bloberror.LeaseIDMismatchWithLeaseOperation: errNoLease,
	bloberror.LeaseIDMismatchWithBlobOperation:  errNoLease,
	bloberror.LeaseNotPresentWithLeaseOperation: errNoLease,
	bloberror.LeaseNotPresentWithBlobOperation:  errNoLease,
	bloberror.LeaseAlreadyBroken:                errNoLease,
	bloberror.LeaseLost:                         errNoLease,
	bloberror.LeaseIsBrokenAndCannotBeRenewed:   errBroken,
	bloberror.LeaseIsBreakingAndCannotBeChanged: errBroken,

	bloberror.ContainerNotFound:     backends.ErrNoContainer,
	bloberror.ContainerBeingDeleted: backends.ErrNoContainer,
	bloberror.ContainerDisabled:     backends.ErrDenied,

	bloberror.InvalidBlobType:                     foreign("the blob is no block blob"),
	bloberror.ResourceTypeMismatch:                foreign("it is a directory"),
	bloberror.BlobArchived:                        unsupported("the blob was moved to the archive tier"),
	bloberror.BlobBeingRehydrated:                 unsupported("the blob was moved to the archive tier"),
	bloberror.BlobImmutableDueToPolicy:            unsupported("a policy keeps the blobs of this container from being changed"),
	bloberror.UnauthorizedBlobOverwrite:           backends.ErrDenied,
	"BlobTypeNotSupported":                        unsupported("this account has no block blobs"),
	bloberror.FeatureVersionMismatch:              backends.ErrUnsupported,
	bloberror.BlobUsesCustomerSpecifiedEncryption: backends.ErrDenied,
	"OperationNotSupportedOnSecondary":            unsupported("this is the read-only secondary of the account"),
}

// denials are why Azure may deny access. What is not here lacks rights.
var denials = map[bloberror.Code]string{
	bloberror.AuthenticationFailed:                unknownCaller,
	bloberror.InvalidAuthenticationInfo:           unknownCaller,
	bloberror.NoAuthenticationInformation:         "the client sends no credential",
	bloberror.AuthorizationFailure:                "the account's firewall may not let this address in, or the SAS has expired or is for something else",
	bloberror.AuthorizationSourceIPMismatch:       "the SAS is for another address",
	bloberror.AuthorizationProtocolMismatch:       "the SAS is for https",
	bloberror.AccountIsDisabled:                   "the account is disabled",
	bloberror.ContainerDisabled:                   "the container is disabled",
	bloberror.BlobUsesCustomerSpecifiedEncryption: "the blob is encrypted with a key of a customer's own",
	"KeyBasedAuthenticationNotPermitted":          "the account takes no keys: use a token",
}

// denial says why access may be denied.
func denial(status int, code bloberror.Code) string {
	if status == http.StatusProxyAuthRequired {
		return "a proxy wants a credential"
	}
	return cmp.Or(denials[code], missingRights)
}

const (
	missingRights = "it needs the role Storage Blob Data Contributor, or a SAS with r, c and w"
	unknownCaller = "the key is wrong, the SAS or token has expired or is not valid yet, or this machine's clock is far off"
)

func foreign(why string) error     { return fmt.Errorf("%w: %s", backends.ErrForeign, why) }
func unsupported(why string) error { return fmt.Errorf("%w: %s", backends.ErrUnsupported, why) }

// meaning is nil if it stays unknown what became of the request. A 404 without a
// code of Azure's may be a proxy's.
func meaning(status int, code bloberror.Code) error {
	server := status >= http.StatusInternalServerError && status != http.StatusNotImplemented
	if status < http.StatusMultipleChoices || server || status == http.StatusTooManyRequests {
		return nil
	}
	if m, ok := meanings[code]; ok {
		return m
	}
	switch status {
	case http.StatusPreconditionFailed:
		return errChanged
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return backends.ErrDenied
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusLengthRequired,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return backends.ErrUnsupported
	}
	return nil
}

const longestRetryAfter = 24 * 60 * 60 // seconds; more is a mistake

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 || seconds > longestRetryAfter {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// matches reports whether err is one of these.
func matches(err error, these ...error) bool {
	for _, e := range these {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// refused reports whether Azure said no because of what the blob, or its lease,
// is. Reading the blob tells more.
func refused(err error) bool {
	return matches(err, errChanged, errExists, errGone, errLeased, errNoLease, errBroken, errRefused)
}

// barred reports whether Azure said no for a reason that lies not in the blob's
// state: asking again, or reading it, would tell nothing.
func barred(err error) bool {
	return matches(err, backends.ErrDenied, backends.ErrNoContainer, backends.ErrUnsupported, backends.ErrForeign)
}

// busy reports whether Azure asks to wait. Then it has decided nothing, or does
// not tell what.
func busy(err error) bool {
	var retry *backends.RetryError
	return errors.As(err, &retry)
}

// unknown reports whether a request may have had its effect, and asking again at
// once may tell.
func unknown(err error) bool { return err != nil && !refused(err) && !barred(err) && !busy(err) }
