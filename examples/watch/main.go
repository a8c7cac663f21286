// Watch tells who leads, without contending. Start it beside examples/first.
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

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

func main() {
	dir := flag.String("dir", filepath.Join(os.TempDir(), "bloblease-first"), "the directory that the leases are in")
	name := flag.String("name", "first", "the lease")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := os.MkdirAll(*dir, 0o700); err != nil {
		log.Fatal(err)
	}
	store, err := filelease.New(*dir)
	if err != nil {
		log.Fatal(err)
	}
	m, err := mutex.New(store, *name, nil)
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range leader.Watch(ctx, m) {
		switch {
		case err != nil:
			fmt.Println("cannot tell:", err)
		case r.State == backends.Held:
			fmt.Println(r.Holder, "leads, with token", r.Token)
		default:
			fmt.Println("nobody leads")
		}
	}
}
