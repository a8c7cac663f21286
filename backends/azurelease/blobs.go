package azurelease

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/bloblease/bloblease/internal/record"
)

// blobs is what the backend needs of the SDK: each method is one request,
// and its errors are those of errors.go.
type blobs struct {
	container *container.Client
	remedy    string // the command that makes the container
}

// once switches the SDK's retries off: a second try would see the first one's
// effect, and answer for it.
func once(ctx context.Context) context.Context {
	return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
}

// get reads the blob with its lease state, both from one answer. A body that is
// no record makes a sighting without one. If the blob is as in last, its body is
// not decoded again.
func (b *blobs) get(ctx context.Context, name string, last *sighting) (*sighting, error) {
	r, err := b.container.NewBlobClient(name).DownloadStream(once(ctx), nil)
	if err != nil {
		return absent(b.explain(err))
	}
	defer func() { _ = r.Body.Close() }()
	s, err := shown(&r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, record.MaxSize+1))
	switch {
	case err != nil:
		return nil, b.explain(err)
	case last != nil && last.exists && last.etag == s.etag:
		s.rec, s.foreign = last.rec, last.foreign
	default:
		if s.rec, s.foreign = record.Decode(data); s.foreign != nil {
			s.rec = nil
		}
	}
	return s, nil
}

// absent makes a sighting of the answer that there is no blob.
func absent(err error) (*sighting, error) {
	var e *azureError
	if errors.As(err, &e) && matches(e, errGone) {
		return &sighting{now: e.date}, nil
	}
	return nil, err
}

// shown is what the headers of a blob tell. An answer without lease state or with
// a weak ETag comes from something else than Azure, or by way of it.
func shown(r *blob.DownloadStreamResponse) (*sighting, error) {
	s := &sighting{exists: true, etag: value(r.ETag), now: value(r.Date), infinite: value(r.LeaseDuration) == lease.DurationTypeInfinite}
	switch value(r.LeaseState) {
	case lease.StateTypeLeased, lease.StateTypeBreaking:
		s.leased = true
	case lease.StateTypeAvailable, lease.StateTypeExpired, lease.StateTypeBroken:
	default:
		return nil, unsupported("the answer tells no lease state, so it is not from Azure Blob Storage")
	}
	if s.etag == "" || strings.HasPrefix(string(s.etag), "W/") {
		return nil, unsupported("the answer has no strong ETag: something between here and Azure changes it")
	}
	return s, nil
}

// create writes a blob that must not exist.
func (h *handle) create(ctx context.Context, p page) (*sighting, error) {
	return h.upload(ctx, p, &blob.AccessConditions{
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: ptr(azcore.ETagAny)},
	})
}

// write replaces a blob that must be as it was, and if leased, under this lease.
func (h *handle) write(ctx context.Context, etag azcore.ETag, leased bool, p page) (*sighting, error) {
	conditions := &blob.AccessConditions{
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag},
	}
	if leased {
		conditions.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &h.id}
	}
	s, err := h.upload(ctx, p, conditions)
	if err == nil {
		s.leased = leased
	}
	return s, err
}

var (
	contentType  = "application/json"
	cacheControl = "no-store"
)

func (h *handle) upload(ctx context.Context, p page, c *blob.AccessConditions) (*sighting, error) {
	r, err := h.blob.Upload(once(ctx), streaming.NopCloser(bytes.NewReader(p.data)), &blockblob.UploadOptions{
		AccessConditions: c,
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: &contentType, BlobCacheControl: &cacheControl},
	})
	if err != nil {
		return nil, h.blobs.explain(err)
	}
	return &sighting{exists: true, etag: value(r.ETag), now: value(r.Date), rec: p.rec}, nil
}

// A page is a record with its stored form.
type page struct {
	rec  *record.Record
	data []byte
}

func pageOf(rec *record.Record) (page, error) {
	data, err := rec.Encode()
	return page{rec, data}, err
}

// A handle is a blob and a lease ID for it, which it may or may not hold. Its methods
// are one request each.
type handle struct {
	blobs *blobs
	name  string
	id    string
	blob  *blockblob.Client
	lease *lease.BlobClient
}

// handle makes one, with a lease ID that nobody else knows.
func (b *blobs) handle(name string) (*handle, error) {
	h := &handle{blobs: b, name: name, id: newLeaseID(), blob: b.container.NewBlockBlobClient(name)}
	var err error
	h.lease, err = lease.NewBlobClient(h.blob, &lease.BlobClientOptions{LeaseID: &h.id})
	return h, err
}

// acquire takes the Azure lease of a blob that must be as it was. With an ID that
// holds it already it begins anew.
func (h *handle) acquire(ctx context.Context, ttl time.Duration, etag azcore.ETag) error {
	_, err := h.lease.AcquireLease(once(ctx), int32(ttl/time.Second), &lease.BlobAcquireOptions{ //nolint:gosec // 15 to 60, as Limits says
		ModifiedAccessConditions: &lease.ModifiedAccessConditions{IfMatch: &etag},
	})
	return h.blobs.explain(err)
}

func (h *handle) renew(ctx context.Context) error {
	_, err := h.lease.RenewLease(once(ctx), nil)
	return h.blobs.explain(err)
}

func (h *handle) release(ctx context.Context) error {
	_, err := h.lease.ReleaseLease(once(ctx), nil)
	return h.blobs.explain(err)
}

// breakLease ends whatever lease there is after what remains of it, or at once.
// It returns how many seconds that is.
func (h *handle) breakLease(ctx context.Context, etag azcore.ETag, now bool) (remaining int32, err error) {
	o := &lease.BlobBreakOptions{ModifiedAccessConditions: &lease.ModifiedAccessConditions{IfMatch: &etag}}
	if now {
		o.BreakPeriod = ptr[int32](0)
	}
	r, err := h.lease.BreakLease(once(ctx), o)
	return value(r.LeaseTime), h.blobs.explain(err)
}

// createContainer makes the container; that it exists is no error.
func (b *blobs) createContainer(ctx context.Context) error {
	_, err := b.container.Create(once(ctx), nil)
	if bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return nil
	}
	return b.explain(err)
}

func ptr[T any](v T) *T { return &v }

// value is *p, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
