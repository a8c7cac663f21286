package s3

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
)

// An Error is a refusal: status, code, and a text for people.
type Error struct {
	Status  int
	Code    string
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

var (
	errAccessDenied   = &Error{http.StatusForbidden, "AccessDenied", "Access Denied"}
	errBucketExists   = &Error{http.StatusConflict, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it."}
	errDigest         = &Error{http.StatusBadRequest, "BadDigest", "The CRC32 you specified did not match the calculated checksum."}
	errElsewhere      = &Error{http.StatusMovedPermanently, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint. Please send all future requests to this endpoint."}
	errEntityTooLarge = &Error{http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size"}
	errIncomplete     = &Error{http.StatusBadRequest, "IncompleteBody", "The request body terminated unexpectedly"}
	errInternal       = &Error{http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again."}
	errKeyTooLong     = &Error{http.StatusBadRequest, "KeyTooLongError", "Your key is too long"}
	errNoSuchBucket   = &Error{http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist"}
	errNoSuchKey      = &Error{http.StatusNotFound, "NoSuchKey", "The specified key does not exist."}
	errNotImplemented = &Error{http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented"}
	errNotModified    = &Error{http.StatusNotModified, "NotModified", ""}
	errPrecondition   = &Error{http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold"}
	errSha256         = &Error{http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed."}
	errSkewed         = &Error{http.StatusForbidden, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."}
)

func errUnknown(what string) *Error {
	return &Error{http.StatusNotImplemented, "NotImplemented", "The model does not know " + what}
}

// write answers a request with e. HEAD and 304 have no body.
func (e *Error) write(w http.ResponseWriter, method string, t target) {
	if method == http.MethodHead || e.Status == http.StatusNotModified {
		w.WriteHeader(e.Status)
		return
	}
	body := e.body(t, w.Header().Get("X-Amz-Request-Id"))
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = w.Write(body)
}

func (e *Error) body(t target, requestID string) []byte {
	body, err := xml.Marshal(struct {
		XMLName    xml.Name `xml:"Error"`
		Code       string
		Message    string
		BucketName string `xml:",omitempty"`
		Key        string `xml:",omitempty"`
		RequestID  string `xml:"RequestId"`
		HostID     string `xml:"HostId"`
	}{Code: e.Code, Message: e.Message, BucketName: t.bucket, Key: t.key, RequestID: requestID, HostID: "model"})
	if err != nil {
		panic(err) // only our own types come here
	}
	return append([]byte(xml.Header), body...)
}
