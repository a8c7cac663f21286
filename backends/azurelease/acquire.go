package azurelease

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

const maxTries = 3 // blobs that one call takes its chance against

// A title is the Proof of a Grant.
type title struct {
	rec  *record.Record
	open bool // the acquisition itself is not confirmed
}

// Acquire implements backends.Backend. It costs two requests when this process
// knows the blob to be free, three when it has to read it, and four when it has to
// create it.
func (b *Backend) Acquire(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
	if err := errors.Join(b.CheckName(name), c.Check(b.Limits())); err != nil {
		return backends.Grant{}, err
	}
	s := b.memory.last(name)
	if s == nil || !s.exists || s.leased || s.rec == nil {
		var err error
		if s, err = b.look(ctx, name); err != nil {
			return backends.Grant{}, err
		}
	}
	for range maxTries {
		var err error
		if s, err = b.existing(ctx, name, s, c.Floor); err != nil {
			return backends.Grant{}, err
		}
		if s.leased {
			return backends.Grant{}, &backends.HeldError{Record: b.describe(s)}
		}
		if s.rec == nil {
			return backends.Grant{}, s.foreign
		}
		g, stands, err := b.take(ctx, name, s, c)
		if stands == nil {
			return g, err
		}
		s = stands
	}
	return backends.Grant{}, &backends.RetryError{Err: fmt.Errorf("others wrote %d times meanwhile", maxTries)}
}

// existing returns s, or if that shows no blob, the one that it creates or finds:
// a free record, which only later is taken like any other.
func (b *Backend) existing(ctx context.Context, name string, s *sighting, floor backends.Token) (*sighting, error) {
	if s.exists {
		return s, nil
	}
	rec := &record.Record{State: record.Free, Token: b.memory.token(name, 0, floor, s.now), Nonce: record.NewNonce()}
	data, err := rec.Encode()
	if err != nil {
		return nil, err
	}
	made, err := b.blobs.create(ctx, b.blobName(name), data)
	if err == nil {
		made.rec, made.at = rec, b.clock.Now().Mono
		return b.memory.note(name, made), nil
	}
	if undecided(err) {
		return nil, fmt.Errorf("create: %w", err)
	}
	found, lookErr := b.look(ctx, name)
	if lookErr != nil {
		return nil, fmt.Errorf("create: %w; then %w", err, lookErr)
	}
	if !found.exists {
		return nil, fmt.Errorf("create: %w", err)
	}
	return found, nil
}

// take starts a new term on the blob of s. If that is refused it returns what
// stands in its place.
func (b *Backend) take(ctx context.Context, name string, s *sighting, c backends.Claim) (backends.Grant, *sighting, error) {
	old := s.rec
	token := b.memory.token(name, old.Token, c.Floor, s.now)
	if token == 0 {
		return backends.Grant{}, nil, fmt.Errorf("%w: no token is left above %d", backends.ErrForeign, backends.MaxToken)
	}
	rec := &record.Record{
		State:  record.Held,
		Token:  token,
		Holder: c.Holder,
		ID:     b.memory.takeID(name),
		TTL:    c.TTL,
		Nonce:  record.NewNonce(),
		Done:   old.Done,
		Meta:   maps.Clone(c.Meta),
		Extra:  old.Extra,
	}
	if err := b.lease(ctx, name, s, rec); err != nil {
		return b.notLeased(ctx, name, s, rec, err)
	}
	at, err := b.write(ctx, name, s, rec)
	if err == nil {
		return grant(name, at, &title{rec: rec}), nil, nil
	}
	// Nobody is given this term, whatever became of its record.
	if released := b.blobs.release(ctx, b.blobName(name), rec.ID); released != nil && !final(released) {
		return b.open(name, s, rec), nil, err
	}
	if errors.Is(err, errChanged) || errors.Is(err, errNoLease) {
		stands, lookErr := b.look(ctx, name)
		return backends.Grant{}, stands, lookErr
	}
	return backends.Grant{}, nil, err
}

