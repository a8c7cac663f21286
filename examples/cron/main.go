// Cron is a guard for a job that is started by cron on several occasions: while
// one run is still at it, another one skips, and says so by its exit status.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/mutex"
)

// exitHeld is the status of a run that was skipped: EX_TEMPFAIL of sysexits.h.
const exitHeld = 75

var (
	dir  = flag.String("dir", os.TempDir(), "a directory that all runs share")
	work = flag.Duration("work", time.Second, "how long the job takes")
)

func main() {
	flag.Parse()
	switch err := run(); {
	case errors.Is(err, mutex.ErrHeld):
		fmt.Println("skipped:", err)
		os.Exit(exitHeld)
	case err != nil:
		log.Fatal(err) // exit status 1
	}
	fmt.Println("done")
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := filelease.New(*dir)
	if err != nil {
		return err
	}
	m, err := mutex.New(store, "nightly-report", nil)
	if err != nil {
		return err
	}
	lease, err := m.TryLock(ctx)
	if err != nil {
		return err // mutex.ErrHeld: another run is at it
	}
	within, cancel := lease.Context(ctx)
	defer cancel()
	err = report(within)                        // it stops when its context ends
	return errors.Join(err, lease.Release(ctx)) // ErrLost: it was not alone to the end
}

// report is the job.
func report(ctx context.Context) error {
	fmt.Println("working for", *work)
	select {
	case <-time.After(*work):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
