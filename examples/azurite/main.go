// Azurite is a first program for Azure that needs no account: it starts the
// emulator of Azure Storage, and leads on it.
//
//	go run ./examples/azurite
//
// It prints a command for a second terminal, which contends for the same lease. Ctrl-C
// gives the lease up; the emulator stays for the other until a second Ctrl-C.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/bloblease/bloblease/azurite"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	server, err := azurite.Start(ctx, nil) // its error tells what to install
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // the leases are gone with it
	client, err := server.Container(ctx, "leases", nil)
	if err != nil {
		return err
	}
	store, err := azurelease.New(client, nil)
	if err != nil {
		return err
	}
	m, err := mutex.New(store, "first", &mutex.Options{Logger: slog.Default()}) // it tells of an outage
	if err != nil {
		return err
	}
	ours := server.Pid() != 0
	if ours {
		fmt.Printf("in another terminal: %s=%s go run ./examples/azurite\n", azurite.Variable, server.URL())
	}
	fmt.Println("waiting to lead, as process", os.Getpid())
	if err := campaign(ctx, m); err != nil || !ours {
		return err
	}
	fmt.Println("Azurite stays for the others, until Ctrl-C")
	return untilInterrupted(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	})
}

func campaign(ctx context.Context, m *mutex.Mutex) error {
	return untilInterrupted(ctx, func(ctx context.Context) error {
		return leader.Run(ctx, m, lead, nil)
	})
}

func lead(ctx context.Context, lease *mutex.Lease) error {
	fmt.Println("leading, with token", lease.Token())
	<-ctx.Done() // your work: it returns soon after ctx has ended
	fmt.Println("leading no more:", context.Cause(ctx))
	return nil
}

// untilInterrupted gives f a context that Ctrl-C ends.
func untilInterrupted(ctx context.Context, f func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return f(ctx)
}
