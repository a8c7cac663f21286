//go:build unix

package show

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// workerCommand makes this program a worker instead of the stage.
const workerCommand = "worker"

// processes are workers in processes of their own, this program started again.
type processes struct {
	where   Place
	made    Made
	lease   backends.Backend
	ttl     time.Duration
	program string
	fail    func(error)
	workers map[string]*process
}

// A process is a worker.
type process struct {
	*os.Process
	ending atomic.Bool
	ended  chan struct{}
	err    error // of its end; read it after ended is closed
}

func newProcesses(place Place, store string) hire {
	return func(ctx context.Context, ttl time.Duration, fail func(error)) (crew, error) {
		program, err := os.Executable()
		if err != nil {
			return nil, err
		}
		made, err := place.Make(ctx, store)
		if err != nil {
			return nil, err
		}
		lease, err := place.Open(made.Address)
		if err != nil {
			return nil, errors.Join(err, made.Remove())
		}
		return &processes{place, made, lease, ttl, program, fail, map[string]*process{}}, nil
	}
}

func (p *processes) store() backends.Backend { return p.lease }

func (p *processes) place() string { return p.made.Words }

func (p *processes) writes() bool { return p.where.Writes }

func (p *processes) words() words {
	return words{
		kill:      "is killed (SIGKILL)",
		pause:     "is paused (SIGSTOP)",
		wake:      "is woken (SIGCONT)",
		terminate: "is told to stop (SIGTERM)",
	}
}

func (p *processes) start(name string, d *desk) (string, error) {
	//nolint:noctx // a context could only kill it, and close does that
	cmd := exec.Command(p.program, workerCommand, "-name", name, "-at", p.made.Address, "-ttl", p.ttl.String())
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = orphanless()
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	w := &process{Process: cmd.Process, ended: make(chan struct{})}
	p.workers[name] = w
	go func() {
		defer close(w.ended)
		if w.err = cmd.Wait(); !w.ending.Load() {
			p.fail(fmt.Errorf("worker %s has ended by itself: %w", name, w.err))
		}
	}()
	return fmt.Sprintf("process %d", w.Pid), d.serve(duplex{out, in})
}

func (p *processes) kill(name string) error {
	w := p.workers[name]
	w.ending.Store(true)
	err := w.Kill()
	<-w.ended
	return err
}

func (p *processes) pause(name string) error { return p.workers[name].Signal(syscall.SIGSTOP) }

func (p *processes) wake(name string) error { return p.workers[name].Signal(syscall.SIGCONT) }

func (p *processes) terminate(ctx context.Context, name string) error {
	w := p.workers[name]
	w.ending.Store(true)
	if err := w.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-w.ended:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close kills what is left. SIGKILL also ends a process that is stopped.
func (p *processes) close() error {
	for name := range p.workers {
		_ = p.kill(name) // it may have ended
	}
	return p.made.Remove()
}

// A duplex is two pipes as one line.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// workerMain is the program of a worker. SIGTERM stops it in good order.
func workerMain(args []string, place Place) int {
	flags := flag.NewFlagSet(workerCommand, flag.ExitOnError)
	name := flags.String("name", "", "what it is called")
	at := flags.String("at", "", "where the lease is kept")
	ttl := flags.Duration("ttl", 0, "how long it lasts")
	_ = flags.Parse(args) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := work(ctx, *name, place, *at, *ttl); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return exitFailed
	}
	return exitPassed
}

func work(ctx context.Context, name string, place Place, at string, ttl time.Duration) error {
	store, err := place.Open(at)
	if err != nil {
		return err
	}
	desk := newClient(duplex{os.Stdin, os.Stdout})
	w, err := newWorker(name, store, ttl, desk)
	if err != nil {
		return err
	}
	return w.run(desk.untilGone(ctx))
}

// become builds another program of this repository and is that program from then on, as
// far as others can tell: it passes signals on, and has its output and its exit status.
// The program does not outlive this one, as far as the system can see to that.
func become(ctx context.Context, pkg string, args []string) (status int, err error) {
	dir, err := os.MkdirTemp("", "coordinator-*")
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "coordinator")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	build.Stderr = os.Stderr
	err = build.Run()
	if ctx.Err() != nil {
		return exitInterrupted, nil
	}
	if err != nil {
		return exitFailed, fmt.Errorf("build %s: %w", pkg, err)
	}
	return follow(ctx, exec.Command(program, args...)) //nolint:gosec,noctx // it was built above; ctx interrupts it, so that it can tidy up
}

// follow runs a program, and interrupts it when ctx ends.
func follow(ctx context.Context, c *exec.Cmd) (status int, err error) {
	c.Stdout, c.Stderr, c.SysProcAttr = os.Stdout, os.Stderr, orphanless()
	if err := c.Start(); err != nil {
		return exitFailed, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Signal(os.Interrupt) })
	defer stop()
	err = c.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return exitPassed, err
}
