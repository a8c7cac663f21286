package azure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/fakestore/azure"
)

func TestAnOperatorIsRefusedLikeAnybodyElse(t *testing.T) {
	b := newBench(t, nil).held()
	const refused = "412 LeaseIdMissing: There is currently a lease on the blob and no lease ID was specified in the request."
	require.EqualError(t, b.locks.Delete("x"), refused)
	require.EqualError(t, b.locks.Overwrite("x", []byte("second")), refused)
	require.EqualError(t, b.locks.SetMetadata("x", nil), refused)
	assert.EqualError(t, b.locks.Delete("y"), "404 BlobNotFound: The specified blob does not exist.")
}

func TestAnOperatorBreaksALease(t *testing.T) {
	b := newBench(t, nil).held()
	remaining, err := b.locks.Break("x", 5*time.Second)
	require.NoError(t, err)
	assert.Equal(t, 5*time.Second, remaining)
	assert.Equal(t, "409 LeaseIsBrokenAndCannotBeRenewed", b.lease("renew", "x-ms-lease-id", idA))
	assert.Equal(t, "201", b.put("second", "x-ms-lease-id", idA), "while it is breaking")
	b.pass(5 * time.Second)
	assert.Equal(t, "412 LeaseLost", b.put("third", "x-ms-lease-id", idA))
	require.NoError(t, b.locks.Delete("x"))
	_, ok := b.locks.Look("x")
	assert.False(t, ok)
}

func TestAnInfiniteLeaseIsBrokenAtOnce(t *testing.T) {
	b := newBench(t, nil)
	b.put("first")
	require.Equal(t, "201", b.lease("acquire", "x-ms-lease-duration", "-1", "x-ms-proposed-lease-id", idA))
	look, _ := b.locks.Look("x")
	assert.Equal(t, azure.Infinite, look.Remaining)
	remaining, err := b.locks.Break("x", -1)
	require.NoError(t, err)
	assert.Zero(t, remaining)
	assert.Equal(t, "201", b.acquire(idB))
}

func TestALookTellsEverything(t *testing.T) {
	b := newBench(t, nil).held()
	b.pass(5 * time.Second)
	look, ok := b.locks.Look("x")
	require.True(t, ok)
	assert.Equal(t, "first", string(look.Body))
	assert.Equal(t, azure.Leased, look.Lease)
	assert.Equal(t, idA, look.LeaseID)
	assert.Equal(t, 10*time.Second, look.Remaining)
	b.pass(10 * time.Second)
	look, _ = b.locks.Look("x")
	assert.Equal(t, azure.Expired, look.Lease)
	assert.Equal(t, idA, look.LeaseID)
	assert.Zero(t, look.Remaining)
}

func TestAnEditIsAWrite(t *testing.T) {
	b := newBench(t, nil).expired()
	before, _ := b.locks.Look("x")
	require.NoError(t, b.locks.Overwrite("x", []byte("second")))
	after, _ := b.locks.Look("x")
	assert.Equal(t, "second", string(after.Body))
	assert.NotEqual(t, before.ETag, after.ETag)
	assert.Empty(t, after.LeaseID)
	require.NoError(t, b.locks.SetMetadata("x", map[string]string{"Note": "seen"}))
	look, _ := b.locks.Look("x")
	assert.Equal(t, map[string]string{"Note": "seen"}, look.Metadata)
}

func TestARestoredBlobIsANewVersionWithoutLease(t *testing.T) {
	b := newBench(t, nil).held()
	saved := b.locks.Save("x")
	old, _ := b.locks.Look("x")
	require.Equal(t, "201", b.put("second", "x-ms-lease-id", idA))
	b.locks.Restore("x", saved)
	look, _ := b.locks.Look("x")
	assert.Equal(t, "first", string(look.Body))
	assert.NotEqual(t, old.ETag, look.ETag)
	assert.Equal(t, azure.Available, look.Lease)
	assert.Equal(t, "201", b.acquire(idB), "although A was never told")
}

func TestAFailoverForgetsWhatWasAcknowledged(t *testing.T) {
	b := newBench(t, nil)
	nothing := b.locks.Save("x")
	b.held()
	saved := b.locks.Save("x")
	old, _ := b.locks.Look("x")
	require.Equal(t, "201", b.put("second", "x-ms-lease-id", idA))
	b.locks.RollBack("x", saved)
	look, _ := b.locks.Look("x")
	assert.Equal(t, old, look, "the ETag and the lease too")
	b.locks.RollBack("x", nothing)
	assert.Empty(t, b.locks.Names())
}

func TestAContainerVanishesWithItsLeases(t *testing.T) {
	b := newBench(t, nil).held()
	b.locks.Vanish()
	assert.Equal(t, "404 ContainerNotFound", b.lease("renew", "x-ms-lease-id", idA))
	b.locks.Create()
	b.locks.Create()
	assert.Empty(t, b.locks.Names())
}
