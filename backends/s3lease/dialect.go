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
// If it is applied, twice, so do all others from then on. But a store that has taken an
// ETag in quotes once is never tried again: it may be one that ignores a condition
// without, and a refusal may be anybody's mistake. A nil dialect is S3's.
type dialect struct {
	mu       sync.Mutex
	quoted   bool              // it takes quotes
	unquoted bool              // it does not
	proofs   int               // that it does not
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
	if d.unquoted || !d.quoted && d.stands[name] == version {
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
	d.learn(plain, err)
	delete(d.refused, name)
	delete(d.stands, name)
	if errors.Is(err, cas.ErrConflict) && !plain {
		if d.refused == nil || len(d.refused) >= maxRefused {
			d.refused, d.stands = make(map[string]string), make(map[string]string)
		}
		d.refused[name] = version
	}
}

// learn draws the conclusion from an answer.
func (d *dialect) learn(plain bool, err error) {
	switch {
	case err != nil:
	case plain:
		d.proofs++
		d.unquoted = d.unquoted || d.proofs >= enough
	default:
		d.quoted = true
	}
}

const enough = 2 // proofs

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
