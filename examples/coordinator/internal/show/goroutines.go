package show

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// goroutines are workers in one process. What happens to them only resembles what
// happens to processes, and the audience is told so.
type goroutines struct {
	memory  *memlease.Backend
	ttl     time.Duration
	fail    func(error)
	workers map[string]*goroutine
}

// A goroutine is a worker.
type goroutine struct {
	cancel context.CancelFunc
	killed atomic.Bool
	ending atomic.Bool
	gate   *gate
	line   net.Conn
	ended  chan struct{}
}

func newGoroutines(_ context.Context, ttl time.Duration, fail func(error)) (crew, error) {
	return &goroutines{memlease.New(), ttl, fail, map[string]*goroutine{}}, nil
}

func (g *goroutines) store() backends.Backend { return g.memory }

func (g *goroutines) place() string { return "memory" }

func (g *goroutines) writes() bool { return true }

func (g *goroutines) words() words {
	return words{
		kill:      "is dropped without a release (simulates SIGKILL)",
		pause:     "is cut off from the store and the ledger (simulates SIGSTOP)",
		wake:      "is connected again (simulates SIGCONT)",
		terminate: "is told to stop (simulates SIGTERM)",
	}
}

func (g *goroutines) start(name string, d *desk) (string, error) {
	near, far := net.Pipe()
	if err := d.serve(far); err != nil {
		return "", err
	}
	w := &goroutine{gate: &gate{Backend: g.memory}, line: near, ended: make(chan struct{})}
	task, err := newWorker(name, w.gate, g.ttl, newClient(near))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, g.workers[name] = cancel, w
	go func() {
		defer close(w.ended)
		err := leader.Run(ctx, task.mutex, w.mortal(task.lead), nil)
		if !w.ending.Load() {
			g.fail(fmt.Errorf("worker %s has ended by itself: %w", name, err))
		}
	}()
	return "a goroutine", nil
}

// mortal is lead for a worker that may be killed: then it ends the goroutine, so
// that Run abandons the lease without releasing it.
func (w *goroutine) mortal(lead task) task {
	return func(ctx context.Context, l *mutex.Lease) error {
		err := lead(ctx, l)
		if w.killed.Load() {
			runtime.Goexit()
		}
		return err
	}
}

type task = func(context.Context, *mutex.Lease) error

func (g *goroutines) kill(name string) error {
	w := g.workers[name]
	w.killed.Store(true)
	err := w.line.Close() // the dead tell nothing
	w.end()
	<-w.ended
	return err
}

func (g *goroutines) pause(name string) error {
	g.workers[name].gate.shut()
	return nil
}

func (g *goroutines) wake(name string) error {
	g.workers[name].gate.open()
	return nil
}

func (g *goroutines) terminate(ctx context.Context, name string) error {
	w := g.workers[name]
	w.end()
	select {
	case <-w.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *goroutine) end() {
	w.ending.Store(true)
	w.cancel()
}

func (g *goroutines) close() error {
	var errs []error
	for _, w := range g.workers {
		w.gate.open()
		errs = append(errs, w.line.Close()) // a call that is caught ends, too
		w.end()
		<-w.ended
	}
	return errors.Join(errs...)
}

// A gate is the way of one worker to the store. While it is shut no request gets
// through, and no answer comes.
type gate struct {
	backends.Backend
	mu     sync.Mutex
	closed bool
}

func (g *gate) shut() { g.set(true) }

func (g *gate) open() { g.set(false) }

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

// pass returns nil if the gate is open, and otherwise an error when ctx ends.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if !closed {
		return nil
	}
	<-ctx.Done()
	return fmt.Errorf("no answer: %w", ctx.Err())
}

func (g *gate) Acquire(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
	if err := g.pass(ctx); err != nil {
		return backends.Grant{}, err
	}
	return g.Backend.Acquire(ctx, name, c)
}

func (g *gate) Renew(ctx context.Context, grant backends.Grant) (backends.Grant, error) {
	if err := g.pass(ctx); err != nil {
		return grant, err
	}
	return g.Backend.Renew(ctx, grant)
}

func (g *gate) Release(ctx context.Context, grant backends.Grant) error {
	if err := g.pass(ctx); err != nil {
		return err
	}
	return g.Backend.Release(ctx, grant)
}
