package filelease

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// A Backend keeps leases in a directory. See the package's comment for what it
// may be used for.
type Backend struct{ *cas.Engine }

// New returns a backend whose leases are in dir. All processes that name this
// directory, in whatever spelling, contend for the same leases.
//
// It creates nothing. A directory that does not exist gives an error that matches
// backends.ErrNoContainer, one on a network file system, or on a system
// without flock such as Windows, backends.ErrUnsupported. A relative dir is
// relative to the working directory at the time of the call; a link is
// followed at each access, so that all processes see where it points now.
func New(dir string) (*Backend, error) { return newBackend(dir, clock.System) }

func newBackend(dir string, c clock.Clock) (*Backend, error) {
	if !hasLocks {
		return nil, fmt.Errorf("filelease on %s: %w: it has no flock", runtime.GOOS, backends.ErrUnsupported)
	}
	if dir == "" {
		return nil, errors.New("filelease: the name of the directory is empty")
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("filelease: %w", err)
	}
	if err := checkDirectory(path); err != nil {
		return nil, fmt.Errorf("filelease: %w", err)
	}
	return &Backend{cas.New(newStore(path, c), options)}, nil
}

// checkDirectory returns an error unless path is a directory of this machine.
func checkDirectory(path string) error {
	d, err := openDirectory(path)
	if err != nil {
		return err
	}
	defer d.close()
	self, err := d.root.Open(".")
	if err != nil {
		return explain("open directory", path, err)
	}
	defer func() { _ = self.Close() }()
	if kind := network(self); kind != "" {
		return fmt.Errorf("directory %s: %w: it is on %s, which machines share", path, backends.ErrUnsupported, kind)
	}
	return nil
}

// options: the dates are this machine's boot clock, which has no steps and which
// nobody sets. That a record is dated just before it is synced and can be seen
// makes it older than it is, but not older than the request that wrote it, and
// it is from there that its holder counts.
var options = cas.Options{
	Limits: backends.Limits{
		MinTTL: time.Second, MaxTTL: 24 * time.Hour, Step: time.Millisecond, MinPoll: 10 * time.Millisecond,
	},
	Dates: cas.Dates{Trusted: true, Own: true},
}
