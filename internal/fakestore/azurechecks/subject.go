package azurechecks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/stretchr/testify/require"
)

// Lease IDs of the contenders in the checks.
const (
	idA = "aaaaaaaa-0000-4000-8000-000000000000"
	idB = "bbbbbbbb-0000-4000-8000-000000000000"
	idC = "cccccccc-0000-4000-8000-000000000000"
)

const shortest = 15 * time.Second // the shortest lease

// A subject is the blob of one check, with the requests that one can make of it
// in the form that keeps checks short.
type subject struct {
	t     testing.TB
	env   Env
	check string
	name  string
	blob  *blockblob.Client
	ctx   context.Context
}

func newSubject(t testing.TB, check string, e Env) *subject {
	return &subject{
		t: t, env: e, check: check, name: check,
		blob: e.Container.NewBlockBlobClient(check),
		ctx:  policy.WithRetryOptions(t.Context(), policy.RetryOptions{MaxRetries: -1}),
	}
}

// If is what a request may demand.
type If struct {
	match, noneMatch azcore.ETag
	since, notSince  time.Time
	lease            string
}

func (c If) conditions() *blob.AccessConditions {
	a := &blob.AccessConditions{ModifiedAccessConditions: c.modified()}
	if c.lease != "" {
		a.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &c.lease}
	}
	return a
}

func (c If) modified() *blob.ModifiedAccessConditions {
	return &blob.ModifiedAccessConditions{
		IfMatch: set(c.match), IfNoneMatch: set(c.noneMatch),
		IfModifiedSince: set(c.since), IfUnmodifiedSince: set(c.notSince),
	}
}

// set is nil for the zero value.
func set[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func (s *subject) put(body string, c If) (blockblob.UploadResponse, error) {
	return s.blob.Upload(s.ctx, streaming.NopCloser(bytes.NewReader([]byte(body))),
		&blockblob.UploadOptions{AccessConditions: c.conditions()})
}

func (s *subject) setMetadata(value string, c If) (blob.SetMetadataResponse, error) {
	return s.blob.SetMetadata(s.ctx, map[string]*string{"key": &value},
		&blob.SetMetadataOptions{AccessConditions: c.conditions()})
}

func (s *subject) delete(c If) error {
	_, err := s.blob.Delete(s.ctx, &blob.DeleteOptions{AccessConditions: c.conditions()})
	return err
}

func (s *subject) head(c If) (blob.GetPropertiesResponse, error) {
	return s.blob.GetProperties(s.ctx, &blob.GetPropertiesOptions{AccessConditions: c.conditions()})
}

func (s *subject) get(c If) (string, blob.DownloadStreamResponse, error) {
	resp, err := s.blob.DownloadStream(s.ctx, &blob.DownloadStreamOptions{AccessConditions: c.conditions()})
	if err != nil {
		return "", resp, err
	}
	if resp.Body == nil { // the SDK's way to say 304
		return "", resp, fmt.Errorf("304 %s", *resp.ErrorCode)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), resp, err
}

func (s *subject) leaseClient(id string) *lease.BlobClient {
	c, err := lease.NewBlobClient(s.blob, &lease.BlobClientOptions{LeaseID: &id})
	require.NoError(s.t, err)
	return c
}

func (s *subject) acquire(id string, d time.Duration, c If) (lease.BlobAcquireResponse, error) {
	seconds := int32(-1)
	if d >= 0 {
		seconds = int32(d / time.Second)
	}
	return s.leaseClient(id).AcquireLease(s.ctx, seconds, &lease.BlobAcquireOptions{ModifiedAccessConditions: c.modified()})
}

func (s *subject) renew(id string, c If) error {
	_, err := s.leaseClient(id).RenewLease(s.ctx, &lease.BlobRenewOptions{ModifiedAccessConditions: c.modified()})
	return err
}

func (s *subject) change(id, to string) error {
	_, err := s.leaseClient(id).ChangeLease(s.ctx, to, nil)
	return err
}

func (s *subject) release(id string, c If) error {
	_, err := s.leaseClient(id).ReleaseLease(s.ctx, &lease.BlobReleaseOptions{ModifiedAccessConditions: c.modified()})
	return err
}

// breakIn breaks the lease and returns the announced remaining time. A negative
// period is none.
func (s *subject) breakIn(period time.Duration) (time.Duration, error) {
	o := &lease.BlobBreakOptions{}
	if period >= 0 {
		seconds := int32(period / time.Second)
		o.BreakPeriod = &seconds
	}
	resp, err := s.leaseClient(idC).BreakLease(s.ctx, o)
	if err != nil {
		return 0, err
	}
	require.NotNil(s.t, resp.LeaseTime)
	return time.Duration(*resp.LeaseTime) * time.Second, nil
}

// create makes the blob, which must not exist, and returns its ETag.
func (s *subject) create() azcore.ETag {
	s.t.Helper()
	resp, err := s.put("first", If{noneMatch: azcore.ETagAny})
	s.ok(err)
	return *resp.ETag
}

// hold acquires the lease for the shortest time.
func (s *subject) hold(id string) {
	s.t.Helper()
	_, err := s.acquire(id, shortest, If{})
	s.ok(err)
}

// expire waits until a lease has run out that was taken just now.
func (s *subject) expire() { s.env.Sleep(shortest + time.Second/2) }

// state is the lease state that everybody sees, or "gone".
func (s *subject) state() string {
	s.t.Helper()
	resp, err := s.head(If{})
	if outcome(err) == "404 BlobNotFound" {
		return "gone"
	}
	s.ok(err)
	return string(*resp.LeaseState)
}

func (s *subject) etag() azcore.ETag {
	s.t.Helper()
	resp, err := s.head(If{})
	s.ok(err)
	return *resp.ETag
}
