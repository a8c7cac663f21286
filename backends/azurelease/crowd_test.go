package azurelease_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
)

const crowd = 50

// A place is where clients meet.
type place interface {
	client(testing.TB) *azurelease.Backend
}

// clients are processes of their own.
func clients(t testing.TB, p place) []*azurelease.Backend {
	all := make([]*azurelease.Backend, crowd)
	for i := range all {
		all[i] = p.client(t)
	}
	return all
}

// A win is the grant of a lease, and whose it is.
type win struct {
	backends.Grant
	by *azurelease.Backend
}

// contend lets all clients try to acquire all names at once, and makes sure that
// each lease has one holder.
func contend(t *testing.T, all []*azurelease.Backend, names ...string) map[string]win {
	t.Helper()
	var mu sync.Mutex
	won := map[string]win{}
	var failed error
	settle := func(b *azurelease.Backend, g backends.Grant, err error) {
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

func oneOfFifty(t *testing.T, p place, rounds int) {
	all := clients(t, p)
	var highest backends.Token
	for range rounds {
		g := contend(t, all, "job")["job"]
		require.Greater(t, g.Token, highest)
		highest = g.Token
		require.NoError(t, g.by.Release(t.Context(), g.Grant))
	}
}

func TestOneOfFiftyHoldsInEachOfAHundredRounds(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) { oneOfFifty(t, m, 100) })
}

func TestOneOfFiftyHoldsInEachRoundOnAzurite(t *testing.T) {
	e := newEmulated(t)
	rounds := 20
	if azuriteRequired() {
		rounds = 100
	}
	oneOfFifty(t, e, rounds)
}

func TestLeasesThatExpireTogetherGetOneNewHolderEach(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		dead := m.client(t)
		var names []string
		tokens := map[string]backends.Token{}
		for i := range 40 {
			name := fmt.Sprint("job-", i)
			names = append(names, name)
			tokens[name] = acquire(t, dead, name).Token
		}
		all := clients(t, m)
		for _, b := range all {
			for _, name := range names {
				_, err := b.Acquire(t.Context(), name, claim("contender"))
				require.ErrorIs(t, err, backends.ErrHeld)
			}
		}
		time.Sleep(ttl)
		for name, g := range contend(t, all, names...) {
			require.Greater(t, g.Token, tokens[name])
		}
	})
}
