// First is a first program: of all processes that run it, one leads. Start it in
// two terminals, then stop the one that leads.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir := filepath.Join(os.TempDir(), "bloblease-first") // all of them share it
	if err := os.MkdirAll(dir, 0o700); err != nil {
		log.Fatal(err)
	}
	store, err := filelease.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	m, err := mutex.New(store, "first", nil)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("waiting to lead, as process", os.Getpid())
	err = leader.Run(ctx, m, func(ctx context.Context, lease *mutex.Lease) error {
		log.Println("leading, with token", lease.Token())
		<-ctx.Done() // your work: it returns soon after ctx has ended
		log.Println("leading no more:", context.Cause(ctx))
		return nil
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
}
