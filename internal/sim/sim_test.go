package sim_test

import (
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/sim"
)

var (
	seed  = flag.Uint64("seed", 0, "run this seed only")
	hours = flag.Int("hours", 24, "length of a run in simulated hours")
)

// seeds is how many worlds are made: few by default, all for the proof.
func seeds() uint64 {
	switch {
	case os.Getenv("BLOBLEASE_PROVE") != "":
		return 200
	case testing.Short():
		return 3
	}
	return 10
}

func TestNoTwoBelieveInADayOfChaos(t *testing.T) {
	first, last := uint64(1), seeds()
	if *seed > 0 {
		first, last = *seed, *seed
	}
	var total sim.Report
	for s := first; s <= last; s++ {
		synctest.Test(t, func(t *testing.T) {
			r := sim.Run(sim.Config{
				Seed:       s,
				Contenders: 4,
				Length:     time.Duration(*hours) * time.Hour,
				TTL:        30 * time.Second,
				Poll:       5 * time.Second,
				Drift:      0.01,
			})
			require.Empty(t, r.Violations, "seed %d", s)
			total.Terms += r.Terms
			total.Lost += r.Lost
			total.Crashes += r.Crashes
			total.Suspends += r.Suspends
			total.Stops += r.Stops
			total.Jumps += r.Jumps
		})
	}
	require.NotZero(t, total.Terms)
	require.NotZero(t, total.Lost)
	t.Logf("%d worlds of %d hours: %+v", last-first+1, *hours, total)
}
