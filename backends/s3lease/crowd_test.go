package s3lease_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
)

// A win is the grant of a lease, and whose it is.
type win struct {
	backends.Grant
	by *s3lease.Backend
}

// clients are processes of their own.
func (m *model) clients(t testing.TB, n int) []*s3lease.Backend {
	all := make([]*s3lease.Backend, n)
	for i := range all {
		all[i] = m.client(t)
	}
	return all
}

// contend lets all clients try to acquire all names at once, and makes sure that each
// lease has one holder.
func contend(t *testing.T, all []*s3lease.Backend, names ...string) map[string]win {
	t.Helper()
	var mu sync.Mutex
	won := map[string]win{}
	var failed error
	settle := func(b *s3lease.Backend, g backends.Grant, err error) {
		mu.Lock()
		defer mu.Unlock()
		var retry *backends.RetryError
		switch other, taken := won[g.Name]; {
		case err == nil && taken:
			failed = errors.Join(failed, fmt.Errorf("%q has two holders, with tokens %d and %d", g.Name, other.Token, g.Token))
		case err == nil:
			won[g.Name] = win{g, b}
		case !errors.Is(err, backends.ErrHeld) && !errors.As(err, &retry):
			failed = errors.Join(failed, err)
		}
	}
	var done sync.WaitGroup
	for i, b := range all {
		for _, name := range names {
			done.Go(func() {
				g, err := b.Acquire(t.Context(), name, claim(fmt.Sprint("contender ", i)))
				settle(b, g, err)
			})
		}
	}
	done.Wait()
	require.NoError(t, failed)
	require.Len(t, won, len(names), "every lease has a holder")
	return won
}

// All read before any writes, as they do in real life.
func TestOneOfAHundredHoldsInEachOfAHundredRounds(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(t, nil)
			m.layer.Inject(fakestore.Always(fakestore.DelayedAfter(time.Second)))
			g := contend(t, m.clients(t, 100), "job")["job"]
			require.NoError(t, g.by.Release(t.Context(), g.Grant), "round %d", round)
		})
	}
}

func TestLeasesThatExpireTogetherGetOneNewHolderEach(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		dead := m.client(t)
		var names []string
		tokens := map[string]backends.Token{}
		leases := 200
		if testing.Short() {
			leases = 20
		}
		for i := range leases {
			name := fmt.Sprint("job-", i)
			names = append(names, name)
			tokens[name] = acquire(t, dead, name).Token
		}
		time.Sleep(2 * ttl)
		m.layer.Inject(fakestore.Always(fakestore.DelayedAfter(time.Second)))
		for name, g := range contend(t, m.clients(t, 50), names...) {
			require.Greater(t, g.Token, tokens[name])
		}
	})
}
