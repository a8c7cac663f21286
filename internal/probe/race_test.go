package probe

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// So many rounds find a store that fails 20 % of them with 99 % probability, and
// one round less does not.
func TestRoundsAreAsManyAsItTakes(t *testing.T) {
	require.Equal(t, 21, Rounds())
	missed := func(share float64, rounds int) float64 {
		p := 1.0
		for range rounds {
			p *= 1 - share
		}
		return p
	}
	for _, share := range []float64{0.5, 0.2, 0.1, 0.01} {
		for _, confidence := range []float64{0.9, 0.99, 0.999} {
			n := rounds(share, confidence)
			require.LessOrEqual(t, missed(share, n), 1-confidence+1e-12)
			require.Greater(t, missed(share, n-1), 1-confidence-1e-12)
		}
	}
}

// The same by trial: of many stores that fail a fifth of the rounds, one in a
// hundred passes.
func TestOneInAHundredPasses(t *testing.T) {
	const trials = 100_000
	chance := rand.New(rand.NewPCG(1, 2))
	passed := 0
	for range trials {
		failed := false
		for range Rounds() {
			failed = failed || chance.Float64() < share
		}
		if !failed {
			passed++
		}
	}
	require.Less(t, passed, trials/100)
	require.Greater(t, passed, trials/200)
}

func TestMeetWaitsForAllAndTellsWhoWon(t *testing.T) {
	var calls atomic.Int32
	refused := errors.New("refused")
	errs := Meet(func(writer int) error {
		calls.Add(1)
		if writer == 3 {
			return nil
		}
		return refused
	})
	require.EqualValues(t, Writers, calls.Load())
	require.Equal(t, []int{3}, winners(errs))
}
