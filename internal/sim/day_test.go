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
	if *seed > 0 {
		replay(t, day(*seed), *seed, dayStory)
		return
	}
	total := runAll(t, 1, days(), day, dayStory)
	require.NotZero(t, total.Terms)
	require.NotZero(t, total.Lost)
}

const dayStory = "go test ./internal/sim -run DayOfChaos -v -args -seed %d -trace"

// day is a world of four contenders and a whole day, or of so many hours.
func day(seed uint64) sim.Config {
	c := sim.Draw(seed)
	c.Contenders, c.Length, c.Harm, c.Weather = 4, time.Duration(*hours)*time.Hour, 10*time.Minute, 4*time.Minute
	return c
}
