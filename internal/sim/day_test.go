package sim_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/sim"
)

var hours = flag.Int("hours", 24, "length of a run of TestNoTwoBelieveInADayOfChaos in simulated hours")

// days is how many worlds of a day are made: few by default, all for the proof.
func days() uint64 {
	proof := os.Getenv(proving) != ""
	switch {
	case raced && proof:
		return 5
	case raced, testing.Short():
		return 1
	case proof:
		return 200
	}
	return 10
}

func TestNoTwoBelieveInADayOfChaos(t *testing.T) {
	var total sim.Report
	for s := range days() {
		c := sim.Draw(s + 1)
		c.Contenders, c.Length, c.Harm, c.Weather = 4, time.Duration(*hours)*time.Hour, 10*time.Minute, 4*time.Minute
		r := run(t, c, sim.Run)
		require.Empty(t, r.Violations, "seed %d", s+1)
		total.Add(r)
	}
	require.NotZero(t, total.Terms)
	require.NotZero(t, total.Lost)
	t.Logf("%d worlds of %d hours: %+v", days(), *hours, total)
}
