package cas_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
	"github.com/bloblease/bloblease/internal/record"
)

// An edit by hand that leaves the nonce does not end a term, but it does not
// change what is constant over it either.
func TestAnEditByHandDoesNotChangeWhatIsConstantOverATerm(t *testing.T) {
	store := memstore.New(clock.System)
	engine := cas.New(store, cas.Options{})
	g, err := engine.Acquire(t.Context(), "job", backends.Claim{Holder: "me", TTL: 30 * time.Second})
	require.NoError(t, err)
	edit := func(from, to string) {
		data := store.Data("job")
		require.Contains(t, string(data), from)
		store.Set("job", bytes.Replace(data, []byte(from), []byte(to), 1))
	}
	edit(`"ttl_ms": 30000`, `"ttl_ms": 3000`)
	edit(`"holder": "me"`, `"holder": "you"`)
	renewed, err := engine.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, g.TTL, renewed.TTL)
	rec, err := record.Decode(store.Data("job"))
	require.NoError(t, err)
	require.Equal(t, 30*time.Second, rec.TTL)
	require.Equal(t, "me", rec.Holder)
	require.Equal(t, g.Token, rec.Token)
	require.NoError(t, engine.Release(t.Context(), renewed))
}
