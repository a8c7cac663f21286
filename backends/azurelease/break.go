package azurelease

import (
	"context"
	"fmt"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

// Break implements backends.Breaker, gently: the holder's lease is not renewed any
// more, and runs out when it would have. Until then it is Held, so nobody else
// holds before the holder's time is up. An infinite lease, which only others than
// this library take, ends at once. A blob that is no record is replaced by a free
// one, if it is not leased any more.
func (b *Backend) Break(ctx context.Context, name, version string) error {
	return b.breakLease(ctx, name, version, false)
}

// BreakNow is Break, but the lease ends at once. Until the holder's next renewal
// fails, a TTL later at the most, two may believe that they hold it: it is for an
// operator who knows that the holder is dead.
func (b *Backend) BreakNow(ctx context.Context, name, version string) error {
	return b.breakLease(ctx, name, version, true)
}

func (b *Backend) breakLease(ctx context.Context, name, version string, now bool) error {
	if err := b.CheckName(name); err != nil {
		return err
	}
	var err error
	for range maxTries {
		err = b.breakOnce(ctx, name, version, now)
		if !refused(err) || version != "" {
			break
		}
	}
	switch {
	case refused(err):
		return fmt.Errorf("%w: the blob changed meanwhile: %w", backends.ErrLost, err)
	case err != nil:
		return fmt.Errorf("break: %w", err)
	}
	return nil
}

func (b *Backend) breakOnce(ctx context.Context, name, version string, now bool) error {
	s, err := b.look(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case !s.exists:
		return fmt.Errorf("%w: there is no blob %q", backends.ErrLost, b.blobName(name))
	case version != "" && version != string(s.etag):
		return fmt.Errorf("%w: it is not in version %q any more", backends.ErrLost, version)
	}
	h, err := b.blobs.handle(b.blobName(name))
	leased := false
	if err == nil && s.leased {
		leased, err = end(ctx, h, s, now)
	}
	if err == nil && s.rec == nil && !leased {
		err = b.replace(ctx, name, h, s)
	}
	return err
}

// end breaks the Azure lease, and reports whether it goes on for a while. It is
// no error that the lease has ended by itself.
func end(ctx context.Context, h *handle, s *sighting, now bool) (leased bool, err error) {
	err = repeat(ctx, func() error {
		remaining, err := h.breakLease(ctx, s.etag, now)
		leased = remaining > 0
		return err
	})
	if matches(err, errNoLease) {
		return false, nil
	}
	return leased, err
}

// replace writes a free record over what is none.
func (b *Backend) replace(ctx context.Context, name string, h *handle, s *sighting) error {
	rec := &record.Record{State: record.Free, Token: b.memory.token(b.clock, name, 0, 0, s.now), Nonce: record.NewNonce()}
	if rec.Token == 0 {
		return record.ErrNoToken
	}
	p, err := pageOf(rec)
	if err == nil {
		_, err = b.write(ctx, name, h, s.etag, false, p)
	}
	return err
}
