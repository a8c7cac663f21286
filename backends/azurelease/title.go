package azurelease

import (
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

// A title is the Proof of a Grant: one acquisition, and the term if it came to
// one.
type title struct {
	*handle             // with a lease ID for this acquisition only
	page                // what it writes, or has written
	base    azcore.ETag // of the blob as it found it, or made it; "" if that is not known
	settled string      // the nonce of the record that settles it
	open    bool        // the term was not granted
	over    atomic.Bool // Azure has said that it is over
}

// newTitle prepares a term on the blob of s.
func (b *Backend) newTitle(name string, c backends.Claim, s *sighting) (*title, error) {
	old := s.record()
	token := b.memory.token(b.clock, name, old.Token, c.Floor, s.now)
	if token == 0 {
		return nil, record.ErrNoToken
	}
	p, err := pageOf(&record.Record{
		State:  record.Held,
		Token:  token,
		Holder: c.Holder,
		ID:     record.NewNonce(),
		TTL:    c.TTL,
		Nonce:  record.NewNonce(),
		Done:   old.Done,
		Meta:   maps.Clone(c.Meta),
		Extra:  old.Extra,
	})
	if err != nil {
		return nil, err
	}
	h, err := b.blobs.handle(b.blobName(name))
	if err != nil {
		return nil, err
	}
	return &title{handle: h, page: p, base: s.etag, settled: record.NewNonce(), open: true}, nil
}

func titleOf(g backends.Grant) (*title, error) {
	t, ok := g.Proof.(*title)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: the grant of %q is not from this kind of backend", backends.ErrLost, g.Name)
	case t.over.Load():
		return nil, fmt.Errorf("%w: Azure has said so before", backends.ErrLost)
	}
	return t, nil
}

// grant returns the grant of t, as of the blob with this ETag.
func (t *title) grant(name string, etag azcore.ETag) backends.Grant {
	r := t.rec
	return backends.Grant{
		Name: name, Holder: r.Holder, ID: r.ID, Token: r.Token, TTL: r.TTL,
		Version: string(etag), Done: r.Done, Proof: t,
	}
}

// placeholder is the record of a blob that did not exist, before there is a term.
// Its token is the lowest, so that any will do for the term.
func (t *title) placeholder() *record.Record {
	return &record.Record{State: record.Free, Token: 1, ID: t.rec.ID, Nonce: record.NewNonce()}
}

// freed is the record that settles t. It keeps the token, so that later ones are
// higher.
func (t *title) freed() *record.Record {
	r := *t.rec
	r.State, r.Nonce = record.Free, t.settled
	return &r
}

// touches reports whether the blob of s is as t found it, made it, or left it.
// Otherwise nothing that t has sent can have an effect any more, since all of it
// goes by the ETag.
func (t *title) touches(s *sighting) bool {
	return s.exists && (s.etag == t.base || s.record().ID == t.rec.ID)
}

// newLeaseID returns a random UUID in lower case, the only form that all of Azure
// compares alike.
func newLeaseID() string {
	id := record.NewNonce() // 128 random bits
	variant := "89ab"[id[16]&3]
	return id[:8] + "-" + id[8:12] + "-4" + id[13:16] + "-" + string(variant) + id[17:20] + "-" + id[20:]
}
