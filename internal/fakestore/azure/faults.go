package azure

import (
	"net/http"
	"time"

	"github.com/bloblease/bloblease/internal/fakestore"
)

// ServerBusy is how Azure throttles. The request has no effect.
func ServerBusy(retryAfter time.Duration) fakestore.Fault {
	return coded(fakestore.Refused(http.StatusServiceUnavailable, retryAfter), "ServerBusy")
}

// OperationTimedOut is how Azure says that it does not know whether it has
// acted; here it has.
func OperationTimedOut() fakestore.Fault {
	return coded(fakestore.RefusedAfter(http.StatusInternalServerError, -1), "OperationTimedOut")
}

// Denied refuses a request for lack of rights, for example with
// AuthenticationFailed when a token has expired.
func Denied(code string) fakestore.Fault {
	return coded(fakestore.Refused(http.StatusForbidden, -1), code)
}

func coded(f fakestore.Fault, code string) fakestore.Fault {
	if f.Header == nil {
		f.Header = http.Header{}
	}
	f.Header.Set("X-Ms-Error-Code", code)
	f.Body = string((&Error{f.Status, code, "injected"}).body("", time.Time{}))
	return f
}
