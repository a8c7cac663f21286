package azure

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// An Error is a refusal: status, code, and a text for people.
type Error struct {
	Status  int
	Code    string
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

var (
	errBlobExists        = &Error{http.StatusConflict, "BlobAlreadyExists", "The specified blob already exists."}
	errBlobNotFound      = &Error{http.StatusNotFound, "BlobNotFound", "The specified blob does not exist."}
	errBlobType          = &Error{http.StatusBadRequest, "BlobTypeNotSupported", "Block blobs are not supported."}
	errBodyTooLarge      = &Error{http.StatusRequestEntityTooLarge, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit."}
	errCondition         = &Error{http.StatusPreconditionFailed, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met."}
	errConditions        = &Error{http.StatusBadRequest, "MultipleConditionHeadersNotSupported", "Multiple condition headers are not supported."}
	errContainerExists   = &Error{http.StatusConflict, "ContainerAlreadyExists", "The specified container already exists."}
	errContainerNotFound = &Error{http.StatusNotFound, "ContainerNotFound", "The specified container does not exist."}
	errImmutable         = &Error{http.StatusConflict, "BlobImmutableDueToPolicy", "This operation is not permitted as the blob is immutable due to a policy."}
	errInternal          = &Error{http.StatusInternalServerError, "InternalError", "The server encountered an internal error. Please retry the request."}
	errMetadata          = &Error{http.StatusBadRequest, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted."}
	errMetadataTooLarge  = &Error{http.StatusBadRequest, "MetadataTooLarge", "The metadata specified exceeds the maximum permissible limit (8KB)."}
	errName              = &Error{http.StatusBadRequest, "InvalidResourceName", "The specified resource name contains invalid characters."}
	errNotModified       = &Error{http.StatusNotModified, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met."}
	errRange             = &Error{http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The range specified is invalid for the current size of the resource."}
	errUnsatisfiable     = &Error{http.StatusBadRequest, "UnsatisfiableCondition", "The request includes an unsatisfiable condition for this operation."}

	errAlreadyLeased     = &Error{http.StatusConflict, "LeaseAlreadyPresent", "There is already a lease present."}
	errBreakingAcquire   = &Error{http.StatusConflict, "LeaseIsBreakingAndCannotBeAcquired", "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken."}
	errBreakingChange    = &Error{http.StatusConflict, "LeaseIsBreakingAndCannotBeChanged", "The lease ID matched, but the lease is currently in breaking state and cannot be changed."}
	errBrokenRenew       = &Error{http.StatusConflict, "LeaseIsBrokenAndCannotBeRenewed", "The lease ID matched, but the lease has been broken explicitly and cannot be renewed."}
	errLeaseLost         = &Error{http.StatusPreconditionFailed, "LeaseLost", "A lease ID was specified, but the lease for the blob has expired."}
	errLeaseMissing      = &Error{http.StatusPreconditionFailed, "LeaseIdMissing", "There is currently a lease on the blob and no lease ID was specified in the request."}
	errNoLease           = &Error{http.StatusConflict, "LeaseNotPresentWithLeaseOperation", "There is currently no lease on the blob."}
	errNoLeaseOnBlob     = &Error{http.StatusPreconditionFailed, "LeaseNotPresentWithBlobOperation", "There is currently no lease on the blob."}
	errWrongLease        = &Error{http.StatusConflict, "LeaseIdMismatchWithLeaseOperation", "The lease ID specified did not match the lease ID for the blob."}
	errWrongLeaseOnBlob  = &Error{http.StatusPreconditionFailed, "LeaseIdMismatchWithBlobOperation", "The lease ID specified did not match the lease ID for the blob."}
	errWrongLeaseOnBlob9 = &Error{http.StatusConflict, "LeaseIdMismatchWithBlobOperation", "The lease ID specified did not match the lease ID for the blob."}
	errTargetCondition   = &Error{http.StatusPreconditionFailed, "TargetConditionNotMet", "The target condition specified using HTTP conditional header(s) is not met."}
)

func errHeaderValue(name string) *Error {
	return &Error{http.StatusBadRequest, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format: " + name}
}

func errHeaderMissing(name string) *Error {
	return &Error{http.StatusBadRequest, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified: " + name}
}

func errUnknown(what string) *Error {
	return &Error{http.StatusNotImplemented, "NotImplemented", "The model does not know " + what}
}

func errDenied(code string) *Error {
	return &Error{http.StatusForbidden, code, "This request is not authorized to perform this operation."}
}

// write answers a request with e. HEAD and 304 have no body, only the header.
func (e *Error) write(w http.ResponseWriter, method string, now time.Time) {
	w.Header().Set("X-Ms-Error-Code", e.Code)
	if method == http.MethodHead || e.Status == http.StatusNotModified {
		w.WriteHeader(e.Status)
		return
	}
	body := e.body(w.Header().Get("X-Ms-Request-Id"), now)
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = w.Write(body)
}

func (e *Error) body(requestID string, now time.Time) []byte {
	text := fmt.Sprintf("%s\nRequestId:%s\nTime:%s", e.Message, requestID, now.UTC().Format("2006-01-02T15:04:05.0000000Z"))
	return marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: e.Code, Message: text})
}

// marshal writes XML as the service does, byte order mark included.
func marshal(v any) []byte {
	body, err := xml.Marshal(v)
	if err != nil {
		panic(err) // only our own types come here
	}
	return append([]byte("\ufeff"+xml.Header[:len(xml.Header)-1]), body...)
}
