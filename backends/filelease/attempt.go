package filelease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bloblease/bloblease/backends/cas"
)

// maxAttempts bounds the goroutines that hang in system calls when a disk does.
const maxAttempts = 256

// An attempt is one operation, which its caller may leave before it has ended:
// the system calls of a disk that hangs cannot be called off.
type attempt struct{ state atomic.Int32 }

const (
	undecided int32 = iota
	committed       // the write is under way
	abandoned       // the caller has left: the write must not be begun
)

// errAbandoned is for nobody: the caller has left.
var errAbandoned = errors.New("abandoned")

// commit says whether the write may be begun.
func (a *attempt) commit() bool { return a.state.CompareAndSwap(undecided, committed) }

// abandon says whether it is certain that nothing is, or will be, written.
func (a *attempt) abandon() bool { return a.state.CompareAndSwap(undecided, abandoned) }

// attempts runs operations, a bounded number of them at once.
type attempts chan struct{}

// run runs f on a goroutine of its own, and returns when f has, or soon after ctx
// has ended. A result that is there then wins over the end of ctx. f that is
// left behind ends as soon as the system lets it, and writes nothing that it
// has not begun to write.
func (s attempts) run(ctx context.Context, f func(*attempt) (cas.Object, error)) (cas.Object, error) {
	if ctx.Err() != nil {
		return cas.Object{}, ctx.Err()
	}
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return cas.Object{}, ctx.Err()
	}
	a, done := new(attempt), make(chan result, 1)
	go func() {
		defer func() { <-s }()
		object, err := f(a)
		done <- result{object, err}
	}()
	select {
	case r := <-done:
		return r.object, r.err
	case <-ctx.Done():
		return a.leave(ctx, done)
	}
}

type result struct {
	object cas.Object
	err    error
}

func (a *attempt) leave(ctx context.Context, done <-chan result) (cas.Object, error) {
	clean := a.abandon()
	select {
	case r := <-done:
		return r.object, r.err
	default:
	}
	if clean {
		return cas.Object{}, ctx.Err()
	}
	return cas.Object{}, fmt.Errorf("it may have been written: %w", ctx.Err())
}
