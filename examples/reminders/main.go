// Reminders is the nightly run of an insurer: every customer gets one reminder, though
// two processes are there to send them, one of them hangs in the middle, and both are
// started twice. It tells the story, and checks it:
//
//	go -C examples/reminders run .
//
// The reminders are in SQLite, or with -db in PostgreSQL; the lease is in a directory,
// or with -store in a container of Azure.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run is a worker if the first argument says so, and else the story.
func run(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("reminders", flag.ExitOnError)
	flags.StringVar(&s.DB, "db", "", "where the reminders are: a file for SQLite, or postgres://… (default: a temporary file)")
	flags.StringVar(&s.Store, "store", "", "where the lease is: a directory, or the URL of an Azure container with its SAS (default: a temporary directory)")
	flags.StringVar(&s.Night, "night", time.Now().Format(time.DateTime), "which night it is")
	flags.IntVar(&s.Customers, "customers", 40, "how many customers there are")
	flags.DurationVar(&s.TTL, "ttl", 0, "TTL of the lease (default: 2s, on Azure 15s)")
	worker := len(args) > 0 && args[0] == "worker"
	if worker {
		flags.StringVar(&s.Name, "name", "", "name of the worker")
		flags.IntVar(&s.HangAt, "hang-at", 0, "the customer before whom it hangs; 0: none")
		args = args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("argument %q is not expected", flags.Arg(0))
	case s.Customers < 10:
		return fmt.Errorf("%d customers are too few for the story: it needs 10", s.Customers)
	case worker:
		return work(ctx, s)
	default:
		return tell(ctx, s, os.Stdout)
	}
}

// settings are what all processes share, and what a worker has for itself.
type settings struct {
	DB, Store, Night string
	Customers        int
	TTL              time.Duration

	Name   string
	HangAt int
}

// args are the arguments of a worker with these settings.
func (s settings) args() []string {
	return []string{
		"worker", "-db", s.DB, "-store", s.Store, "-night", s.Night, "-ttl", s.TTL.String(),
		"-customers", fmt.Sprint(s.Customers), "-name", s.Name, "-hang-at", fmt.Sprint(s.HangAt),
	}
}
