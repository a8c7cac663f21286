package azurelease

import (
	"context"
	"fmt"

	"github.com/bloblease/bloblease/backends"
)

// settle ends what an acquisition has taken that was never granted, and what it
// may yet take. Nil says that the lease is not held by it, and will not be;
// ErrLost that it was not, anyhow.
//
// What is under way goes by the ETag of the blob as it was. So settling writes the
// record anew, as free, and if the lease was acquired, under it; only then is the
// lease released. Released at first, it could be acquired again by a duplicate.
func (b *Backend) settle(ctx context.Context, name string, s *sighting, t *title) error {
	var err error
	for range maxTries {
		others := matches(err, errNoLease, errBroken)
		if s == nil {
			if s, err = b.look(ctx, name); err != nil {
				return err
			}
		}
		switch {
		case !t.touches(s) && (s.exists || t.base != ""), s.leased && others:
			b.memory.settled(name, t)
			return fmt.Errorf("%w: nothing was taken, or it has ended", backends.ErrLost)
		case s.record().Nonce == t.settled:
			return b.vacate(ctx, name, s, t)
		}
		s, err = b.mark(ctx, name, s, t)
		switch {
		case err == nil:
			return b.vacate(ctx, name, s, t)
		case barred(err) || busy(err):
			return err
		}
	}
	return err
}

// mark writes the record that settles t. With an error it returns nil: then
// looking tells whether it was written.
func (b *Backend) mark(ctx context.Context, name string, s *sighting, t *title) (*sighting, error) {
	p, err := pageOf(t.freed())
	if err != nil {
		return nil, err
	}
	var at *sighting
	if s.exists {
		at, err = t.write(ctx, s.etag, s.leased, p)
	} else {
		at, err = t.create(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	return b.note(name, at), nil
}

// vacate releases the lease under the record that settles t.
func (b *Backend) vacate(ctx context.Context, name string, s *sighting, t *title) error {
	if s.leased {
		err := repeat(ctx, func() error { return t.release(ctx) })
		switch {
		case err == nil:
			b.memory.released(t.grant(name, s.etag))
		case !refused(err): // else it is not this lease
			return fmt.Errorf("release: %w", err)
		}
	}
	b.memory.settled(name, t)
	return nil
}
