package backends

import (
	"errors"
	"fmt"
	"time"
)

// What a caller decides on, with errors.Is.
var (
	// ErrHeld: another term is in force. The error is a *HeldError.
	ErrHeld = errors.New("lease is held")
	// ErrLost: the term is over.
	ErrLost = errors.New("lease is lost")
	// ErrDenied: the store refuses these credentials.
	ErrDenied = errors.New("access denied")
	// ErrNoContainer: the bucket, container or directory does not exist.
	ErrNoContainer = errors.New("no such container")
	// ErrUnsupported: the store does not honour the conditions that a lease
	// stands on.
	ErrUnsupported = errors.New("not supported by this store")
	// ErrForeign: the object is not a record of this library, or a damaged
	// one. It is left as it is; only an operator's Break replaces it.
	ErrForeign = errors.New("not a lease record (only Break replaces it)")
)

// A HeldError says who holds the lease. It matches ErrHeld.
type HeldError struct {
	Record Record
}

func (e *HeldError) Error() string {
	r := e.Record
	if r.Holder == "" {
		return fmt.Sprintf("%v by somebody unknown", ErrHeld)
	}
	return fmt.Sprintf("%v by %q with token %d", ErrHeld, r.Holder, r.Token)
}

// Is makes a HeldError match ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// A RetryError says that the store decided nothing, because it is busy or two
// requests met: ask again, but not sooner than After.
type RetryError struct {
	After time.Duration // 0 if the store named no time
	Err   error
}

func (e *RetryError) Error() string {
	if e.After > 0 {
		return fmt.Sprintf("retry after %v: %v", e.After, e.Err)
	}
	return fmt.Sprintf("retry later: %v", e.Err)
}

func (e *RetryError) Unwrap() error { return e.Err }
