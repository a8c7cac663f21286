package azurelease

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

// Observe implements backends.Backend, in one request. A blob that somebody else
// has leased, for ever perhaps, is Held, even if it is no record of this library.
func (b *Backend) Observe(ctx context.Context, name string) (backends.Record, error) {
	if err := b.CheckName(name); err != nil {
		return backends.Record{}, err
	}
	s, err := b.look(ctx, name)
	if err != nil {
		return backends.Record{}, err
	}
	if s.exists && s.rec == nil && !s.leased {
		return backends.Record{}, s.foreign
	}
	return b.describe(s), nil
}

// describe is s for an observer. Azure does not tell how long a lease has to run,
// and renewals leave no trace: Age is that of the record.
func (b *Backend) describe(s *sighting) backends.Record {
	r := s.record()
	d := backends.Record{
		State: backends.Free, Holder: r.Holder, ID: r.ID, Token: r.Token, TTL: r.TTL,
		Done: r.Done, Meta: maps.Clone(r.Meta), Version: string(s.etag), Now: s.now,
	}
	if s.leased {
		d.State = backends.Held
	}
	if s.exists {
		d.Age = s.at - s.first
	}
	return d
}

// Break implements backends.Breaker. The holder's lease is not renewed any more and
// runs out as it would have: nobody else holds before its time is up. An infinite
// lease, which only others than this library take, ends at once. A blob that is no
// record is replaced by a free one, once it is not leased.
func (b *Backend) Break(ctx context.Context, name, version string) error {
	return b.breakLease(ctx, name, version, false)
}

// BreakNow is Break, but the lease ends at once. Until the holder's next renewal
// fails, a TTL later at the most, two may believe that they hold it. It is for an
// operator who knows that the holder is dead.
func (b *Backend) BreakNow(ctx context.Context, name, version string) error {
	return b.breakLease(ctx, name, version, true)
}

func (b *Backend) breakLease(ctx context.Context, name, version string, now bool) error {
	if err := b.CheckName(name); err != nil {
		return err
	}
	s, err := b.look(ctx, name)
	if err != nil {
		return err
	}
	if !s.exists || version != "" && version != string(s.etag) {
		return fmt.Errorf("%w: the blob to break is not there in version %q", backends.ErrLost, version)
	}
	switch {
	case s.leased:
		err = b.blobs.breakLease(ctx, b.blobName(name), s.etag, now)
	case s.rec == nil:
		err = b.replace(ctx, name, s)
	}
	switch {
	case errors.Is(err, errChanged), errors.Is(err, errGone):
		return fmt.Errorf("%w: the blob changed meanwhile", backends.ErrLost)
	case errors.Is(err, errNoLease):
		return nil // it has ended by itself
	case err != nil:
		return fmt.Errorf("break: %w", err)
	}
	return nil
}

// replace writes a free record over what is none.
func (b *Backend) replace(ctx context.Context, name string, s *sighting) error {
	rec := &record.Record{State: record.Free, Token: b.memory.token(name, 0, 0, s.now), Nonce: record.NewNonce()}
	data, err := rec.Encode()
	if err != nil {
		return err
	}
	_, err = b.blobs.write(ctx, b.blobName(name), azcore.ETag(s.etag), "", data)
	return err
}
