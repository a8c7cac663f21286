//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/filelease"
)

// workerCommand makes this program a worker instead of the stage.
const workerCommand = "worker"

// processes are workers in processes of their own, this program started again.
type processes struct {
	dir     string
	files   *filelease.Backend
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

func newProcesses(ttl time.Duration, fail func(error)) (crew, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "coordinator-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	files, err := filelease.New(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &processes{dir, files, ttl, program, fail, map[string]*process{}}, nil
}

func (p *processes) store() backends.Backend { return p.files }

func (p *processes) place() string { return "the directory " + p.dir }

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
	cmd := exec.Command(p.program, workerCommand, "-name", name, "-dir", p.dir, "-ttl", p.ttl.String())
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
	return os.RemoveAll(p.dir)
}

// A duplex is two pipes as one line.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// workerMain is the program of a worker. SIGTERM stops it in good order.
func workerMain(args []string) int {
	flags := flag.NewFlagSet(workerCommand, flag.ExitOnError)
	name := flags.String("name", "", "what it is called")
	dir := flags.String("dir", "", "where the lease is kept")
	ttl := flags.Duration("ttl", 0, "how long it lasts")
	_ = flags.Parse(args) // it exits
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := work(ctx, *name, *dir, *ttl); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return exitFailed
	}
	return exitPassed
}

func work(ctx context.Context, name, dir string, ttl time.Duration) error {
	store, err := filelease.New(dir)
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
