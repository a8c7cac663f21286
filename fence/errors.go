package fence

import (
	"errors"
	"fmt"
)

// What a caller decides on, with errors.Is.
var (
	// ErrStale: the resource has seen a higher token, so another leads by now:
	// stop. The error is a *StaleError.
	ErrStale = errors.New("token is stale")
	// ErrOtherLock: the resource is guarded by another lock, whose tokens this one
	// cannot be compared with. The error is an *OtherLockError.
	ErrOtherLock = errors.New("token is of another lock")
)

// A StaleError says by which token a token was outdone. It matches ErrStale.
type StaleError struct {
	Lock    string
	Token   Token // the one that was refused
	Highest Token // the highest that the resource has seen
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("token %d is older than %d", e.Token, e.Highest)
}

// Is makes a StaleError match ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// An OtherLockError says which lock guards the resource. It matches ErrOtherLock.
type OtherLockError struct {
	Lock  string // the one that was refused
	Owner string // the one whose tokens the resource takes
}

func (e *OtherLockError) Error() string {
	return fmt.Sprintf("token is of lock %q, but the resource is guarded by lock %q", e.Lock, e.Owner)
}

// Is makes an OtherLockError match ErrOtherLock.
func (e *OtherLockError) Is(target error) bool { return target == ErrOtherLock }
