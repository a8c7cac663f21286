package azurelease

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bloblease/bloblease/backends"
)

const maxTries = 4 // blobs that one call takes its chance against

// errAgain: the blob is not as it was seen to be. Look again.
var errAgain = errors.New("the blob is not as it was")

// Acquire implements backends.Backend. It costs two requests when this process
// knows the blob to be free, three when it has to read it, and four when it has to
// create it.
func (b *Backend) Acquire(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
	if err := b.CheckName(name); err != nil {
		return backends.Grant{}, err
	}
	if err := c.Check(b.Limits()); err != nil {
		return backends.Grant{}, err
	}
	a := &acquisition{Backend: b, name: name, claim: c}
	return a.run(ctx)
}

// An acquisition is one call of Acquire.
type acquisition struct {
	*Backend
	name   string
	claim  backends.Claim
	open   *title      // what may have been taken, or may yet be, by this call or an earlier one
	denied azcore.ETag // of a blob whose lease was refused, though it may have seemed free
}

// run takes its chance against what it finds, a few times at most. With an error
// comes the grant of what may have been taken.
func (a *acquisition) run(ctx context.Context) (backends.Grant, error) {
	s, err := a.known(ctx)
	for tries := 1; err == nil; tries++ {
		g, failed := a.try(ctx, s)
		switch {
		case failed == nil:
			return g, nil
		case !errors.Is(failed, errAgain):
			err = failed
		case tries == maxTries:
			err = &backends.RetryError{Err: fmt.Errorf("%d tries: %w", maxTries, failed)}
		default:
			s, err = a.again(ctx, failed)
		}
	}
	if a.open == nil {
		return backends.Grant{}, err
	}
	return a.open.grant(a.name, a.open.base), err
}

// again looks at the blob after a try that failed. What may have come of that
// try is from then on for held to find out.
func (a *acquisition) again(ctx context.Context, failed error) (*sighting, error) {
	s, err := a.look(ctx, a.name)
	if err != nil {
		return nil, fmt.Errorf("%w; then %w", failed, err)
	}
	a.open = nil
	return s, nil
}

// known is what the blob is, as far as that is worth a try.
func (a *acquisition) known(ctx context.Context) (*sighting, error) {
	if s := a.memory.free(a.name); s != nil {
		return s, nil
	}
	return a.look(ctx, a.name)
}

// try starts a term on the blob of s, if nothing stands in the way.
func (a *acquisition) try(ctx context.Context, s *sighting) (backends.Grant, error) {
	switch {
	case s.leased:
		return backends.Grant{}, a.held(ctx, s)
	case s.exists && s.rec == nil:
		return backends.Grant{}, s.foreign
	case s.exists && s.etag == a.denied:
		// Azure may refuse a lease for up to a minute after the last one has
		// run out, and somebody else may give back what he has just taken.
		return backends.Grant{}, &backends.HeldError{Record: heldBySomebody(a.describe(s))}
	}
	return a.take(ctx, s)
}

// held is what becomes of a blob that is leased: it is settled first if it may be
// this process that has leased it, without knowing.
func (a *acquisition) held(ctx context.Context, s *sighting) error {
	t := a.memory.candidate(a.name)
	if t == nil {
		return &backends.HeldError{Record: a.describe(s)}
	}
	a.open = t
	if err := a.settle(ctx, a.name, s, t); err != nil && !errors.Is(err, backends.ErrLost) {
		return fmt.Errorf("settle: %w", err)
	}
	a.open = nil
	return errAgain
}

// take starts a new term on the blob of s.
func (a *acquisition) take(ctx context.Context, s *sighting) (backends.Grant, error) {
	t, err := a.newTitle(a.name, a.claim, s)
	if err != nil {
		return backends.Grant{}, err
	}
	a.open = t
	if !s.exists {
		if err := a.make(ctx, t); err != nil {
			return backends.Grant{}, err
		}
	}
	if err := a.lease(ctx, t); err != nil {
		return backends.Grant{}, err
	}
	at, err := a.write(ctx, a.name, t.handle, t.base, true, t.page)
	if err != nil || !at.leased {
		return backends.Grant{}, a.giveBack(ctx, at, t, err)
	}
	t.open = false
	return t.grant(a.name, at.etag), nil
}

// make creates the blob, as free: a lease needs one.
func (a *acquisition) make(ctx context.Context, t *title) error {
	p, err := pageOf(t.placeholder())
	if err != nil {
		return err
	}
	s, err := t.create(ctx, p)
	switch {
	case err == nil:
		t.base = a.note(a.name, s).etag
		return nil
	case refused(err) || unknown(err):
		return fmt.Errorf("create: %w: %w", errAgain, err)
	case barred(err):
		a.open = nil
	}
	return fmt.Errorf("create: %w", err)
}

// lease acquires the Azure lease, if the blob is still the one that was seen. The
// same request may go out twice: under the same ID that is as good as once.
func (a *acquisition) lease(ctx context.Context, t *title) error {
	tries := 0
	err := repeat(ctx, func() error {
		tries++
		return t.acquire(ctx, t.rec.TTL, t.base)
	})
	if err == nil {
		return nil
	}
	if tries == 1 && (barred(err) || matches(err, errLeased)) { // so it is not under this ID
		a.open = nil
	} else { // the first may have been applied, or may yet be
		a.memory.abandon(a.name, t)
	}
	if matches(err, errLeased) {
		a.denied = t.base
	}
	if refused(err) || matches(err, backends.ErrNoContainer) && a.create {
		return fmt.Errorf("acquire: %w: %w", errAgain, err) // looking tells more
	}
	return fmt.Errorf("acquire: %w", err)
}

// giveBack frees a lease whose record was not written, or not to anybody's
// knowledge: at is what stands there if that is known. It tries once, so that
// others need not wait for it to run out.
func (a *acquisition) giveBack(ctx context.Context, at *sighting, t *title, err error) error {
	if at != nil && !at.leased {
		a.open = nil
		return fmt.Errorf("%w: the lease has ended meanwhile", errAgain)
	}
	a.memory.abandon(a.name, t)
	released := t.release(ctx)
	if at == nil {
		return err
	}
	if released == nil || refused(released) {
		a.open = nil
	}
	return fmt.Errorf("%w: %w", errAgain, err)
}

// errRefused: the write was not applied and will not be.
var errRefused = errors.New("the record has changed")

// write puts p into the blob with this ETag, under the lease of h if it is leased,
// and answers once it is known what became of it: with the own record as it
// stands; or with what stands in its place, and errRefused. After any other error
// it is unknown.
func (b *Backend) write(ctx context.Context, name string, h *handle, etag azcore.ETag, leased bool, p page) (_ *sighting, err error) {
	for range 2 { // the same bytes, twice at most
		var s *sighting
		if s, err = h.write(ctx, etag, leased, p); err == nil {
			return b.note(name, s), nil
		}
		err = fmt.Errorf("write: %w", err)
		if barred(err) || busy(err) {
			return nil, err
		}
		found, failed := b.look(ctx, name)
		switch {
		case failed != nil:
			return nil, fmt.Errorf("%w; then %w", err, failed)
		case found.record().Nonce == p.rec.Nonce:
			return found, nil
		case found.etag != etag || matches(err, errNoLease, errBroken, errLeased):
			return found, fmt.Errorf("%w: %w", errRefused, err)
		}
	}
	return nil, err
}

// repeat asks a second time if it is unknown what became of the first.
func repeat(ctx context.Context, ask func() error) error {
	err := ask()
	if unknown(err) && ctx.Err() == nil {
		err = ask()
	}
	return err
}