// lease acquires the Azure lease. After an unknown outcome the same request goes
// out once more: with the same ID it does no harm to repeat it.
func (b *Backend) lease(ctx context.Context, name string, s *sighting, rec *record.Record) error {
	err := b.blobs.acquire(ctx, b.blobName(name), rec.ID, rec.TTL, s.etag)
	if err != nil && !final(err) && !undecided(err) && ctx.Err() == nil {
		err = b.blobs.acquire(ctx, b.blobName(name), rec.ID, rec.TTL, s.etag)
	}
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	return nil
}

// notLeased is what take returns when the Azure lease was not, or not surely,
// acquired. Its ID is kept: an attempt may still be under way.
func (b *Backend) notLeased(ctx context.Context, name string, s *sighting, rec *record.Record, err error) (backends.Grant, *sighting, error) {
	if !final(err) {
		return b.open(name, s, rec), nil, err
	}
	b.memory.keepID(name, rec.ID)
	stands, lookErr := b.look(ctx, name)
	switch {
	case lookErr != nil:
		return backends.Grant{}, nil, lookErr
	case errors.Is(err, errLeased) && !stands.leased && stands.etag == s.etag:
		// Azure may say so for up to a minute after a lease has run out.
		return backends.Grant{}, nil, &backends.HeldError{Record: b.describe(stands)}
	}
	return backends.Grant{}, stands, err
}

// open is the grant that comes with an error: the ID may be, or come to be,
// acquired. Release frees it; the next Acquire uses it.
func (b *Backend) open(name string, s *sighting, rec *record.Record) backends.Grant {
	b.memory.keepID(name, rec.ID)
	return grant(name, s, &title{rec: rec, open: true})
}

// write puts the record of a term into the blob of s, under the lease, and
// answers once it is known what became of it. errChanged and errNoLease are
// refusals; after any other error it is unknown.
func (b *Backend) write(ctx context.Context, name string, s *sighting, rec *record.Record) (*sighting, error) {
	data, err := rec.Encode()
	if err != nil {
		return nil, err
	}
	for range 2 { // the same bytes, twice at most
		var at *sighting
		at, err = b.blobs.write(ctx, b.blobName(name), s.etag, rec.ID, data)
		if err == nil {
			at.rec, at.leased, at.at = rec, true, b.clock.Now().Mono
			return b.memory.note(name, at), nil
		}
		err = fmt.Errorf("write: %w", err)
		if undecided(err) {
			return nil, err
		}
		found, lookErr := b.look(ctx, name)
		switch {
		case lookErr != nil:
			return nil, fmt.Errorf("%w; then %w", err, lookErr)
		case found.record().Nonce == rec.Nonce && found.leased:
			return found, nil
		case found.etag != s.etag:
			return nil, fmt.Errorf("write: %w", errChanged)
		case errors.Is(err, errNoLease):
			return nil, err
		}
	}
	return nil, err
}

// final reports whether Azure has refused the request for good.
func final(err error) bool {
	return errors.Is(err, errChanged) || errors.Is(err, errGone) || errors.Is(err, errLeased) || errors.Is(err, errNoLease) ||
		errors.Is(err, backends.ErrDenied) || errors.Is(err, backends.ErrNoContainer) || errors.Is(err, backends.ErrUnsupported) ||
		errors.Is(err, backends.ErrForeign)
}

// undecided reports whether reading the blob back would tell nothing.
func undecided(err error) bool {
	var retry *backends.RetryError
	return errors.As(err, &retry) || errors.Is(err, backends.ErrDenied) || errors.Is(err, backends.ErrNoContainer) ||
		errors.Is(err, backends.ErrUnsupported) || errors.Is(err, backends.ErrForeign)
}

func grant(name string, at *sighting, t *title) backends.Grant {
	r := t.rec
	return backends.Grant{
		Name: name, Holder: r.Holder, ID: r.ID, Token: r.Token, TTL: r.TTL,
		Version: string(at.etag), Done: r.Done, Proof: t,
	}
}
