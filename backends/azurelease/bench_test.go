package azurelease_test

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
)

// Each act beside the bare calls of the SDK that send the same requests, on clients
// made beforehand. What the model and the SDK cost is in both.

// The bench is one lease, once for the backend and once for the SDK.
type bench struct {
	b      *azurelease.Backend
	other  *azurelease.Backend // whose process has seen none of b's writes
	g      backends.Grant
	blob   *blockblob.Client
	lease  *lease.BlobClient
	etag   azcore.ETag
	record []byte
}

func newBench(t testing.TB) *bench {
	m := newModel(t, nil)
	c, err := azurechecks.NewClient(m.layer, containerName)
	require.NoError(t, err)
	b, err := azurelease.New(c, nil)
	require.NoError(t, err)
	other, err := azurelease.New(c, nil)
	require.NoError(t, err)
	x := &bench{b: b, other: other, g: acquire(t, b, "job")}
	look, _ := m.Look("job")
	x.record = look.Body
	x.prepare(t, c)
	return x
}

// prepare makes the SDK's clients, and leases a blob of the same content.
func (x *bench) prepare(t testing.TB, c *container.Client) {
	x.blob = c.NewBlockBlobClient("raw")
	r, err := x.blob.UploadBuffer(t.Context(), x.record, nil)
	require.NoError(t, err)
	x.etag = *r.ETag
	id := "aaaaaaaa-0000-4000-8000-000000000000"
	x.lease, err = lease.NewBlobClient(x.blob, &lease.BlobClientOptions{LeaseID: &id})
	require.NoError(t, err)
	x.take(t)
}

func (x *bench) take(t testing.TB) {
	_, err := x.lease.AcquireLease(t.Context(), 20, &lease.BlobAcquireOptions{
		ModifiedAccessConditions: &lease.ModifiedAccessConditions{IfMatch: &x.etag},
	})
	require.NoError(t, err)
}

func (x *bench) write(t testing.TB) {
	kind, cache := "application/json", "no-store"
	r, err := x.blob.Upload(t.Context(), streaming.NopCloser(bytes.NewReader(x.record)), &blockblob.UploadOptions{
		AccessConditions: &blob.AccessConditions{
			ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &x.etag},
			LeaseAccessConditions:    &blob.LeaseAccessConditions{LeaseID: x.lease.LeaseID()},
		},
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &kind, BlobCacheControl: &cache},
	})
	require.NoError(t, err)
	x.etag = *r.ETag
}

func (x *bench) read(t testing.TB) {
	r, err := x.blob.DownloadStream(t.Context(), nil)
	require.NoError(t, err)
	_, err = io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
}

func (x *bench) renew(t testing.TB) {
	_, err := x.lease.RenewLease(t.Context(), nil)
	require.NoError(t, err)
}

func (x *bench) free(t testing.TB) {
	_, err := x.lease.ReleaseLease(t.Context(), nil)
	require.NoError(t, err)
}

func (x *bench) renewGrant(t testing.TB) {
	g, err := x.b.Renew(t.Context(), x.g)
	require.NoError(t, err)
	x.g = g
}

func (x *bench) observe(t testing.TB) {
	_, err := x.b.Observe(t.Context(), "job")
	require.NoError(t, err)
}

func (x *bench) observeNew(t testing.TB) {
	_, err := x.other.Observe(t.Context(), "job")
	require.NoError(t, err)
}

func (x *bench) anotherTerm(t testing.TB) {
	x.release(t)
	x.acquire(t)
}

func (x *bench) release(t testing.TB) { require.NoError(t, x.b.Release(t.Context(), x.g)) }

func (x *bench) acquire(t testing.TB) { x.g = acquire(t, x.b, "job") }

func (x *bench) takeAndWrite(t testing.TB) {
	x.take(t)
	x.write(t)
}

// An act takes requests, and is measured without what prepares it.
var acts = []struct {
	name               string
	requests           uint64
	before, after      func(*bench, testing.TB)
	act, raw           func(*bench, testing.TB)
	beforeRaw, undoRaw func(*bench, testing.TB)
	mostAllocs         uint64 // over the SDK, per request
}{
	{name: "Renew", requests: 1, act: (*bench).renewGrant, raw: (*bench).renew, mostAllocs: 15},
	{name: "Observe", requests: 1, act: (*bench).observe, raw: (*bench).read, mostAllocs: 15},
	{name: "ObserveNew", requests: 1, before: (*bench).anotherTerm, act: (*bench).observeNew, raw: (*bench).read, mostAllocs: 15},
	{name: "Release", requests: 1, act: (*bench).release, after: (*bench).acquire, raw: (*bench).free, undoRaw: (*bench).takeAndWrite, mostAllocs: 15},
	{name: "AcquireKnown", requests: 2, before: (*bench).release, act: (*bench).acquire, beforeRaw: (*bench).free, raw: (*bench).takeAndWrite, mostAllocs: 15},
}

func nothing(*bench, testing.TB) {}

func or(f func(*bench, testing.TB)) func(*bench, testing.TB) {
	if f == nil {
		return nothing
	}
	return f
}

func BenchmarkActs(b *testing.B) {
	for _, a := range acts {
		b.Run(a.name, func(b *testing.B) { benchmark(b, or(a.before), a.act, or(a.after)) })
		b.Run(a.name+"BySDKAlone", func(b *testing.B) { benchmark(b, or(a.beforeRaw), a.raw, or(a.undoRaw)) })
	}
}

func benchmark(b *testing.B, before, act, after func(*bench, testing.TB)) {
	x := newBench(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		before(x, b)
		b.StartTimer()
		act(x, b)
		b.StopTimer()
		after(x, b)
		b.StartTimer()
	}
}

const mostBytes = 3 << 10 // over the SDK, per request

func TestARequestCostsLittleMoreThanTheSDKs(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates, too")
	}
	if testing.Short() {
		t.Skip("-short")
	}
	for _, a := range acts {
		t.Run(a.name, func(t *testing.T) {
			allocs, size := measure(t, or(a.before), a.act, or(a.after))
			rawAllocs, rawSize := measure(t, or(a.beforeRaw), a.raw, or(a.undoRaw))
			t.Logf("%d allocations and %d bytes; by the SDK alone %d and %d; %d requests", allocs, size, rawAllocs, rawSize, a.requests)
			require.LessOrEqual(t, allocs, rawAllocs+a.requests*a.mostAllocs)
			require.LessOrEqual(t, size, rawSize+a.requests*mostBytes)
		})
	}
}

// measure returns what one act allocates, in the middle of many.
func measure(t *testing.T, before, act, after func(*bench, testing.TB)) (allocs, size uint64) {
	x := newBench(t)
	const rounds = 101
	var counts, sizes []uint64
	for range rounds {
		before(x, t)
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		act(x, t)
		runtime.ReadMemStats(&to)
		after(x, t)
		counts, sizes = append(counts, to.Mallocs-from.Mallocs), append(sizes, to.TotalAlloc-from.TotalAlloc)
	}
	slices.Sort(counts)
	slices.Sort(sizes)
	return counts[rounds/2], sizes[rounds/2]
}
