package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var breakChecks = []check{
	{"BreakFreesAndEndsTheTerm", breakFreesAndEndsTheTerm},
	{"BreakTakesTheVersionThatWasShown", breakTakesTheVersionThatWasShown},
	{"BreakOfAnotherVersionChangesNothing", breakOfAnotherVersionChangesNothing},
}

// breaker is a new client that can break leases.
func (t *trial) breaker() backends.Breaker {
	t.Helper()
	b, ok := t.New().(backends.Breaker)
	if !ok {
		t.lacking = "this backend is no Breaker"
		t.Skip(t.lacking)
	}
	return b
}

func breakFreesAndEndsTheTerm(t *trial) {
	breaker := t.breaker()
	b, g := t.term("job")
	require.NoError(t, breaker.Break(t.Context(), "job", ""))
	require.Equal(t, backends.Free, t.look("job").State)
	t.over(b, g, "it was broken")
	next := t.acquire(t.New(), "job")
	require.Greater(t, next.Token, g.Token)
	t.over(b, g, "it was broken, and another term has begun")
}

func breakTakesTheVersionThatWasShown(t *trial) {
	breaker := t.breaker()
	t.term("job")
	require.NoError(t, breaker.Break(t.Context(), "job", t.look("job").Version), "as Observe shows it")
	t.term("job")
	refusal := t.held(t.New(), "job", "another term has begun")
	require.NoError(t, breaker.Break(t.Context(), "job", refusal.Version), "as a HeldError shows it")
	require.Equal(t, backends.Free, t.look("job").State)
}

func breakOfAnotherVersionChangesNothing(t *trial) {
	breaker := t.breaker()
	old, lost := t.term("job")
	seen := t.look("job").Version
	require.NoError(t, breaker.Break(t.Context(), "job", seen))
	time.Sleep(t.grain())
	b, g := t.term("job")
	before := t.stored("job")
	for _, version := range []string{seen, lost.Version, "made up"} {
		require.ErrorIs(t, breaker.Break(t.Context(), "job", version), backends.ErrLost)
	}
	require.ErrorIs(t, old.Release(t.Context(), lost), backends.ErrLost)
	require.Equal(t, before, t.stored("job"))
	t.intact(b, g, "another version was broken")
	require.ErrorIs(t, breaker.Break(t.Context(), "never used", ""), backends.ErrLost)
	if t.Read != nil {
		require.Nil(t, t.Read("never used"), "breaking has created it")
	}
}
