package s3lease_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/mutex"
)

// byDates is T(1+2ε) + 1 s + σ.
const byDates = ttl + 2*ttl/100 + time.Second + 2*time.Second

// briefly is a process that lives for two seconds, on a machine whose wall clock is off:
// it tries to lead once.
func (m *model) briefly(t *testing.T, off time.Duration) (*mutex.Lease, error) {
	t.Helper()
	machine := sim.NewMachine(1, off)
	b, err := s3lease.NewAt(machine, s3checks.NewClient(m.dates), bucketName, nil)
	require.NoError(t, err)
	mu, err := mutex.New(timed{b, clock.Carry(machine)}, "job", &mutex.Options{TTL: ttl, Poll: time.Second, Holder: "function"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	return mu.TryLock(ctx)
}

// timed is a backend whose mutexes go by a machine's clocks.
type timed struct {
	backends.Backend
	carrier
}

type carrier = clock.Carrier

// The store's clock, and that with which the SDK signs, are off by as much: S3 refuses
// what is signed with a time that is 15 minutes off.
func TestAFunctionThatLivesTwoSecondsTakesOverAtItsFirstLook(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		for _, store := range []time.Duration{0, time.Hour, -time.Hour} {
			t.Run("WallClock"+off.String()+"Store"+store.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newModelAt(t, func() time.Time { return time.Now().Add(store) }, nil)
					time.Sleep(300 * time.Millisecond)
					dead := acquire(t, m.client(t), "job")
					look, _ := m.Look("job")
					written := look.Modified.Truncate(time.Second)
					for {
						age := time.Now().Add(store).Truncate(time.Second).Sub(written)
						lease, err := m.briefly(t, off)
						if age < byDates {
							require.ErrorIs(t, err, backends.ErrHeld, "at the age of %v", age)
							time.Sleep(100 * time.Millisecond)
							continue
						}
						require.NoError(t, err, "at the age of %v", age)
						require.Greater(t, lease.Token(), dead.Token)
						require.NoError(t, lease.Release(t.Context()))
						break
					}
					require.Less(t, time.Now().Add(store).Sub(look.Modified), byDates+2*time.Second)
				})
			})
		}
	}
}

// Two machines of S3 that differ by σ make a record seem older than it is, but never as
// old as a TTL before it is.
func TestMachinesOfTheStoreThatDifferTakeNothingOverEarly(t *testing.T) {
	inModel(t, &s3.Options{Clocks: apart()}, func(t *testing.T, m *model) {
		for range 20 {
			written := time.Now()
			dead := acquire(t, m.client(t), "job")
			for {
				g, err := m.client(t).Acquire(t.Context(), "job", claim("contender"))
				if err == nil {
					require.Greater(t, time.Since(written), ttl+2*ttl/100)
					require.Greater(t, g.Token, dead.Token)
					require.NoError(t, m.client(t).Break(t.Context(), "job", ""))
					break
				}
				require.ErrorIs(t, err, backends.ErrHeld)
				time.Sleep(137 * time.Millisecond)
			}
		}
	})
}

// Without dates that can be trusted nobody takes over at first sight.
func TestDatesAreUsedWhereTheyAreTrusted(t *testing.T) {
	for name, c := range map[string]struct {
		own     s3lease.Options
		client  []func(*awss3.Options)
		header  http.Header
		options s3.Options
		taken   bool
	}{
		"OnAWS":                     {taken: true},
		"OnAWSFromACache":           {header: http.Header{"Age": {"0"}}},
		"OnAWSWithoutDate":          {options: s3.Options{NoDate: true}},
		"Elsewhere":                 {client: []func(*awss3.Options){s3checks.At(elsewhere)}},
		"ElsewhereAllowed":          {client: []func(*awss3.Options){s3checks.At(elsewhere)}, own: s3lease.Options{TrustDates: true}, taken: true},
		"ElsewhereAllowedFromCache": {client: []func(*awss3.Options){s3checks.At(elsewhere)}, own: s3lease.Options{TrustDates: true}, header: http.Header{"Age": {"86400"}}},
		"ElsewhereByAnAddress":      {client: []func(*awss3.Options){s3checks.At("http://127.0.0.1:9000")}},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, &c.options, func(t *testing.T, m *model) {
				acquire(t, m.client(t), "job")
				time.Sleep(time.Hour)
				m.dates.header = c.header
				_, err := m.open(t, &c.own, c.client...).Acquire(t.Context(), "job", claim("contender"))
				if c.taken {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, backends.ErrHeld)
				}
			})
		})
	}
}

// A date from a cache would also make tokens old.
func TestADateFromACacheIsNone(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		acquire(t, b, "job")
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.False(t, r.Now.IsZero())
		m.dates.header = http.Header{"Age": {"3"}}
		r, err = b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.True(t, r.Now.IsZero())
		r, err = b.Observe(t.Context(), "none")
		require.NoError(t, err)
		require.True(t, r.Now.IsZero())
	})
}

// The first request of a machine whose clock is off is refused, before S3 looks at
// it. The SDK learns the time from that, and keeps it.
func TestAClockThatIsOffCostsOneRequest(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModelAt(t, func() time.Time { return time.Now().Add(off) }, nil)
				b := m.client(t)
				g := acquire(t, b, "job")
				require.Equal(t, map[string]int{string(s3.GetObject): 2, string(s3.PutObject): 2}, m.layer.Counts())
				_, err := b.Renew(t.Context(), g)
				require.NoError(t, err)
				require.Equal(t, map[string]int{string(s3.GetObject): 2, string(s3.PutObject): 3}, m.layer.Counts())
			})
		})
	}
}

// Where the user has switched that off, the error says what is wrong.
func TestAClockThatIsOffAndMayNotBeCorrected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModelAt(t, func() time.Time { return time.Now().Add(time.Hour) }, nil)
		b := m.client(t, func(o *awss3.Options) { o.DisableClockSkewCorrection = true })
		_, err := b.Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrDenied)
		require.ErrorContains(t, err, "clock of this machine")
	})
}
