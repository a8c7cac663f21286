package azurelease

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

func titleOf(g backends.Grant) (*title, error) {
	t, ok := g.Proof.(*title)
	if !ok {
		return nil, fmt.Errorf("%w: the grant of %q is not from this kind of backend", backends.ErrLost, g.Name)
	}
	return t, nil
}

// Renew implements backends.Backend, in one request: the renewal of the Azure
// lease, which leaves the blob as it is.
func (b *Backend) Renew(ctx context.Context, g backends.Grant) (backends.Grant, error) {
	t, err := titleOf(g)
	if err != nil {
		return g, err
	}
	if t.open {
		return g, fmt.Errorf("%w: it was never granted", backends.ErrLost)
	}
	err = b.blobs.renew(ctx, b.blobName(g.Name), g.ID)
	switch {
	case err == nil:
		return g, nil
	case errors.Is(err, errNoLease), errors.Is(err, errGone), errors.Is(err, backends.ErrNoContainer):
		return g, b.lost(ctx, g, err)
	default:
		return g, fmt.Errorf("renew: %w", err)
	}
}

// lost names the holder that has come instead, if there is one to be seen.
func (b *Backend) lost(ctx context.Context, g backends.Grant, err error) error {
	s, lookErr := b.look(ctx, g.Name)
	switch {
	case lookErr != nil || !s.leased || s.rec == nil || s.rec.ID == g.ID:
		return fmt.Errorf("%w: %w", backends.ErrLost, err)
	default:
		return fmt.Errorf("%w to %q with token %d: %w", backends.ErrLost, s.rec.Holder, s.rec.Token, err)
	}
}

// Release implements backends.Backend, in one request; in two if it records
// another Done than before. Done is recorded first, under the lease, and if it
// stays unknown whether it was, the lease is left to run out.
func (b *Backend) Release(ctx context.Context, g backends.Grant) error {
	t, err := titleOf(g)
	if err != nil {
		return err
	}
	if err := backends.CheckDone(g.Done); err != nil {
		return err
	}
	if t.open {
		return b.settle(ctx, g, t)
	}
	if g.Done != "" && g.Done != t.rec.Done {
		if err := b.recordDone(ctx, g, t); err != nil {
			return err
		}
	}
	return b.free(ctx, g)
}

// recordDone writes g.Done into the record.
func (b *Backend) recordDone(ctx context.Context, g backends.Grant, t *title) error {
	next := *t.rec
	next.Done, next.Nonce = g.Done, t.doneNonce()
	_, err := b.write(ctx, g.Name, &sighting{exists: true, etag: azcore.ETag(g.Version)}, &next)
	if errors.Is(err, errChanged) || errors.Is(err, errNoLease) || errors.Is(err, errGone) {
		return b.lost(ctx, g, err)
	}
	return err
}

// doneNonce is the same for each attempt to record, so that a later one knows
// what an earlier one has written.
func (t *title) doneNonce() string { return t.rec.Nonce[:16] + t.rec.ID[:8] + "00000000" }

// free releases the Azure lease. That Azure does not know it any more may be this
// request's own doing, or that of an earlier one whose answer was lost: as long as
// the blob is as this term left it, nobody has held it since.
func (b *Backend) free(ctx context.Context, g backends.Grant) error {
	err := b.blobs.release(ctx, b.blobName(g.Name), g.ID)
	switch {
	case err == nil:
		b.noteFree(g)
		return nil
	case errors.Is(err, errGone):
		return nil
	case !errors.Is(err, errNoLease):
		return fmt.Errorf("release: %w", err)
	}
	s, lookErr := b.look(ctx, g.Name)
	switch {
	case lookErr != nil:
		return fmt.Errorf("release: %w; then %w", err, lookErr)
	case !s.exists, s.record().ID == g.ID && !s.leased:
		return nil
	default:
		return b.lost(ctx, g, err)
	}
}

// noteFree remembers that the blob is free, for the next Acquire.
func (b *Backend) noteFree(g backends.Grant) {
	b.memory.of(g.Name, func(k *known) {
		if k.last != nil && k.last.record().ID == g.ID {
			s := *k.last
			s.leased = false
			k.last = &s
		}
	})
}

// settle frees what an Acquire that failed may have taken. It first writes the
// record of the free blob anew: if that succeeds, nothing was taken, and what is
// under way can take nothing any more, since it is bound to the old ETag.
func (b *Backend) settle(ctx context.Context, g backends.Grant, t *title) error {
	rec := *t.rec
	rec.State, rec.ID, rec.Nonce = record.Free, "", record.NewNonce()
	data, err := rec.Encode()
	if err != nil {
		return err
	}
	_, err = b.blobs.write(ctx, b.blobName(g.Name), azcore.ETag(g.Version), "", data)
	if err == nil {
		return nil
	}
	err = b.blobs.release(ctx, b.blobName(g.Name), g.ID)
	switch {
	case err == nil, errors.Is(err, errGone):
		return nil
	case errors.Is(err, errNoLease):
		return fmt.Errorf("%w: nothing was taken", backends.ErrLost)
	default:
		return fmt.Errorf("release: %w", err)
	}
}
