package show

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/filelease"
)

// A Place is where processes keep the lease.
type Place struct {
	Name string        // for the flag -store
	TTL  time.Duration // unless the flag -ttl says otherwise
	// Make makes it, for one story, at what -store says. Open opens what was made, in
	// any process.
	Make func(ctx context.Context, store string) (Made, error)
	Open func(address string) (backends.Backend, error)
	// Writes: a renewal changes the record, so that it can be seen.
	Writes bool
}

// Made is a place that was made.
type Made struct {
	Address string // for Open
	Words   string // for the audience
	Remove  func() error
}

// Directory is a temporary directory.
func Directory() Place {
	return Place{Name: "dir", TTL: 2 * time.Second, Make: makeDirectory, Open: openDirectory, Writes: true}
}

func makeDirectory(context.Context, string) (Made, error) {
	dir, err := os.MkdirTemp("", "coordinator-*")
	if err != nil {
		return Made{}, fmt.Errorf("make a temporary directory: %w", err)
	}
	return Made{dir, "the directory " + dir, func() error { return os.RemoveAll(dir) }}, nil
}

func openDirectory(address string) (backends.Backend, error) { return filelease.New(address) }
