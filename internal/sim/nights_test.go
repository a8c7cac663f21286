package sim_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/sim"
)

var (
	nightSeed  = flag.Uint64("nights", 0, "TestNights runs the nights of this seed only, and with -trace prints what happened")
	nightCount = flag.Uint64("night-worlds", 0, "TestNights runs so many worlds of 50 nights")
)

// nightWorlds is how many worlds of 50 nights TestNights makes.
func nightWorlds() uint64 {
	proof := os.Getenv(proving) != ""
	switch {
	case *nightCount > 0:
		return *nightCount
	case raced && proof:
		return 300
	case raced:
		return 30
	case proof:
		return 20_000
	}
	return 120
}

// bubbled makes nights in a bubble of their own.
func bubbled(t *testing.T, c sim.Nights, nights func(sim.Nights) sim.NightReport) (r sim.NightReport) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			r.Violations = append(r.Violations, fmt.Sprintf("%s: %v", sim.RuleNoLeak, p))
		}
	}()
	synctest.Test(t, func(*testing.T) { r = nights(c) })
	return r
}

// TestNights lets three replicas run a job each night, with clocks up to five minutes
// off, in half of the worlds with crashes, pauses and outages.
func TestNights(t *testing.T) {
	if *nightSeed > 0 {
		r := bubbled(t, sim.DrawNights(*nightSeed), sim.TellNights)
		if *tell {
			t.Logf("time, process, what happened:\n%s", r.Trace)
		}
		require.Empty(t, r.Violations)
		return
	}
	var failed tally
	var total sim.NightReport
	start := time.Now()
	for s := uint64(1); s <= nightWorlds() && (*all || failed.none()); s++ {
		r := bubbled(t, sim.DrawNights(s), sim.RunNights)
		total.Add(r)
		if len(r.Violations) == 0 {
			continue
		}
		failed.add(s, r.Violations)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %s", s, v)
		}
		t.Logf("its story: go test ./internal/sim -run TestNights -v -args -nights %d -trace", s)
	}
	t.Logf("%d nights in %v: %+v", total.Nights, time.Since(start).Round(time.Millisecond), total)
	if !failed.none() {
		t.Logf("of the nights %d died, first seed %d: %s", failed.n, failed.first, failed.rule)
	} else {
		require.NotZero(t, total.Crashes)
		require.NotZero(t, total.Lost)
		require.NotZero(t, total.Unrecorded)
		require.NotZero(t, total.Repeated)
	}
}

func TestOneSeedGivesTheSameNights(t *testing.T) {
	for s := range uint64(6) {
		first := bubbled(t, sim.DrawNights(s+1), sim.RunNights)
		again := bubbled(t, sim.DrawNights(s+1), sim.TellNights)
		require.Equal(t, first.Hash, again.Hash, "seed %d", s+1)
		require.NotEmpty(t, again.Trace)
	}
}

// A lock alone runs a short job on each replica.
func TestOfALockAloneTheRulesSeeTheSecondRun(t *testing.T) {
	c := sim.Nights{Seed: 1, Nights: 5, Replicas: 2, Kind: "at", Apart: 3 * time.Second, Job: time.Second, Plain: true}
	for _, v := range bubbled(t, c, sim.RunNights).Violations {
		if strings.HasPrefix(v, sim.RuleSlotExactly) {
			return
		}
	}
	require.Fail(t, "a lock alone was enough")
}
