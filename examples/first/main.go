// First is a first program: of all processes that run it, one leads. Start it in
// two terminals, then stop the one that leads.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := filelease.New(os.TempDir()) // a directory that all of them share
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
