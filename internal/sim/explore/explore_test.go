package explore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/sim/explore"
)

const ttl = 10

// rules are those of mutex and cas for a TTL of ten ticks: T·(1+ε) to wait, and
// hold to trust.
func rules(hold, holder, contender int) explore.Rules {
	return explore.Rules{Hold: hold, Wait: 101 * ttl, Holder: holder, Contender: contender}
}

func TestWithinTheMarginNoHistoryHasTwo(t *testing.T) {
	for _, holder := range []int{99, 101} {
		for _, contender := range []int{99, 101} {
			history, states := explore.Search(rules(98*ttl, holder, contender))
			require.Empty(t, history)
			t.Logf("clocks at %d %% and %d %%: %d states", holder, contender, states)
		}
	}
}

// What the argument allows is T(1−ε); H takes away another ε, and a fixed part.
func TestTheMarginEndsWhereTheArgumentSays(t *testing.T) {
	history, _ := explore.Search(rules(99*ttl, 99, 101))
	require.Empty(t, history)
	history, _ = explore.Search(rules(99*ttl+1, 99, 101))
	require.NotEmpty(t, history)
	t.Logf("one step more:\n%s", strings.Join(history, "\n"))
}

func TestEachMistakeIsFound(t *testing.T) {
	for name, mistake := range map[string]explore.Rules{
		"counting from the answer":        {FromAnswer: true},
		"a stopwatch kept over versions":  {AnyVersion: true},
		"a takeover of whatever there is": {Unconditioned: true},
	} {
		r := rules(98*ttl, 100, 100)
		r.FromAnswer, r.AnyVersion, r.Unconditioned = mistake.FromAnswer, mistake.AnyVersion, mistake.Unconditioned
		history, _ := explore.Search(r)
		require.NotEmpty(t, history, name)
	}
}
