package s3lease

import (
	"errors"
	"strings"
	"sync"

	"github.com/bloblease/bloblease/backends/cas"
)

// A dialect finds out how a store wants ETags in If-Match. All of them give ETags in
// quotes. Some, of the family of Ceph, compare them without, so that an ETag is
// refused that is the right one.
//
// It costs no request of its own. After a refusal the engine reads the object, and
// if it stands as before sends its write once more; that one goes without quotes.
// If it is applied, so do all others from then on. A nil dialect is S3's.
type dialect struct {
	mu       sync.Mutex
	unquoted bool
	refused  map[string]string // by name: an ETag that was refused, in quotes,
	stands   map[string]string // and has been seen since
}

const maxRefused = 1024 // names; beyond that all are forgotten

// spell is how to write version into the condition of the next write of name.
func (d *dialect) spell(name, version string) string {
	if d == nil {
		return version
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unquoted || d.stands[name] == version {
		return strings.Trim(version, `"`)
	}
	return version
}

// heard notes the answer to a write under a condition that was written as spelt;
// nil if it was If-None-Match.
func (d *dialect) heard(name, version string, spelt *string, err error) {
	if d == nil || spelt == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	plain := *spelt != version
	d.unquoted = d.unquoted || plain && err == nil
	delete(d.refused, name)
	delete(d.stands, name)
	if errors.Is(err, cas.ErrConflict) && !plain {
		if d.refused == nil || len(d.refused) >= maxRefused {
			d.refused, d.stands = make(map[string]string), make(map[string]string)
		}
		d.refused[name] = version
	}
}

// saw notes that name has this version.
func (d *dialect) saw(name, version string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused[name] == version {
		d.stands[name] = version
	}
}
