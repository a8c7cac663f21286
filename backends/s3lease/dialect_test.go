package s3lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
)

// A store of Ceph's family refuses an ETag in quotes. That is found out at the first two
// renewals, for two requests more each, and remembered.
func TestTheUnquotedDialectIsFoundOut(t *testing.T) {
	inModel(t, &s3.Options{UnquotedETags: true}, func(t *testing.T, m *model) {
		b := m.client(t, s3checks.At(elsewhere))
		g := acquire(t, b, "job")
		renew := func() backendtest.Count {
			before := count(m.layer)
			var err error
			g, err = b.Renew(t.Context(), g)
			require.NoError(t, err)
			return count(m.layer).Since(before)
		}
		for range 2 {
			require.Equal(t, backendtest.Count{Reads: 1, Writes: 2}, renew())
		}
		for range 3 {
			require.Equal(t, backendtest.Count{Writes: 1}, renew())
		}
		require.NoError(t, b.Release(t.Context(), g))
		g = acquire(t, b, "other")
		require.Equal(t, backendtest.Count{Writes: 1}, renew())
	})
}

// Somebody's mistake is no proof. A store that takes quotes goes on getting them, for it
// may ignore a condition without.
func TestOneRefusalByMistakeIsNoDialect(t *testing.T) {
	for name, renewals := range map[string]int{"AtFirst": 0, "Later": 1} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.client(t, s3checks.At(elsewhere))
				g := acquire(t, b, "job")
				var err error
				for range renewals {
					g, err = b.Renew(t.Context(), g)
					require.NoError(t, err)
				}
				m.inject(s3.PutObject, instead(412, "PreconditionFailed"))
				g, err = b.Renew(t.Context(), g)
				require.NoError(t, err)
				spelt := ""
				m.layer.Inject(watch(&spelt))
				_, err = b.Renew(t.Context(), g)
				require.NoError(t, err)
				require.Contains(t, spelt, `"`)
			})
		})
	}
}

// A renewal whose answer was lost is refused when it is sent again. That says nothing
// about quotes, and a store that wants them goes on getting them.
func TestALostRenewalIsNoDialect(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t, s3checks.At(elsewhere))
		g := acquire(t, b, "job")
		_, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		spelt := ""
		m.layer.Inject(fakestore.Each(saying(412, "PreconditionFailed"), fakestore.StaleRead()))
		g, err = b.Renew(t.Context(), g)
		require.NoError(t, err)
		m.layer.Inject(watch(&spelt))
		_, err = b.Renew(t.Context(), g)
		require.NoError(t, err)
		require.Contains(t, spelt, `"`)
	})
}

// On AWS it is never tried.
func TestAmazonsETagsStayAsTheyAre(t *testing.T) {
	inModel(t, &s3.Options{UnquotedETags: true}, func(t *testing.T, m *model) {
		b := m.client(t)
		g := acquire(t, b, "job")
		_, err := b.Renew(t.Context(), g)
		require.Error(t, err)
		require.NotErrorIs(t, err, backends.ErrLost)
		time.Sleep(2 * ttl)
		acquired, err := m.client(t, s3checks.At(elsewhere)).Acquire(t.Context(), "job", claim("other"))
		require.ErrorIs(t, err, backends.ErrHeld, "it has to watch")
		require.Zero(t, acquired.Token)
	})
}
