package s3lease_test

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
)

// Each act beside the bare call of the SDK that sends the same request. What the model
// and the SDK cost is in both.

// The bench is one lease, once for the backend and once for the SDK.
type bench struct {
	b      *s3lease.Backend
	g      backends.Grant
	client *awss3.Client
	etag   *string
	record []byte
}

func newBench(t testing.TB) *bench {
	m := newModel(t, nil)
	c := s3checks.NewClient(m.layer)
	b, err := s3lease.New(c, bucketName, nil)
	require.NoError(t, err)
	x := &bench{b: b, g: acquire(t, b, "job"), client: c}
	look, _ := m.Look("job")
	x.record = look.Body
	out, err := c.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: aws.String(bucketName), Key: aws.String("raw"), Body: bytes.NewReader(x.record),
	})
	require.NoError(t, err)
	x.etag = out.ETag
	return x
}

func (x *bench) write(t testing.TB) {
	out, err := x.client.PutObject(t.Context(), &awss3.PutObjectInput{
		Bucket: aws.String(bucketName), Key: aws.String("raw"), Body: bytes.NewReader(x.record), IfMatch: x.etag,
		ContentType: aws.String("application/json"), CacheControl: aws.String("no-store"),
	})
	require.NoError(t, err)
	x.etag = out.ETag
}

func (x *bench) read(t testing.TB) {
	out, err := x.client.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String("raw")})
	require.NoError(t, err)
	_, err = io.ReadAll(out.Body)
	require.NoError(t, err)
	require.NoError(t, out.Body.Close())
}

func (x *bench) renew(t testing.TB) {
	g, err := x.b.Renew(t.Context(), x.g)
	require.NoError(t, err)
	x.g = g
}

func (x *bench) observe(t testing.TB) {
	_, err := x.b.Observe(t.Context(), "job")
	require.NoError(t, err)
}

func (x *bench) release(t testing.TB) { require.NoError(t, x.b.Release(t.Context(), x.g)) }

func (x *bench) acquire(t testing.TB) { x.g = acquire(t, x.b, "job") }

func idle(*bench, testing.TB) {}

// A measured act is one request.
var measured = []struct {
	name             string
	before, act, raw func(*bench, testing.TB)
	after            func(*bench, testing.TB)
}{
	{"Renew", idle, (*bench).renew, (*bench).write, idle},
	{"Observe", idle, (*bench).observe, (*bench).read, idle},
	{"Release", idle, (*bench).release, (*bench).write, (*bench).acquire},
	{"AcquireKnown", (*bench).release, (*bench).acquire, (*bench).write, idle},
}

func BenchmarkActs(b *testing.B) {
	for _, a := range measured {
		b.Run(a.name, func(b *testing.B) { benchmark(b, a.before, a.act, a.after) })
		b.Run(a.name+"BySDKAlone", func(b *testing.B) { benchmark(b, idle, a.raw, idle) })
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

const (
	mostAllocs = 15      // over the SDK, per request
	mostBytes  = 3 << 10 // the same
)

func TestARequestCostsLittleMoreThanTheSDKs(t *testing.T) {
	if raced {
		t.Skip("the race detector allocates, too")
	}
	if testing.Short() {
		t.Skip("-short")
	}
	for _, a := range measured {
		t.Run(a.name, func(t *testing.T) {
			allocs, size := measure(t, a.before, a.act, a.after)
			rawAllocs, rawSize := measure(t, idle, a.raw, idle)
			t.Logf("%d allocations and %d bytes; by the SDK alone %d and %d", allocs, size, rawAllocs, rawSize)
			require.LessOrEqual(t, allocs, rawAllocs+mostAllocs)
			require.LessOrEqual(t, size, rawSize+mostBytes)
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
