package s3lease

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/redact"
)

// An s3Error is an answer that is no success, in one line. It keeps nothing of the
// SDK's error, which holds the request with its secrets.
type s3Error struct {
	status int
	code   string
	means  error     // of package backends or cas; nil if the outcome is unknown
	date   time.Time // of the answer
}

func (e *s3Error) Error() string {
	if e.means == nil {
		return fmt.Sprintf("S3 answers %d %s", e.status, e.code)
	}
	return fmt.Sprintf("%v (S3 answers %d %s)", e.means, e.status, e.code)
}

func (e *s3Error) Unwrap() error { return e.means }

// An act is what a request was for.
type act string

const (
	reading act = "reading needs s3:GetObject on the objects, and s3:ListBucket on the bucket, without which S3 says this of an object that does not exist"
	writing act = "writing needs s3:PutObject and s3:GetObject on the objects, and the use of the bucket's KMS key if it has one"
)

// explain turns an error of the SDK into one of ours: one line, typed, and without
// secrets.
func (s *store) explain(a act, err error) error {
	if op := (*smithy.OperationError)(nil); errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	if unsigned(err) { // so an answer in it is not S3's
		return unsignable(err)
	}
	response := answerIn(err)
	if response == nil {
		return unanswered(err)
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return fmt.Errorf("S3 answers %d, with headers that make no sense", response.StatusCode)
	}
	return s.refused(a, response.StatusCode, codeOf(err), response.Header)
}

// answerIn is the answer in an error of the SDK; nil if there is none.
func answerIn(err error) *smithyhttp.Response {
	var e *smithyhttp.ResponseError
	if !errors.As(err, &e) || e.Response == nil || e.Response.Response == nil || e.Response.StatusCode == 0 {
		return nil // status 0 is how the SDK marks that there is no answer
	}
	return e.Response
}

// unsigned reports whether the SDK had nothing to sign the request with, and so did
// not send it.
func unsigned(err error) bool {
	return strings.HasPrefix(err.Error(), "get identity: ") || strings.HasPrefix(err.Error(), "sign request: ")
}

// unsignable explains why there are no credentials. Their source may be a service
// of its own, which is busy or out of order for a while.
func unsignable(err error) error {
	for _, prefix := range []string{"get identity: ", "get credentials: "} { // what they wrap says more
		if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), prefix) {
			err = inner
		}
	}
	const text = "nothing to sign with: %w"
	if answer := answerIn(err); answer != nil && passing(answer.StatusCode) {
		return &backends.RetryError{After: retryAfter(answer.Header), Err: fmt.Errorf(text, redact.Error(err))}
	}
	return fmt.Errorf(text, redact.Error(err, backends.ErrDenied))
}

// passing reports whether the same question may have another answer soon.
func passing(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// unanswered explains why there is no answer, without what the SDK says around it.
func unanswered(err error) error {
	if e := (*smithyhttp.ResponseError)(nil); errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	if e := (*smithy.CanceledError)(nil); errors.As(err, &e) && e.Err != nil {
		err = e.Err
	}
	return redact.Error(err)
}

// codeOf is the code of S3 in an error of the SDK.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

var codeForm = regexp.MustCompile(`^[A-Za-z0-9.]{1,80}$`)

// refused explains an answer by its status and its code. Neither the SDK nor whoever
// gave the answer is trusted to give a code that is fit to print.
func (s *store) refused(a act, status int, code string, h http.Header) error {
	e := &s3Error{status: status, code: code, date: date(h)}
	if !codeForm.MatchString(code) {
		e.code = http.StatusText(status)
	}
	if busy(status, code) {
		return &backends.RetryError{After: retryAfter(h), Err: e}
	}
	e.means = meaning(status, code)
	switch region := h.Get("X-Amz-Bucket-Region"); {
	case moved(status, code) && regionForm.MatchString(region):
		e.means = fmt.Errorf("%w: the bucket is in region %s, and the client is for another", backends.ErrNoContainer, region)
	case e.means == backends.ErrNoContainer && s.remedy != "": //nolint:errorlint // not where it is elsewhere, or impossible
		e.means = fmt.Errorf("%w: make it with `%s`", e.means, s.remedy)
	case e.means == backends.ErrDenied: //nolint:errorlint // only where the code does not say more
		e.means = fmt.Errorf("%w: %s", e.means, string(a))
	}
	return e
}

var regionForm = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)

// moved reports whether the bucket is somewhere else.
func moved(status int, code string) bool {
	return status == http.StatusMovedPermanently || status == http.StatusTemporaryRedirect || code == "AuthorizationHeaderMalformed"
}

// busy reports whether S3 has decided nothing, and is to be asked again.
func busy(status int, code string) bool {
	switch code {
	case "ConditionalRequestConflict", "OperationAborted": // two requests met
		return true
	case "SlowDown", "RequestTimeout", "RequestLimitExceeded", "BandwidthLimitExceeded":
		return true
	}
	return strings.Contains(code, "Throttl") || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

const codeSkewed = "RequestTimeTooSkewed"

// meanings are those of the codes that S3 documents. What is not here means what
// its status says.
var meanings = map[string]error{
	"PreconditionFailed": cas.ErrConflict,
	"NoSuchKey":          cas.ErrVanished,

	// Stores that keep objects as files say these of a name that is a directory of another's.
	"ObjectParentIsFile":        unsupported("this store cannot keep it beside an object whose name is the part of this one's before a slash"),
	"ExistingObjectIsDirectory": unsupported("this store cannot keep it beside objects whose names are this one's and a slash"),

	"NoSuchBucket":      backends.ErrNoContainer,
	"NoSuchAccessPoint": backends.ErrNoContainer,
	"InvalidBucketName": fmt.Errorf("%w: no bucket can have this name", backends.ErrNoContainer),

	"InvalidAccessKeyId":           denied("the store does not know the access key"),
	"XAdminUserNotFound":           denied("the store does not know the access key"), // of versitygw, with 404
	"SignatureDoesNotMatch":        denied("the secret key is not the access key's, or something on the way changes requests"),
	"ExpiredToken":                 denied("the credentials have expired"),
	"TokenRefreshRequired":         denied("the credentials have expired"),
	"InvalidToken":                 denied("the session token is not valid"),
	"AuthorizationHeaderMalformed": denied("the client signs for another region, or for another service"),
	"AccountProblem":               denied("there is a problem with the account"),
	codeSkewed:                     denied("the clock of this machine is too far off"),
	"KMS.DisabledException":        denied("the bucket's KMS key is disabled"),
	"KMS.NotFoundException":        denied("the bucket's KMS key does not exist"),

	"InvalidObjectState": unsupported("the object was moved to an archive: exclude leases from lifecycle rules"),
	"NotImplemented":     unsupported("it does not have conditional writes"),
	"PermanentRedirect":  fmt.Errorf("%w: the bucket is at another endpoint", backends.ErrNoContainer),
	"TemporaryRedirect":  fmt.Errorf("%w: the bucket is at another endpoint", backends.ErrNoContainer),
}

func denied(why string) error      { return fmt.Errorf("%w: %s", backends.ErrDenied, why) }
func unsupported(why string) error { return fmt.Errorf("%w: %s", backends.ErrUnsupported, why) }

// meaning is nil if it stays unknown what became of the request. A 404 without a
// code of S3's may be a proxy's.
func meaning(status int, code string) error {
	if status >= http.StatusInternalServerError && status != http.StatusNotImplemented {
		return nil
	}
	if m, ok := meanings[code]; ok {
		return m
	}
	switch status {
	case http.StatusPreconditionFailed:
		return cas.ErrConflict
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
