// Package show is the coordinator example, but for the place where it keeps its
// lease. Read worker.go first: it is what a program of your own would look like.
package show

import (
	"cmp"
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

// Main is the program, with a place for real processes. It returns the exit status.
func Main(place Place) int {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		return workerMain(os.Args[2:], place)
	}
	store := flag.String("store", place.Name, "`where` the lease is kept: dir (a temporary directory), azurite (the emulator of Azure), or memory (one process)")
	ttl := flag.Duration("ttl", 0, "how long the lease lasts without a renewal (default 2s; on azurite 15s)")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
	case *store == place.Name:
		return demo(os.Stdout, newProcesses(place), cmp.Or(*ttl, place.TTL))
	case *store == "memory":
		return demo(os.Stdout, newGoroutines, cmp.Or(*ttl, Directory().TTL))
	case *store == "azurite":
		fmt.Fprintln(os.Stderr, "coordinator:", become(azuritePackage, os.Args[1:]))
		return exitFailed
	}
	flag.Usage()
	return exitUsage
}

// azuritePackage is the program that has Azure's SDK in it.
const azuritePackage = "github.com/bloblease/bloblease/examples/coordinator/azurite"

// demo plays the story once. It leaves no process and no file behind, however it
// ends, unless it is killed itself; then the workers end by themselves.
func demo(out io.Writer, hired hire, ttl time.Duration) int {
	// SIGPIPE: whoever reads the output (| head) may leave early.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	err := play(ctx, out, hired, ttl)
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

func play(ctx context.Context, out io.Writer, hired hire, ttl time.Duration) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	crew, err := hired(ctx, ttl, fail)
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
