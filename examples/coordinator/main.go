// Coordinator shows a leader election with everything that can go wrong in it.
//
//	go run ./examples/coordinator
//
// Three worker processes contend for one lease, in a temporary directory. The
// leader is killed; the next one is paused for longer than its lease lasts, in the
// middle of a write; the write arrives late and is refused; and all stop in
// good order. At the end the program checks what it saw, and exits with 1 if
// anything was not as promised.
//
// Read worker.go first: it is what a program of your own would look like.
// ledger.go is the resource that the lease guards. The rest is the stage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// What the program exits with.
const (
	exitPassed      = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		os.Exit(workerMain(os.Args[2:]))
	}
	store := flag.String("store", "dir", "`where` the lease is kept: dir (a temporary directory, three processes) or memory (one process)")
	ttl := flag.Duration("ttl", 2*time.Second, "how long the lease lasts without a renewal")
	flag.Parse()
	if flag.NArg() > 0 || *store != "dir" && *store != "memory" {
		flag.Usage()
		os.Exit(exitUsage)
	}
	os.Exit(demo(os.Stdout, *store, *ttl))
}

// demo plays the story once. It leaves no process and no file behind, however it
// ends, unless it is killed itself; then the workers end by themselves.
func demo(out io.Writer, store string, ttl time.Duration) int {
	// SIGPIPE: whoever reads the output (| head) may leave early.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	err := play(ctx, out, store, ttl)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "interrupted")
		return exitInterrupted
	case errors.Is(err, errChecks):
		return exitFailed // they have been printed
	case err != nil:
		fmt.Fprintln(os.Stderr, "coordinator:", err)
		return exitFailed
	}
	return exitPassed
}

// errChecks: the story was played, but not all of it was as it should be.
var errChecks = errors.New("a check has failed")

func play(ctx context.Context, out io.Writer, store string, ttl time.Duration) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	hired := hire(newProcesses)
	if store == "memory" {
		hired = newGoroutines
	}
	crew, err := hired(ttl, fail)
	if err != nil {
		return err
	}
	defer func() {
		if left := crew.close(); left != nil {
			fmt.Fprintln(os.Stderr, "coordinator: clean up:", left)
		}
	}()
	s, err := newStory(crew, ttl, out)
	if err != nil {
		return err
	}
	seen, err := s.play(ctx)
	if err != nil {
		return err
	}
	if !seen.print(out, s.teller.short) {
		return errChecks
	}
	return nil
}
