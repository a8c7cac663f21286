package azurelease_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/mutex"
)

// What package mutex makes of Azure's leases.

func lock(t testing.TB, b backends.Backend) *mutex.Lease {
	t.Helper()
	m, err := mutex.New(b, "job", &mutex.Options{TTL: ttl})
	require.NoError(t, err)
	l, err := m.Lock(t.Context())
	require.NoError(t, err)
	return l
}

// trusted makes sure that l is not trusted beyond the end of the Azure lease.
func (m *model) trusted(t *testing.T, l *mutex.Lease) {
	t.Helper()
	look, ok := m.Look("job")
	require.True(t, ok)
	assert.Positive(t, l.Remaining())
	assert.Less(t, l.Remaining(), look.Remaining)
}

func TestTheDeadlineCountsFromTheFirstRequest(t *testing.T) {
	for _, o := range []azure.Operation{azure.GetBlob, azure.AcquireLease, azure.PutBlob} {
		for _, f := range []fakestore.Fault{fakestore.DelayedBefore(5 * time.Second), fakestore.DelayedAfter(5 * time.Second)} {
			t.Run(fmt.Sprint(o, ", ", f), func(t *testing.T) {
				inModel(t, nil, func(t *testing.T, m *model) {
					b := m.client(t)
					require.NoError(t, b.Release(t.Context(), acquire(t, b, "job")))
					m.inject(o, f)
					l := lock(t, m.client(t))
					m.trusted(t, l)
					m.inject(azure.RenewLease, fakestore.DelayedBefore(3*time.Second), fakestore.DelayedAfter(3*time.Second))
					for range 6 {
						time.Sleep(4 * time.Second)
						m.trusted(t, l)
					}
					require.NoError(t, l.Release(t.Context()))
				})
			})
		}
	}
}

// Azure lets its holder renew a lease that has run out, if nobody has touched the
// blob. A machine that wakes from a long sleep just when a renewal is due finds
// that out; it has lost the lease all the same.
func TestALeaseThatHasRunOutIsNotRevived(t *testing.T) {
	for _, early := range []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(early.String(), func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				machine := sim.NewMachine(1, 0)
				m.inject(azure.AcquireLease, fakestore.DelayedBefore(130*time.Millisecond)) // so that the watchdog ticks between
				l := lock(t, timed{m.client(t), clock.Carry(machine)})
				time.Sleep(ttl/3 - 130*time.Millisecond - early)
				machine.Suspend()
				time.Sleep(2 * ttl)
				look, _ := m.Look("job")
				require.Equal(t, azure.Expired, look.Lease)
				machine.Resume()
				time.Sleep(time.Second)
				select {
				case <-l.Done():
				default:
					t.Fatal("it was revived")
				}
				require.ErrorIs(t, l.Err(), mutex.ErrLost)
				time.Sleep(2 * ttl)
				require.ErrorIs(t, l.Err(), mutex.ErrLost)
				require.ErrorIs(t, l.Release(t.Context()), mutex.ErrLost)
				next := lock(t, m.client(t))
				require.Greater(t, next.Token(), l.Token())
				require.NoError(t, next.Release(t.Context()))
			})
		})
	}
}

// A renewal that was long under way revives the Azure lease for nobody: others wait
// for it to run out once more, and that is all.
func TestALateRenewalIsOnlyAWait(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		l := lock(t, m.client(t))
		m.layer.Inject(fakestore.Always(fakestore.DelayedBefore(ttl)).Where(azure.Is(azure.RenewLease)))
		<-l.Done()
		require.ErrorIs(t, l.Err(), mutex.ErrLost)
		m.layer.Inject(nil)
		m.layer.Wait() // the last one has arrived
		look, _ := m.Look("job")
		require.Equal(t, azure.Leased, look.Lease)
		start := time.Now()
		next := lock(t, m.client(t))
		require.LessOrEqual(t, time.Since(start), ttl+6*time.Second)
		require.Greater(t, next.Token(), l.Token())
		require.NoError(t, next.Release(t.Context()))
	})
}

// An operator's acts, and how the holder learns of them.
func TestABrokenLeaseIsLostAtTheNextRenewal(t *testing.T) {
	for name, period := range map[string]time.Duration{"AtOnce": 0, "InFiveSeconds": 5 * time.Second, "WhenItEnds": -1} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				l := lock(t, m.client(t))
				start := time.Now()
				remaining, err := m.Break("job", period)
				require.NoError(t, err)
				_, err = m.client(t).Acquire(t.Context(), "job", claim("next"))
				if period == 0 {
					require.NoError(t, err, "two believe now: the one before learns of it later")
					require.NoError(t, l.Err())
				} else {
					require.ErrorIs(t, err, backends.ErrHeld)
				}
				<-l.Done()
				require.ErrorIs(t, l.Err(), mutex.ErrLost)
				require.LessOrEqual(t, time.Since(start), ttl/3)
				if period < 0 {
					require.Equal(t, ttl, remaining)
					acquireAt(t, m, start.Add(ttl))
				}
			})
		})
	}
}

// acquireAt makes sure that the lease is to be had from then on, and not before.
func acquireAt(t *testing.T, m *model, at time.Time) {
	t.Helper()
	time.Sleep(time.Until(at) - time.Millisecond)
	b := m.client(t)
	_, err := b.Acquire(t.Context(), "job", claim("next"))
	require.ErrorIs(t, err, backends.ErrHeld)
	time.Sleep(time.Millisecond)
	acquire(t, b, "job")
}

