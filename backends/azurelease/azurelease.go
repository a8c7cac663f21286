package azurelease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
)

// Options are the settings of a Backend. The zero value means the defaults.
type Options struct {
	// Prefix goes before the names of all leases to give the names of their
	// blobs. It is empty or ends in "/".
	Prefix string
	// Create makes the container when it is missing. Otherwise a missing
	// container is an error that matches backends.ErrNoContainer.
	Create bool
}

// A Backend keeps leases in one container. It is safe for concurrent use.
type Backend struct {
	blobs  *blobs
	prefix string
	create bool
	clock  clock.Clock
	memory memory
}

var (
	_ backends.Backend     = (*Backend)(nil)
	_ backends.Breaker     = (*Backend)(nil)
	_ backends.NameChecker = (*Backend)(nil)
)

// New returns a Backend for the container of c. It makes no request. Whatever
// retries the client was made with, the Backend switches them off: it has to
// know of each request what became of it.
func New(c *container.Client, o *Options) (*Backend, error) {
	if c == nil {
		return nil, errors.New("azurelease: the container client is nil")
	}
	var options Options
	if o != nil {
		options = *o
	}
	remedy, err := checkURL(c.URL())
	if err == nil {
		err = checkPrefix(options.Prefix)
	}
	if err != nil {
		return nil, fmt.Errorf("azurelease: %w", err)
	}
	return &Backend{
		blobs:  &blobs{container: c, remedy: remedy},
		prefix: options.Prefix,
		create: options.Create,
		clock:  clock.System,
	}, nil
}

// Limits implements backends.Backend.
func (b *Backend) Limits() backends.Limits {
	return backends.Limits{
		MinTTL:  15 * time.Second,
		MaxTTL:  60 * time.Second,
		Step:    time.Second,
		MinPoll: 100 * time.Millisecond,
	}
}

func (b *Backend) blobName(name string) string { return b.prefix + name }

// look reads the blob, and creates its container if it is missing and that was
// asked for.
func (b *Backend) look(ctx context.Context, name string) (*sighting, error) {
	last := b.memory.last(name)
	s, err := b.blobs.get(ctx, b.blobName(name), last)
	if errors.Is(err, backends.ErrNoContainer) && b.create {
		if err = b.blobs.createContainer(ctx); err == nil {
			s, err = b.blobs.get(ctx, b.blobName(name), last)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return b.note(name, s), nil
}

// note remembers what an answer showed.
func (b *Backend) note(name string, s *sighting) *sighting {
	s.at = b.clock.Now().Mono
	return b.memory.note(name, s)
}
