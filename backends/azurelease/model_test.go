package azurelease_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
)

const containerName = "leases"

// A model is a model of Azure behind a network, reached through the real SDK.
type model struct {
	*azure.Container
	account *azure.Account
	layer   *fakestore.Layer
}

// newModel makes one with an empty container. It ends with the test.
func newModel(t testing.TB, o *azure.Options) *model {
	account := azure.New(time.Now, o)
	m := &model{account.Container(containerName), account, fakestore.New(account, &fakestore.Options{Kind: azure.Kind})}
	t.Cleanup(m.layer.Close)
	m.Create()
	return m
}

// client returns a backend that knows nothing of what others did.
func (m *model) client(t testing.TB) *azurelease.Backend {
	t.Helper()
	c, err := azurechecks.NewClient(m.layer, containerName)
	require.NoError(t, err)
	b, err := azurelease.New(c, nil)
	require.NoError(t, err)
	return b
}

// inject does these faults to the requests of one kind, in this order.
func (m *model) inject(o azure.Operation, faults ...fakestore.Fault) {
	m.layer.Inject(fakestore.Each(faults...).Where(azure.Is(o)))
}

// count splits the requests of a layer into those that read and those that may
// write.
func count(l *fakestore.Layer) (c backendtest.Count) {
	for kind, n := range l.Counts() {
		switch azure.Operation(kind) {
		case azure.GetBlob, azure.HeadBlob, azure.ListBlobs:
			c.Reads += n
		default:
			c.Writes += n
		}
	}
	return c
}

// schedule makes HTTP's faults of the suite's.
func schedule(container string, s backendtest.Schedule) fakestore.Schedule {
	if s == nil {
		return nil
	}
	return func(r *http.Request) fakestore.Fault {
		op := backendtest.Put
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			op = backendtest.Load
		}
		_, name, _ := strings.Cut(r.URL.Path, "/"+container+"/")
		return translate(r, s(backendtest.Request{Op: op, Name: name}))
	}
}

func translate(r *http.Request, f backendtest.Fault) fakestore.Fault {
	answer := fakestore.Fault{}
	if f.Err != nil {
		answer = said(r, f.Err)
	}
	answer.Before, answer.Dropped, answer.Again = f.Before, f.Dropped, f.Again
	answer.After, answer.Stale, answer.Hang = f.After, f.Stale, f.Hang
	return answer
}

// said is what Azure says, or does not, when a Store would answer err.
func said(r *http.Request, err error) fakestore.Fault {
	var retry *backends.RetryError
	switch {
	case errors.As(err, &retry):
		return azure.ServerBusy(retry.After)
	case errors.Is(err, cas.ErrConflict):
		return refusal(conflict(r))
	case errors.Is(err, cas.ErrVanished):
		return refusal(http.StatusNotFound, "BlobNotFound")
	case errors.Is(err, backends.ErrDenied):
		return refusal(http.StatusForbidden, "AuthorizationPermissionMismatch")
	case errors.Is(err, backends.ErrNoContainer):
		return refusal(http.StatusNotFound, "ContainerNotFound")
	case errors.Is(err, backends.ErrUnsupported):
		return refusal(http.StatusBadRequest, "UnsupportedHeader")
	default:
		return fakestore.LostAfter()
	}
}

// conflict is how Azure refuses a request whose condition does not hold.
func conflict(r *http.Request) (status int, code string) {
	switch {
	case r.Header.Get("If-None-Match") == "*":
		return http.StatusConflict, "BlobAlreadyExists"
	case r.Header.Get("If-Match") != "":
		return http.StatusPreconditionFailed, "ConditionNotMet"
	default: // the condition of a renewal and of a release is the lease
		return http.StatusConflict, "LeaseIdMismatchWithLeaseOperation"
	}
}

func refusal(status int, code string) fakestore.Fault {
	f := fakestore.RefusedAfter(status, -1)
	f.Header = http.Header{"X-Ms-Error-Code": {code}}
	return f
}

// direct is a client of the container on which no faults befall.
func (m *model) direct(t testing.TB) *container.Client {
	layer := fakestore.New(m.account, nil)
	t.Cleanup(layer.Close)
	c, err := azurechecks.NewClient(layer, containerName)
	require.NoError(t, err)
	return c
}

// overwrite replaces the body of a blob, under a lease if id is not empty.
func overwrite(c *container.Client, name, id string, body []byte) error {
	o := &blockblob.UploadBufferOptions{AccessConditions: &blob.AccessConditions{}}
	if id != "" {
		o.AccessConditions.LeaseAccessConditions = &blob.LeaseAccessConditions{LeaseID: &id}
	}
	_, err := c.NewBlockBlobClient(name).UploadBuffer(context.Background(), body, o)
	return err
}

func contextWithin(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// creating is a client that makes the container if it is missing.
func (m *model) creating(t testing.TB) *azurelease.Backend {
	t.Helper()
	c, err := azurechecks.NewClient(m.layer, containerName)
	require.NoError(t, err)
	b, err := azurelease.New(c, &azurelease.Options{Create: true})
	require.NoError(t, err)
	return b
}

// forever leases a blob without end, as other programs do.
func (m *model) forever(t testing.TB, name string) { m.leaseFor(t, name, -1) }

// leaseFor leases a blob for some seconds, as other programs do.
func (m *model) leaseFor(t testing.TB, name string, seconds int32) {
	t.Helper()
	c, err := lease.NewBlobClient(m.direct(t).NewBlobClient(name), nil)
	require.NoError(t, err)
	_, err = c.AcquireLease(t.Context(), seconds, nil)
	require.NoError(t, err)
}
