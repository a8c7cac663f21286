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
	"strings"
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
	store := flag.String("store", place.Name, "`where` the lease is kept: dir (a temporary directory), azurite (the emulator of Azure), s3 (a server with the interface of S3), s3://BUCKET (a bucket of yours), or memory (one process)")
	ttl := flag.Duration("ttl", 0, "how long the lease lasts without a renewal (default 2s; on azurite 15s, on S3 3s)")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
	case *store == place.Name || place.Name == "s3" && strings.HasPrefix(*store, bucketScheme):
		return demo(os.Stdout, newProcesses(place, *store), cmp.Or(*ttl, place.TTL))
	case *store == "memory":
		return demo(os.Stdout, newGoroutines, cmp.Or(*ttl, Directory().TTL))
	case *store == "azurite":
		return instead(azuritePackage)
	case *store == "s3" || strings.HasPrefix(*store, bucketScheme):
		return instead(s3Package)
	}
	flag.Usage()
	return exitUsage
}

// The programs that have an SDK in them.
const (
	azuritePackage = "github.com/bloblease/bloblease/examples/coordinator/azurite"
	s3Package      = "github.com/bloblease/bloblease/examples/coordinator/s3"
)

const bucketScheme = "s3://"

// instead runs the program of another package in place of this one.
func instead(pkg string) int {
	ctx, stop := untilTold()
	defer stop()
	status, err := become(ctx, pkg, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "coordinator:", err)
		return max(status, exitFailed)
	}
	return status
}

// untilTold ends with the signals that end the program in good order. SIGPIPE: whoever
// reads the output (| head) may leave early.
func untilTold() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
}

// demo plays the story once. It leaves no process and no file behind, however it
// ends, unless it is killed itself; then the workers end by themselves.
func demo(out io.Writer, hired hire, ttl time.Duration) int {
	ctx, stop := untilTold()
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