func TestBreakCutsNobodysTimeShort(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		start := time.Now()
		b := m.client(t)
		g := acquire(t, b, "job")
		operator := m.client(t)
		r, err := operator.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.ErrorIs(t, operator.Break(t.Context(), "job", "made up"), backends.ErrLost)
		require.NoError(t, operator.Break(t.Context(), "job", r.Version))
		require.NoError(t, operator.Break(t.Context(), "job", r.Version), "twice")
		r, err = operator.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Held, r.State)
		_, err = b.Renew(t.Context(), g)
		require.ErrorIs(t, err, backends.ErrLost)
		acquireAt(t, m, start.Add(ttl))
	})
}

func TestAnInfiniteLeaseOfSomebodyElseIsHeld(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		require.NoError(t, overwrite(m.direct(t), "job", "", []byte("not a record")))
		m.forever(t, "job")
		b := m.client(t)
		_, err := b.Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrHeld)
		require.EqualError(t, err, "lease is held by somebody unknown")
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Held, r.State)
		require.NoError(t, b.Break(t.Context(), "job", ""))
		acquire(t, b, "job")

		before := acquire(t, b, "other")
		require.NoError(t, b.Release(t.Context(), before))
		m.forever(t, "other")
		_, err = b.Acquire(t.Context(), "other", claim("holder"))
		require.EqualError(t, err, "lease is held by somebody unknown", "and not by the last holder")
		time.Sleep(time.Hour)
		_, err = b.Acquire(t.Context(), "other", claim("holder"))
		require.ErrorIs(t, err, backends.ErrHeld)
	})
}

// Within a minute after a lease has run out Azure may say that it is leased.
func TestALeaseThatAzureStillRefusesIsHeld(t *testing.T) {
	inModel(t, &azure.Options{ExpiryGrace: time.Minute}, func(t *testing.T, m *model) {
		g := acquire(t, m.client(t), "job")
		time.Sleep(ttl)
		b := m.client(t)
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Free, r.State)
		for range 59 {
			_, err = b.Acquire(t.Context(), "job", claim("next"))
			require.ErrorIs(t, err, backends.ErrHeld)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		require.Greater(t, acquire(t, b, "job").Token, g.Token)
	})
}

func TestAContainerIsMadeIfThatIsWanted(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		m.Vanish()
		_, err := m.client(t).Observe(t.Context(), "job")
		require.ErrorIs(t, err, backends.ErrNoContainer)
		b := m.creating(t)
		g := acquire(t, b, "job")
		require.NoError(t, b.Release(t.Context(), g))
		m.Vanish()
		require.Greater(t, acquire(t, b, "job").Token, g.Token, "what is remembered is gone")
	})
}

func TestSettingsAreRefusedBeforeAnyRequest(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		for _, bad := range []time.Duration{0, 14 * time.Second, 15*time.Second + 1, 61 * time.Second, -time.Second} {
			_, err := m.client(t).Acquire(t.Context(), "job", backends.Claim{TTL: bad})
			require.ErrorContains(t, err, "TTL ")
		}
		for _, name := range []string{"/a", "a/", "a//b", ".", "..", "a/..", "a.", "a./b", `a\b`} {
			_, err := m.client(t).Acquire(context.Background(), name, claim("holder"))
			require.ErrorContains(t, err, "lease name ")
		}
		require.Empty(t, m.layer.Counts())
	})
}

// Tokens follow Azure's clock, but not everywhere.
func TestSillyDatesDoNotSpoilTokens(t *testing.T) {
	now := time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC)
	account := azure.New(func() time.Time { return now }, nil)
	m := &model{account.Container(containerName), account, fakestore.New(account, nil)}
	t.Cleanup(m.layer.Close)
	m.Create()
	old := m.client(t)
	var highest backends.Token
	for _, year := range []int{2026, 2200, 2300, 9999, 1970, 1969, 1, 2026} {
		now = time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)
		for _, b := range []*azurelease.Backend{old, m.client(t)} {
			g := acquire(t, b, "job")
			require.Greater(t, g.Token, highest, "in the year %d", year)
			require.Less(t, g.Token, backends.MaxToken)
			highest = g.Token
			require.NoError(t, b.Release(t.Context(), g))
		}
	}
}

// Whatever the client was made with: the SDK would take its own first try for
// somebody else's.
func TestTheClientsOwnRetriesAreOff(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		o := &container.ClientOptions{}
		o.Transport = &http.Client{Transport: m.layer}
		o.Retry.MaxRetries = 5
		c, err := container.NewClientWithNoCredential("https://model.blob.core.windows.net/"+containerName, o)
		require.NoError(t, err)
		b, err := azurelease.New(c, nil)
		require.NoError(t, err)
		g := acquire(t, b, "job")
		start := time.Now()
		for what, act := range map[string]func() error{
			"renew":   func() error { _, err := b.Renew(t.Context(), g); return err },
			"release": func() error { return b.Release(t.Context(), g) },
			"acquire": func() error { _, err := b.Acquire(t.Context(), "other", claim("holder")); return err },
		} {
			m.layer.ResetCounts()
			m.layer.Inject(fakestore.Always(fakestore.LostAfter()))
			require.Error(t, act(), what)
			require.LessOrEqual(t, count(m.layer).Writes, 2, "%s: twice by its own decision", what)
			m.layer.Inject(fakestore.Always(azure.ServerBusy(time.Second)))
			m.layer.ResetCounts()
			require.Error(t, act(), what)
			sent := count(m.layer)
			require.Equal(t, 1, sent.Reads+sent.Writes, what)
		}
		require.Equal(t, start, time.Now(), "nobody has waited")
	})
}
