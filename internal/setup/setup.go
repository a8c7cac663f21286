// Package setup tells a wrong set-up from the trouble that a store has now and then.
package setup

import (
	"errors"
	"net"

	"github.com/bloblease/bloblease/backends"
)

// Wrong reports whether err tells of a wrong set-up: no rights, no container, a store
// that cannot keep leases, an object that is no record, a host name that does not
// exist. Until a store has answered for the first time, that must not look like
// waiting.
func Wrong(err error) bool {
	var dns *net.DNSError
	return errors.Is(err, backends.ErrDenied) || errors.Is(err, backends.ErrNoContainer) ||
		errors.Is(err, backends.ErrUnsupported) || errors.Is(err, backends.ErrForeign) ||
		errors.As(err, &dns) && dns.IsNotFound
}
