package azurelease

import (
	"context"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

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
	err = b.renew(ctx, g, t)
	if err != nil {
		return g, fmt.Errorf("renew: %w", err)
	}
	b.memory.renewed(g, b.clock.Now().Mono)
	return g, nil
}

// renew renews the Azure lease. If Azure does not know it any more, the blob is
// read before that is believed: if by the record nobody else has come, it asks
// once more. A lease that is over gives ErrLost.
func (b *Backend) renew(ctx context.Context, g backends.Grant, t *title) error {
	ask := func() error { return t.renew(ctx) }
	err := repeat(ctx, ask)
	switch {
	case !refused(err):
		return err
	case matches(err, errBroken): // the answer says all, and there is no time to lose
		return t.lost(&sighting{exists: true}, err)
	}
	s, failed := b.look(ctx, g.Name)
	if failed != nil {
		return fmt.Errorf("%w; then %w", err, failed)
	}
	if s.leased && s.record().ID == g.ID {
		if err = repeat(ctx, ask); !refused(err) {
			return err
		}
	}
	return t.lost(s, err)
}

// lost says that the term is over, and to whom, if that is to be seen.
func (t *title) lost(s *sighting, err error) error {
	t.over.Store(true)
	switch r := s.record(); {
	case !s.exists:
		return fmt.Errorf("%w: the blob was deleted: %w", backends.ErrLost, err)
	case s.leased && r.ID != "" && r.ID != t.rec.ID:
		return fmt.Errorf("%w to %q with token %d: %w", backends.ErrLost, r.Holder, r.Token, err)
	default:
		return fmt.Errorf("%w: %w", backends.ErrLost, err)
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
	if t.open {
		return b.settle(ctx, g.Name, nil, t)
	}
	if g.Done != "" && g.Done != t.rec.Done { // else it is there, and not held against the caller
		if err := backends.CheckDone(g.Done); err != nil {
			return err
		}
		if err := b.recordDone(ctx, g, t); err != nil {
			return err
		}
	}
	return b.free(ctx, g, t)
}

// recordDone writes g.Done into the record. An edit by somebody who knows the
// lease is not the end of the term: it is kept.
func (b *Backend) recordDone(ctx context.Context, g backends.Grant, t *title) error {
	etag, rec := azcore.ETag(g.Version), t.rec
	for range maxTries {
		next := *t.rec
		next.Extra, next.Done, next.Nonce = rec.Extra, g.Done, record.NewNonce()
		p, err := pageOf(&next)
		if err != nil {
			return err
		}
		at, err := b.write(ctx, g.Name, t.handle, etag, true, p)
		switch {
		case err == nil:
			return nil
		case !matches(err, errRefused):
			return err
		case at.record().ID == g.ID && at.rec.Done == g.Done:
			return nil // by an earlier attempt
		case at.record().ID != g.ID || !at.leased || at.etag == etag:
			return t.lost(at, err)
		}
		etag, rec = at.etag, at.rec
	}
	return &backends.RetryError{Err: fmt.Errorf("others wrote %d times meanwhile", maxTries)}
}

// free releases the Azure lease. That Azure does not know it any more may be this
// request's own doing, or that of an earlier one whose answer was lost: as long as
// the record is that of this term, nobody has held the lease since.
func (b *Backend) free(ctx context.Context, g backends.Grant, t *title) error {
	ask := func() error { return t.release(ctx) }
	var s *sighting
	err := repeat(ctx, ask)
	for range 2 {
		switch {
		case err == nil:
			b.memory.released(g)
			return nil
		case !refused(err):
			return fmt.Errorf("release: %w", err)
		}
		var failed error
		if s, failed = b.look(ctx, g.Name); failed != nil {
			return fmt.Errorf("release: %w; then %w", err, failed)
		}
		switch ours := s.record().ID == g.ID; {
		case ours && !s.leased:
			return nil
		case !ours:
			return t.lost(s, fmt.Errorf("release: %w", err))
		}
		err = repeat(ctx, ask)
	}
	return t.lost(s, fmt.Errorf("release: %w", err))
}
