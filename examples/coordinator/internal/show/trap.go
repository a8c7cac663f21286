package show

import (
	"context"
	"sync"
)

// A trap catches a worker in the middle of a write.
//
// The moment is neither left to chance nor played by the worker. Between its look
// at the lease and its write, a worker asks the ledger what there is. The ledger
// is in this process, and keeps that answer until the worker has been stopped,
// and woken again. A process in real life is stopped at this point once in a
// long while; here it is each time.
type trap chan caught

// A caught worker waits for an answer until release is called.
type caught struct {
	worker  string
	release func()
}

// pass is called between a question and its answer. It catches the worker if
// somebody waits for one.
func (t trap) pass(worker string) {
	released := make(chan struct{})
	select {
	case t <- caught{worker, sync.OnceFunc(func() { close(released) })}:
		<-released
	default:
	}
}

// catch waits for a worker.
func (t trap) catch(ctx context.Context) (caught, error) {
	select {
	case c := <-t:
		return c, nil
	case <-ctx.Done():
		return caught{}, context.Cause(ctx)
	}
}
