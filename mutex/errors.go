package mutex

import (
	"errors"

	"github.com/bloblease/bloblease/backends"
)

// What a caller decides on, with errors.Is. ErrHeld and ErrLost are the values
// of package backends, as are ErrDenied and the others that may come from a
// store.
var (
	// ErrHeld: somebody else holds the lease. The error is a
	// *backends.HeldError, which says who.
	ErrHeld = backends.ErrHeld
	// ErrLost: the lease is over, though it was not released.
	ErrLost = backends.ErrLost
	// ErrReleased: the lease is over because it was released.
	ErrReleased = errors.New("lease was released")
)
