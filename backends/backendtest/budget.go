package backendtest

import (
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var budgetChecks = []check{
	{"ActsTakeTheRequestsOfTheBudget", actsTakeTheRequestsOfTheBudget},
	{"APollIsOneReadAndNoWrite", aPollIsOneReadAndNoWrite},
	{"ARefusalAddsOneRead", aRefusalAddsOneRead},
}

func actsTakeTheRequestsOfTheBudget(t *trial) {
	b := t.New()
	var g backends.Grant
	require.Equal(t, t.Budget.First.Plus(t.Budget.Once), t.cost(func() { g = t.acquire(b, "job") }), "acquire a name that was never used")
	for range 3 {
		require.Equal(t, t.Budget.Renew, t.cost(func() { g = t.renew(b, g) }), "renew")
	}
	require.Equal(t, t.Budget.Release, t.cost(func() { t.release(b, g) }), "release")
	require.Equal(t, t.Budget.Known, t.cost(func() { g = t.acquire(b, "job") }), "acquire what this client released")
	g.Done = "once"
	require.Equal(t, t.Budget.Done, t.cost(func() { t.release(b, g) }), "release and record a mark")

	other := t.New()
	t.acquire(other, "another")
	require.Equal(t, t.Budget.Cold, t.cost(func() { t.acquire(other, "job") }), "acquire what another client released")
	require.Equal(t, t.Budget.Observe, t.cost(func() { t.observe(other, "job") }), "observe")
	require.Equal(t, t.Budget.Observe, t.cost(func() { t.observe(other, "never used") }), "observe")
}

func aPollIsOneReadAndNoWrite(t *trial) {
	b, g := t.term("job")
	waiter := t.New()
	for range 3 {
		require.Equal(t, t.Budget.Poll, t.cost(func() { t.held(waiter, "job", "it is renewed") }))
		require.Equal(t, t.Budget.Poll, t.cost(func() { t.held(b, "job", "it is renewed") }))
		g = t.renew(b, g)
	}
	require.Zero(t, t.Budget.Poll.Writes)
}

func aRefusalAddsOneRead(t *trial) {
	b, g := t.term("job")
	t.expire(t.New(), "job")
	cost := t.cost(func() {
		_, err := b.Renew(t.Context(), g)
		require.ErrorIs(t, err, backends.ErrLost)
	})
	require.Equal(t, t.Budget.Refused, cost)

	// What this client remembers as free is held by now.
	g = t.acquire(b, "other")
	t.release(b, g)
	t.acquire(t.New(), "other")
	cost = t.cost(func() { t.held(b, "other", "another client has it") })
	require.LessOrEqual(t, cost.Reads, t.Budget.Known.Reads+1)
	require.LessOrEqual(t, cost.Writes, t.Budget.Known.Writes)
}
