// Cron is a nightly job that several schedulers may start, one on each machine, or one
// that calls twice: it is run once for each night. What goes into a serverless function
// is handle.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

var (
	dir  = flag.String("dir", filepath.Join(os.TempDir(), "bloblease-cron"), "a directory that all runs share")
	slot = flag.String("slot", "", "the time for which the scheduler calls, such as 2026-10-12T02:00:00Z")
	work = flag.Duration("work", time.Second, "how long the job takes")
)

func main() {
	flag.Parse()
	if *slot == "" {
		log.Fatal("-slot is missing: the time for which the scheduler calls, such as 2026-10-12T02:00:00Z")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := os.MkdirAll(*dir, 0o700); err != nil {
		log.Fatal(err)
	}
	store, err := filelease.New(*dir)
	if err != nil {
		log.Fatal(err)
	}
	if err := handle(ctx, store, *slot); err != nil {
		log.Fatal(err)
	}
}

// handle runs the job, unless that of the time for which the scheduler calls is done.
func handle(ctx context.Context, store backends.Backend, scheduled string) error {
	due, err := time.Parse(time.RFC3339, scheduled)
	if err != nil {
		return fmt.Errorf("slot %q is not a time such as 2026-10-12T02:00:00Z", scheduled)
	}
	m, err := mutex.New(store, "nightly-report", nil)
	if err != nil {
		return err
	}
	ran, err := leader.Once(ctx, m, leader.SlotAt(due), report, nil)
	if err != nil {
		return err // so that the scheduler tries again
	}
	log.Printf("the report of %v is done, by this run: %t", due, ran)
	return nil
}

// report is the job.
func report(ctx context.Context, _ *mutex.Lease) error {
	due, _ := leader.SlotTime(ctx)
	log.Println("working for", *work, "on the report of", due)
	select {
	case <-time.After(*work):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
