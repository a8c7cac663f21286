package show

import (
	"context"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A crew is the workers, and what can be done to them: processes are sent
// signals, and goroutines are treated likewise as far as that goes.
type crew interface {
	// store is where the lease is kept, and place says so in words.
	store() backends.Backend
	place() string
	// writes says whether a renewal can be seen in the record.
	writes() bool
	// start starts a worker that calls d, and says in words what it is.
	start(name string, d *desk) (what string, err error)
	// kill ends a worker at once, so that it cannot release anything.
	kill(name string) error
	// pause stops a worker and its renewals, and wake lets it go on.
	pause(name string) error
	wake(name string) error
	// terminate asks a worker to stop, and waits until it has done so.
	terminate(ctx context.Context, name string) error
	// words are what the audience is told about these.
	words() words
	// close ends every worker, in whatever state, and removes the store.
	close() error
}

type words struct{ kill, pause, wake, terminate string }

// A hire makes a crew for leases of this TTL. The crew calls fail when a worker
// ends that nobody has ended.
type hire func(ctx context.Context, ttl time.Duration, fail func(error)) (crew, error)
