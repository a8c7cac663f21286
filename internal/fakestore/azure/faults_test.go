package azure_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
)

// What the real SDK makes of faults: the traps that a backend has to know.

// A trap is a blob behind a layer, in a bubble, and a client with the SDK's own
// retries.
type trap struct {
	layer *fakestore.Layer
	locks *azure.Container
	blob  *blockblob.Client
	ctx   context.Context // with the SDK's default retries
}

func inTrap(t *testing.T, f func(*testing.T, *trap)) {
	synctest.Test(t, func(t *testing.T) {
		account := azure.New(time.Now, nil)
		layer := fakestore.New(account, &fakestore.Options{Kind: azure.Kind})
		defer layer.Close()
		locks := account.Container("locks")
		locks.Create()
		c, err := azurechecks.NewClient(layer, "locks")
		require.NoError(t, err)
		x := &trap{layer, locks, c.NewBlockBlobClient("x"), policy.WithRetryOptions(t.Context(), policy.RetryOptions{})}
		_, err = x.blob.UploadBuffer(t.Context(), []byte("first"), nil)
		require.NoError(t, err)
		layer.ResetCounts()
		f(t, x)
	})
}

func (x *trap) inject(o azure.Operation, faults ...fakestore.Fault) {
	x.layer.Inject(fakestore.Each(faults...).Where(azure.Is(o)))
}

func (x *trap) lease(t *testing.T, id string) *lease.BlobClient {
	t.Helper()
	c, err := lease.NewBlobClient(x.blob, &lease.BlobClientOptions{LeaseID: &id})
	require.NoError(t, err)
	return c
}

func (x *trap) hold(t *testing.T, id string) *lease.BlobClient {
	t.Helper()
	c := x.lease(t, id)
	_, err := c.AcquireLease(t.Context(), 15, nil)
	require.NoError(t, err)
	return c
}

func TestTheSDKRepeatsAReleaseAndIsTold409(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		holder := x.hold(t, idA)
		x.inject(azure.ReleaseLease, fakestore.LostAfter())
		_, err := holder.ReleaseLease(x.ctx, nil)
		assert.True(t, bloberror.HasCode(err, bloberror.LeaseIDMismatchWithLeaseOperation), err)
		assert.Equal(t, 2, x.layer.Counts()["release lease"])
	})
}

func TestTheSDKRepeatsAnAcquireUnderTheSameID(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		x.inject(azure.AcquireLease, fakestore.LostAfter())
		_, err := x.lease(t, idA).AcquireLease(x.ctx, 15, nil)
		require.NoError(t, err)
		assert.Equal(t, 2, x.layer.Counts()["acquire lease"])
	})
}

func TestTheSDKMistakesItsOwnWriteForAnothers(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		look, _ := x.locks.Look("x")
		x.inject(azure.PutBlob, fakestore.LostAfter())
		_, err := x.blob.UploadBuffer(x.ctx, []byte("second"), &blockblob.UploadBufferOptions{
			AccessConditions: ifMatch(look.ETag),
		})
		assert.True(t, bloberror.HasCode(err, bloberror.ConditionNotMet), err)
		look, _ = x.locks.Look("x")
		assert.Equal(t, "second", string(look.Body))
	})
}

func TestTheSDKWaitsAsLongAsItIsTold(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		start := time.Now()
		x.inject(azure.HeadBlob, azure.ServerBusy(7*time.Second), azure.OperationTimedOut())
		_, err := x.blob.GetProperties(x.ctx, nil)
		require.NoError(t, err)
		assert.InDelta(t, 9, time.Since(start).Seconds(), 1, "then its own backoff")
	})
}

func TestWithoutRetriesEveryFaultSurfaces(t *testing.T) {
	for want, fault := range map[string]fakestore.Fault{
		"ServerBusy":           azure.ServerBusy(time.Second),
		"OperationTimedOut":    azure.OperationTimedOut(),
		"AuthenticationFailed": azure.Denied("AuthenticationFailed"),
	} {
		inTrap(t, func(t *testing.T, x *trap) {
			holder := x.hold(t, idA)
			x.inject(azure.RenewLease, fault)
			_, err := holder.RenewLease(t.Context(), nil)
			var refusal *azcore.ResponseError
			require.ErrorAs(t, err, &refusal)
			assert.Equal(t, want, refusal.ErrorCode)
			assert.Equal(t, 1, x.layer.Counts()["renew lease"])
		})
	}
}

func TestALateDuplicateOfAnAcquireRevivesAReleasedLease(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		x.inject(azure.AcquireLease, fakestore.Twice(5*time.Second))
		holder := x.hold(t, idA)
		_, err := holder.ReleaseLease(t.Context(), nil)
		require.NoError(t, err)
		x.layer.Wait()
		look, _ := x.locks.Look("x")
		assert.Equal(t, azure.Leased, look.Lease, "and nobody knows that he holds it")
	})
}

func TestALateDuplicateUnderIfMatchDies(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		look, _ := x.locks.Look("x")
		x.inject(azure.AcquireLease, fakestore.Twice(5*time.Second))
		holder := x.lease(t, idA)
		_, err := holder.AcquireLease(t.Context(), 15, &lease.BlobAcquireOptions{
			ModifiedAccessConditions: ifMatch(look.ETag).ModifiedAccessConditions,
		})
		require.NoError(t, err)
		_, err = x.blob.UploadBuffer(t.Context(), []byte("second"), &blockblob.UploadBufferOptions{
			AccessConditions: withLease(idA),
		})
		require.NoError(t, err)
		_, err = holder.ReleaseLease(t.Context(), nil)
		require.NoError(t, err)
		x.layer.Wait()
		look, _ = x.locks.Look("x")
		assert.Equal(t, azure.Available, look.Lease)
	})
}

func TestAHungRequestEndsWithItsContext(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		holder := x.hold(t, idA)
		x.inject(azure.RenewLease, fakestore.HungAfter())
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		_, err := holder.RenewLease(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 2*time.Second, time.Since(start))
		look, _ := x.locks.Look("x")
		assert.Equal(t, 13*time.Second, look.Remaining, "it was renewed all the same")
	})
}

func TestAStaleReadShowsAnEarlierLease(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		state := func() string {
			resp, err := x.blob.GetProperties(t.Context(), nil)
			require.NoError(t, err)
			return string(*resp.LeaseState)
		}
		require.Equal(t, "available", state())
		x.hold(t, idA)
		x.inject(azure.HeadBlob, fakestore.StaleRead())
		assert.Equal(t, "available", state())
		assert.Equal(t, "leased", state())
	})
}

func TestTransportErrorsComeThrough(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		broken := errors.New("certificate has expired")
		x.inject(azure.HeadBlob, fakestore.Fault{Dropped: true, Err: broken})
		_, err := x.blob.GetProperties(t.Context(), nil)
		require.ErrorIs(t, err, broken)
	})
}

func TestARedirectLeadsElsewhere(t *testing.T) {
	inTrap(t, func(t *testing.T, x *trap) {
		x.inject(azure.HeadBlob, fakestore.Redirected("https://elsewhere.example/locks/missing"))
		_, err := x.blob.GetProperties(t.Context(), nil)
		var refusal *azcore.ResponseError
		require.ErrorAs(t, err, &refusal)
		assert.Equal(t, http.StatusNotFound, refusal.StatusCode)
	})
}

func ifMatch(etag string) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{
		IfMatch: (*azcore.ETag)(&etag),
	}}
}

func withLease(id string) *blob.AccessConditions {
	return &blob.AccessConditions{LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: &id}}
}
