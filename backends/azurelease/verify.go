package azurelease

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/probe"
	"github.com/bloblease/bloblease/internal/record"
)

var _ backends.Verifier = (*Backend)(nil)

// Verify implements backends.Verifier. Beside the conditions it tries out the
// leases of a blob. It does not wait for one to run out.
func (b *Backend) Verify(ctx context.Context) (backends.Report, error) {
	if b.create {
		if err := b.blobs.createContainer(ctx); err != nil {
			return backends.Report{}, fmt.Errorf("verify %s: create container: %w", b.title(), err)
		}
	}
	return probe.Run(ctx, probe.Subject{
		Store: probe.Store{Load: b.probeLoad, Put: b.probeWrite, Touch: b.probeWrite},
		Title: b.title(), Clock: b.clock, Right: right, Extra: b.inspect,
	})
}

// title names the container without the secrets that its URL may have.
func (b *Backend) title() string {
	u, err := url.Parse(b.blobs.container.URL())
	if err != nil {
		return "a container of Azure"
	}
	return fmt.Sprintf("container %s%s, prefix %q", u.Host, u.Path, b.prefix)
}

func right(r probe.Right, denial error) string {
	var e *azureError
	if !errors.As(denial, &e) || denials[bloberror.Code(e.code)] != "" { // it says itself what is wrong
		return ""
	}
	if r == probe.Read || r == probe.Find {
		return "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read (in a SAS: r)"
	}
	return "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write (in a SAS: c and w)"
}

func (b *Backend) probeLoad(ctx context.Context, name string) (probe.Object, error) {
	s, err := b.blobs.get(ctx, b.blobName(name), nil)
	if err != nil {
		return probe.Object{}, err
	}
	return probe.Object{Exists: s.exists, Version: string(s.etag), Record: s.rec, Now: s.now}, nil
}

func (b *Backend) probeWrite(ctx context.Context, name, version string, rec *record.Record) (probe.Object, error) {
	h, err := b.blobs.handle(b.blobName(name))
	if err != nil {
		return probe.Object{}, err
	}
	p, err := pageOf(rec)
	if err != nil {
		return probe.Object{}, err
	}
	var s *sighting
	if version == "" {
		s, err = h.create(ctx, p)
	} else {
		s, err = h.write(ctx, azcore.ETag(version), false, p)
	}
	switch {
	case matches(err, errChanged, errExists, errGone):
		return probe.Object{}, fmt.Errorf("%w: %w", probe.ErrRefused, err)
	case matches(err, errLeased): // no lease user leases these
		return probe.Object{}, fmt.Errorf("%w: %w", probe.ErrDisturbed, err)
	case err != nil:
		return probe.Object{}, err
	}
	return probe.Object{Exists: true, Version: string(s.etag), Now: s.now}, nil
}

const (
	twoHolders = "two processes may hold one lease at a time"
	notAzure   = "use another store: this one is not Azure Blob Storage, or something changes its answers"
	shortest   = 15 * time.Second
)

// inspect tries out the lease of a blob.
func (b *Backend) inspect(ctx context.Context, name, version string) ([]backends.Check, error) {
	blob, etag := b.blobName(name), azcore.ETag(version)
	var checks []backends.Check
	for _, check := range []func(context.Context, string, azcore.ETag) (backends.Check, error){b.exclusive, b.lease} {
		c, err := check(ctx, blob, etag)
		if err != nil {
			return checks, err
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// exclusive holds one lease and tries to get past it.
func (b *Backend) exclusive(ctx context.Context, blob string, etag azcore.ETag) (backends.Check, error) {
	c := backends.Check{Name: "lease excludes", Result: backends.Failed, Means: twoHolders, Do: notAzure}
	holder, err := b.blobs.handle(blob)
	if err != nil {
		return c, err
	}
	other, err := b.blobs.handle(blob)
	if err != nil {
		return c, err
	}
	page, err := pageOf(&record.Record{State: record.Free, Token: 1, Nonce: record.NewNonce()})
	if err != nil {
		return c, err
	}
	if err := holder.acquire(ctx, shortest, etag); err != nil {
		return c, fmt.Errorf("acquire the lease of a free blob: %w", err)
	}
	trespass := func(f func() error) (passed bool, err error) {
		if err = f(); refused(err) {
			return false, nil
		}
		return err == nil, err
	}
	for _, t := range []struct {
		what string
		do   func() error
	}{
		{"lets another acquire a lease that is held", func() error { return other.acquire(ctx, shortest, etag) }},
		{"writes to a leased blob without its lease", func() error { _, err := other.write(ctx, etag, false, page); return err }},
		{"writes to a leased blob under another lease ID", func() error { _, err := other.write(ctx, etag, true, page); return err }},
		{"renews a lease under another lease ID", func() error { return other.renew(ctx) }},
	} {
		passed, err := trespass(t.do)
		if passed || err != nil {
			c.Saw = "it " + t.what
			return c, err
		}
	}
	if err := holder.renew(ctx); err != nil {
		return c, fmt.Errorf("renew a lease: %w", err)
	}
	if err := holder.release(ctx); err != nil {
		return c, fmt.Errorf("release a lease: %w", err)
	}
	return backends.Check{Name: c.Name, Result: backends.Passed, Saw: "who does not hold a blob's lease gets nowhere"}, nil
}

// lease lets eight acquire the lease of a blob at once, again and again.
func (b *Backend) lease(ctx context.Context, blob string, etag azcore.ETag) (backends.Check, error) {
	c := backends.Check{Name: "lease race", Result: backends.Failed, Means: twoHolders, Do: notAzure}
	decided := 0
	for range 3 * probe.Rounds() {
		won, err := b.leaseRound(ctx, blob, etag)
		switch {
		case err != nil:
			return c, err
		case won > 1:
			c.Saw = fmt.Sprintf("%d of those that acquired one lease at once were told that they had it", won)
			return c, nil
		}
		if decided += won; decided == probe.Rounds() {
			saw := fmt.Sprintf("in %d rounds of acquiring it at once, one had it", decided)
			return backends.Check{Name: c.Name, Result: backends.Passed, Saw: saw}, nil
		}
	}
	return c, fmt.Errorf("the store was too busy: of %d rounds only %d had a winner", 3*probe.Rounds(), decided)
}

// leaseRound returns how many won, after one that won alone has released.
func (b *Backend) leaseRound(ctx context.Context, blob string, etag azcore.ETag) (won int, err error) {
	handles := make([]*handle, probe.Writers)
	for i := range handles {
		if handles[i], err = b.blobs.handle(blob); err != nil {
			return 0, err
		}
	}
	errs := probe.Meet(func(i int) error { return handles[i].acquire(ctx, shortest, etag) })
	var holder *handle
	for i, e := range errs {
		switch {
		case e == nil:
			won, holder = won+1, handles[i]
		case barred(e):
			return 0, e
		}
	}
	if won != 1 {
		return won, nil
	}
	if err := holder.release(ctx); err != nil {
		return 0, fmt.Errorf("release a lease: %w", err)
	}
	return 1, nil
}
