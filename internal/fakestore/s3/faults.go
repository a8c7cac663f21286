package s3

import (
	"net/http"
	"time"

	"github.com/bloblease/bloblease/internal/fakestore"
)

// SlowDown is how S3 throttles. The request has no effect.
func SlowDown(retryAfter time.Duration) fakestore.Fault {
	return Coded(fakestore.Refused(http.StatusServiceUnavailable, retryAfter), "SlowDown")
}

// InternalError is how S3 says that it does not know whether it has acted; here it
// has.
func InternalError() fakestore.Fault {
	return Coded(fakestore.RefusedAfter(http.StatusInternalServerError, -1), "InternalError")
}

// Conflict is how S3 answers a conditional write that met another. Nothing was
// written. The code is ConditionalRequestConflict, or on some stores
// OperationAborted.
func Conflict(code string) fakestore.Fault {
	return Coded(fakestore.Refused(http.StatusConflict, -1), code)
}

// Denied refuses a request for lack of rights, or of valid credentials.
func Denied(code string) fakestore.Fault {
	return Coded(fakestore.Refused(http.StatusForbidden, -1), code)
}

// Coded gives an answer of a fault the code and the body that S3 would give it.
func Coded(f fakestore.Fault, code string) fakestore.Fault {
	if f.Header == nil {
		f.Header = http.Header{}
	}
	f.Header.Set("Content-Type", "application/xml")
	f.Body = string((&Error{f.Status, code, "injected"}).body(target{}, "injected"))
	return f
}
