package backendtest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var crowdChecks = []check{
	{"OneWinnerOfMany", oneWinnerOfMany},
	{"OneWinnerOfManyOnOneClient", oneWinnerOfManyOnOneClient},
	{"AClientIsSafeForConcurrentUse", aClientIsSafeForConcurrentUse},
}

const crowd = 50

func (t *trial) clients(n int) []backends.Backend {
	all := make([]backends.Backend, n)
	for i := range all {
		all[i] = t.New()
	}
	return all
}

// Rounds of all kinds: of a name that nobody used, of one that was released,
// and of one whose holder died while all were watching.
func oneWinnerOfMany(t *trial) {
	t.contest(t.clients(crowd))
}

func oneWinnerOfManyOnOneClient(t *trial) {
	b := t.New()
	all := make([]backends.Backend, crowd)
	for i := range all {
		all[i] = b
	}
	t.contest(all)
}

func (t *trial) contest(all []backends.Backend) {
	for _, name := range []string{"one", "two", "three"} {
		var highest backends.Token
		for range 4 {
			g, winner := t.race(all, name)
			require.Greater(t, g.Token, highest)
			t.release(winner, g)
			highest = g.Token
		}
	}
	died, _ := t.race(all, "dead")
	for _, b := range all {
		t.held(b, "dead", "it was won a moment ago")
	}
	time.Sleep(t.patience(t.ttl()))
	g, _ := t.race(all, "dead")
	require.Greater(t, g.Token, died.Token)
}

// slowly delays the answers to reads: so all contenders read before any of them
// writes.
func (t *trial) slowly(f func()) {
	t.Helper()
	if t.Faults == nil {
		f()
		return
	}
	t.during(Always(DelayedAfter(t.grain())).Where(Request.Reads), f)
}

// race lets all contend at once, and makes sure that one wins.
func (t *trial) race(all []backends.Backend, name string) (won backends.Grant, winner backends.Backend) {
	t.Helper()
	grants, errs := make([]backends.Grant, len(all)), make([]error, len(all))
	var start, done sync.WaitGroup
	start.Add(1)
	for i, b := range all {
		done.Go(func() {
			c := backends.Claim{Holder: fmt.Sprint("contender ", i), TTL: t.ttl()}
			start.Wait()
			grants[i], errs[i] = b.Acquire(t.Context(), name, c)
		})
	}
	run := func() { start.Done(); done.Wait() }
	if t.races++; t.races%2 == 1 {
		t.slowly(run)
	} else {
		run()
	}
	for i, err := range errs {
		if err != nil {
			requireBeaten(t, err)
			continue
		}
		require.Nil(t, winner, "%q has two winners: %q and %q", name, won.Holder, grants[i].Holder)
		won, winner = grants[i], all[i]
	}
	require.NotNil(t, winner, "%q has no winner of %d", name, len(all))
	require.Equal(t, won.ID, t.look(name).ID, "the record is not the winner's")
	return won, winner
}

// requireBeaten makes sure that a contender lost for no other reason than that
// there were others.
func requireBeaten(t *trial, err error) {
	t.Helper()
	if _, retry := retryAfter(err); !retry {
		require.ErrorIs(t, err, backends.ErrHeld)
	}
}

func aClientIsSafeForConcurrentUse(t *trial) {
	b := t.New()
	var done sync.WaitGroup
	leases := []*lease{{name: "one"}, {name: "two"}, {name: "three"}}
	t.slowly(func() {
		for i := range 12 {
			done.Go(func() {
				for j := range 10 {
					leases[(i+j)%len(leases)].use(t, b)
				}
			})
		}
		done.Wait()
	})
	for _, l := range leases {
		require.NoError(t, l.err)
		require.NotEmpty(t, l.tokens)
		require.IsIncreasing(t, l.tokens)
	}
}

// A lease is what its holders noted while they held it.
type lease struct {
	name string

	mu     sync.Mutex
	holder string
	tokens []backends.Token
	err    error
}

// use holds the lease, if it is to be had, for a renewal.
func (l *lease) use(t *trial, b backends.Backend) {
	g, err := b.Acquire(t.Context(), l.name, t.claim("somebody"))
	if err != nil {
		if _, retry := retryAfter(err); !retry && !errors.Is(err, backends.ErrHeld) {
			l.fail(err)
		}
		return
	}
	l.enter(g)
	if _, err := b.Observe(t.Context(), l.name); err != nil {
		l.fail(err)
	}
	g, err = b.Renew(t.Context(), g)
	l.leave(g)
	if err = errors.Join(err, b.Release(t.Context(), g)); err != nil {
		l.fail(err)
	}
}

func (l *lease) enter(g backends.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != "" {
		l.err = errors.Join(l.err, fmt.Errorf("%q is held by two: %s and %s", l.name, l.holder, g.ID))
	}
	l.holder = g.ID
	l.tokens = append(l.tokens, g.Token)
}

func (l *lease) leave(g backends.Grant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == g.ID {
		l.holder = ""
	}
}

func (l *lease) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = errors.Join(l.err, err)
}
