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
func (b *blobs) create(ctx context.Context, name string, data []byte) (*sighting, error) {
	return b.upload(ctx, name, data, &blob.AccessConditions{
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: ptr(azcore.ETagAny)},
	})
}

// write replaces a blob that must be as it was, under a lease if id is not "".
func (b *blobs) write(ctx context.Context, name string, etag azcore.ETag, id string, data []byte) (*sighting, error) {
	conditions := &blob.AccessConditions{
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &etag},
	}
	if id != "" {
		conditions.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &id}
	}
	return b.upload(ctx, name, data, conditions)
}

func (b *blobs) upload(ctx context.Context, name string, data []byte, c *blob.AccessConditions) (*sighting, error) {
	r, err := b.container.NewBlockBlobClient(name).Upload(once(ctx), streaming.NopCloser(bytes.NewReader(data)), &blockblob.UploadOptions{
		AccessConditions: c,
		HTTPHeaders: &blob.HTTPHeaders{
			BlobContentType:  ptr("application/json"),
			BlobCacheControl: ptr("no-store"),
		},
	})
	if err != nil {
		return nil, b.explain(err)
	}
	return &sighting{exists: true, etag: value(r.ETag), now: value(r.Date)}, nil
}

// acquire takes the Azure lease of a blob that must be as it was. With an ID that
// holds it already it begins anew.
func (b *blobs) acquire(ctx context.Context, name, id string, ttl time.Duration, etag azcore.ETag) error {
	c, err := b.lease(name, id)
	if err != nil {
		return err
	}
	_, err = c.AcquireLease(once(ctx), int32(ttl/time.Second), &lease.BlobAcquireOptions{ //nolint:gosec // 15 to 60, as Limits says
		ModifiedAccessConditions: &lease.ModifiedAccessConditions{IfMatch: &etag},
	})
	return b.explain(err)
}

func (b *blobs) renew(ctx context.Context, name, id string) error {
	c, err := b.lease(name, id)
	if err != nil {
		return err
	}
	_, err = c.RenewLease(once(ctx), nil)
	return b.explain(err)
}

func (b *blobs) release(ctx context.Context, name, id string) error {
	c, err := b.lease(name, id)
	if err != nil {
		return err
	}
	_, err = c.ReleaseLease(once(ctx), nil)
	return b.explain(err)
}

// breakLease ends whatever lease there is after what remains of it, or at once.
// It returns how many seconds that is.
func (b *blobs) breakLease(ctx context.Context, name string, etag azcore.ETag, now bool) (remaining int32, err error) {
	c, err := b.lease(name, newLeaseID()) // the request carries none
	if err != nil {
		return 0, err
	}
	o := &lease.BlobBreakOptions{ModifiedAccessConditions: &lease.ModifiedAccessConditions{IfMatch: &etag}}
	if now {
		o.BreakPeriod = ptr[int32](0)
	}
	r, err := c.BreakLease(once(ctx), o)
	return value(r.LeaseTime), b.explain(err)
}

func (b *blobs) lease(name, id string) (*lease.BlobClient, error) {
	return lease.NewBlobClient(b.container.NewBlobClient(name), &lease.BlobClientOptions{LeaseID: &id})
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
