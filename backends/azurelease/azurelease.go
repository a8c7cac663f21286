package azurelease

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
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
	if err := checkURL(c.URL()); err != nil {
		return nil, fmt.Errorf("azurelease: %w", err)
	}
	if err := checkPrefix(options.Prefix); err != nil {
		return nil, fmt.Errorf("azurelease: %w", err)
	}
	return &Backend{blobs: &blobs{c}, prefix: options.Prefix, create: options.Create, clock: clock.System}, nil
}

// checkURL refuses a read-only replica: leases mean nothing there.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("the URL of the container client is malformed") // it may hold a SAS
	}
	account, _, _ := strings.Cut(u.Hostname(), ".")
	if strings.HasSuffix(account, "-secondary") {
		return fmt.Errorf("host %s is the read-only secondary of an account: leases need the primary", u.Hostname())
	}
	return nil
}

func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if !strings.HasSuffix(prefix, "/") {
		return fmt.Errorf("prefix %q does not end in \"/\"", prefix)
	}
	if err := checkBlobName(strings.TrimSuffix(prefix, "/")); err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	return nil
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

// CheckName implements backends.NameChecker. Beside what backends.CheckName
// demands, it refuses names that Azure would change, or that are several
// spellings of one on some accounts.
func (b *Backend) CheckName(name string) error {
	if err := backends.CheckName(name); err != nil {
		return err
	}
	if err := checkBlobName(b.prefix + name); err != nil {
		return fmt.Errorf("lease name %.40q: %w", name, err)
	}
	return nil
}

const maxSegments = 254

func checkBlobName(name string) error {
	if len(name) > backends.MaxName {
		return fmt.Errorf("with its prefix it has %d bytes: at most %d are allowed", len(name), backends.MaxName)
	}
	if strings.Contains(name, `\`) {
		return errors.New(`it has a \, which Azure takes for a /`)
	}
	segments := strings.Split(name, "/")
	if len(segments) > maxSegments {
		return fmt.Errorf("it has %d parts between slashes: at most %d are allowed", len(segments), maxSegments)
	}
	for _, s := range segments {
		switch {
		case s == "":
			return errors.New("it has an empty part before, between or after its slashes")
		case strings.HasSuffix(s, "."):
			return errors.New("a part of it ends in a dot, which Azure drops")
		}
	}
	return nil
}

func (b *Backend) blobName(name string) string { return b.prefix + name }

// look reads the blob, and creates its container if it is missing and that was
// asked for.
func (b *Backend) look(ctx context.Context, name string) (*sighting, error) {
	s, err := b.blobs.get(ctx, b.blobName(name))
	if errors.Is(err, backends.ErrNoContainer) && b.create {
		if err = b.blobs.createContainer(ctx); err == nil {
			s, err = b.blobs.get(ctx, b.blobName(name))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	s.at = b.clock.Now().Mono
	return b.memory.note(name, s), nil
}
