package fencetest

import (
	"context"
	"testing"

	"github.com/bloblease/bloblease/fence"
)

// A Resource is what a fence guards: a journal that effects are added to. Its methods
// are safe for concurrent use.
type Resource interface {
	// Write adds an effect if the fence lets it, in one step with the check.
	Write(ctx context.Context, lock string, t fence.Token, text string) error
	// Raise raises the fence, and changes nothing.
	Raise(ctx context.Context, lock string, t fence.Token) error
	// Journal returns the effects in the order in which they came about.
	Journal(ctx context.Context) ([]Effect, error)
}

// An Effect is what Write has added. Its text is letters and digits.
type Effect struct {
	Token fence.Token
	Text  string
}

// A Keeper is a Resource that accepts each key once.
type Keeper interface {
	// WriteOnce is Write for a key that comes for the first time, and reports
	// whether it was.
	WriteOnce(ctx context.Context, lock string, t fence.Token, key, text string) (first bool, err error)
}

// A Harness makes resources.
type Harness struct {
	// New makes an empty one, whose fence has seen no token.
	New func(t *testing.T) Resource
	// Plant changes the token that a resource has stored, as an operator might. Nil
	// if it stores none.
	Plant func(t *testing.T, r Resource, token int64) error
	// Again says of an error that the same may well succeed when it is tried again:
	// transactions that met. Nil if there are none.
	Again func(error) bool
	// Rounds is how often old and new writers race.
	Rounds int
}
