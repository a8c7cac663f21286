package s3lease_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
	"github.com/bloblease/bloblease/internal/slottest"
)

// A kind is one way in which a store may be.
type kind struct {
	s3.Options
	own       s3lease.Options
	client    []func(*awss3.Options)
	versioned bool
}

func away(o s3.Options) kind {
	return kind{Options: o, client: []func(*awss3.Options){s3checks.At(elsewhere)}}
}

// kinds are S3 as it is documented, and the ways in which other stores depart from it
// that do no harm.
func kinds() map[string]kind {
	trusted := away(s3.Options{NoChecksums: true, ConflictIfMissing: true})
	trusted.own.TrustDates = true
	return map[string]kind{
		"S3":               {Options: s3.Options{Region: s3checks.Region}},
		"VersionedWithKMS": {Options: s3.Options{OpaqueETags: true}, versioned: true, own: s3lease.Options{Prefix: "team/leases/"}},
		"Elsewhere":        away(s3.Options{NoChecksums: true}),
		"TrustedDates":     trusted,
		"Unquoted":         away(s3.Options{UnquotedETags: true}),
	}
}

// apart is how far the machines of a store are apart: two differ by two seconds at
// the most.
func apart() func() time.Duration {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 1))
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Int64N(int64(2*time.Second))) - time.Second
	}
}

func TestConformance(t *testing.T) { eachKind(t, backendtest.Run) }

func TestSlots(t *testing.T) { eachKind(t, slottest.Run) }

func eachKind(t *testing.T, run func(*testing.T, backendtest.Harness)) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			run(t, backendtest.Harness{Bubble: true, Open: func(t *testing.T) *backendtest.World {
				return k.world(t)
			}})
		})
	}
}

func (k kind) world(t *testing.T) *backendtest.World {
	m := newModel(t, &k.Options)
	if k.versioned {
		m.KeepVersions()
	}
	direct := m.direct(t, k.client...)
	_, options, err := s3lease.OpenStore(direct, bucketName, &k.own)
	require.NoError(t, err)
	w := backendtest.NewWorld(t, options, func() cas.Store { return k.store(t, direct) })
	w.New = func() backends.Backend {
		return cas.New(k.store(t, s3checks.NewClient(m.dates, append(k.client, unmoved)...)), options)
	}
	w.Count = func() backendtest.Count { return count(m.layer) }
	w.Faults = func(s backendtest.Schedule) { m.layer.Inject(schedule(k.unprefixed(s))) }
	w.Redate = m.dates.redate
	w.Delete = func(name string) error { m.Delete(k.own.Prefix + name); return nil }
	return w
}

// unmoved keeps the SDK from signing with the time that a store's dates tell: where
// these lie by an hour it would sign for another time than the store's.
func unmoved(o *awss3.Options) { o.DisableClockSkewCorrection = true }

// store is what New puts an engine on.
func (k kind) store(t *testing.T, c *awss3.Client) cas.Store {
	s, _, err := s3lease.OpenStore(c, bucketName, &k.own)
	require.NoError(t, err)
	if k.UnquotedETags {
		s = s3lease.Knowing(s)
	}
	return s
}

// unprefixed is s for requests that have the prefix.
func (k kind) unprefixed(s backendtest.Schedule) backendtest.Schedule {
	if s == nil {
		return nil
	}
	return func(r backendtest.Request) backendtest.Fault {
		r.Name = r.Name[len(k.own.Prefix):]
		return s(r)
	}
}
