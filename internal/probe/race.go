package probe

import (
	"math"
	"sync"
)

const (
	// Writers meet in a round.
	Writers    = 8
	share      = 0.20 // a store that fails in so many rounds
	confidence = 0.99 // is found with this probability
)

// rounds is how many rounds find a store that fails a share of them with this
// confidence. See the package's comment.
func rounds(share, confidence float64) int {
	return int(math.Ceil(math.Log(1-confidence) / math.Log(1-share)))
}

// Rounds is how many rounds make a race.
func Rounds() int { return rounds(share, confidence) }

// Meet runs f for each of eight writers at once, and returns their errors when
// all have returned.
func Meet(f func(writer int) error) []error {
	errs := make([]error, Writers)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range errs {
		done.Go(func() {
			start.Wait()
			errs[i] = f(i)
		})
	}
	start.Done()
	done.Wait()
	return errs
}

// winners are those without an error.
func winners(errs []error) (won []int) {
	for i, err := range errs {
		if err == nil {
			won = append(won, i)
		}
	}
	return won
}
