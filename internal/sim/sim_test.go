package sim_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/sim"
)

var (
	seed  = flag.Uint64("seed", 0, "the tests of many worlds run this seed only")
	tell  = flag.Bool("trace", false, "with -seed: print what happened, event by event")
	count = flag.Uint64("schedules", 0, "TestSchedules runs so many")
	from  = flag.Uint64("from", 1, "TestSchedules begins with this seed")
	all   = flag.Bool("all", false, "TestSchedules goes on after a violation")
)

const proving = "BLOBLEASE_PROVE"

// run makes a world in a bubble of its own. What the world leaves running makes the
// bubble panic.
func run(t *testing.T, c sim.Config, world func(sim.Config) sim.Report) (r sim.Report) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			r.Violations = append(r.Violations, fmt.Sprintf("%s: %v", sim.RuleNoLeak, p))
		}
	}()
	synctest.Test(t, func(*testing.T) { r = world(c) })
	return r
}

// schedules is how many worlds TestSchedules makes.
func schedules() uint64 {
	proof := os.Getenv(proving) != ""
	switch {
	case *count > 0:
		return *count
	case raced && proof:
		return 5000
	case raced: // the detector makes a world a dozen times as expensive
		return 200
	case testing.Short():
		return 300
	case proof:
		return 1_000_000
	}
	return 20_000
}

const story = "go test ./internal/sim -run TestSchedules -v -args -seed %d -trace"

// TestSchedules runs one world for each seed, each of ten minutes of chaos and some of
// calm. A failure prints the line that runs its seed again, and tells its story.
func TestSchedules(t *testing.T) {
	if *seed > 0 {
		replay(t, sim.Draw(*seed), *seed, story)
		return
	}
	runAll(t, *from, *from+schedules()-1, sim.Draw, story)
}

// runAll makes a world for each seed, on all cores, and returns what was counted in them.
func runAll(t *testing.T, first, last uint64, draw func(seed uint64) sim.Config, story string) (total sim.Report) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(2000))
	start := time.Now()
	var next, made atomic.Uint64
	next.Store(first - 1)
	var mu sync.Mutex
	var failed tally
	t.Run("worlds", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				var sum sim.Report
				for s := next.Add(1); s <= last && (*all || failed.none()); s = next.Add(1) {
					r := run(t, draw(s), sim.Run)
					made.Add(1)
					if len(r.Violations) > 0 {
						failed.add(s, r.Violations)
						report(t, s, r.Violations, story)
					}
					sum.Add(r)
				}
				mu.Lock()
				defer mu.Unlock()
				total.Add(sum)
			})
		}
	})
	t.Logf("%d worlds in %v: %+v", made.Load(), time.Since(start).Round(time.Millisecond), total)
	if !failed.none() {
		t.Logf("%d died, first seed %d: %s", failed.n, failed.first, failed.rule)
	}
	return total
}

// A tally is of the worlds with violations. The command mutants reads it.
type tally struct {
	mu    sync.Mutex
	n     int
	first uint64
	rule  string
}

func (f *tally) none() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n == 0
}

func (f *tally) add(seed uint64, violations []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 || seed < f.first {
		f.first = seed
		f.rule, _, _ = strings.Cut(violations[0], ":")
	}
	f.n++
}

// report tells what went wrong in a world, and how to see it.
func report(t *testing.T, seed uint64, violations []string, story string) {
	t.Helper()
	for _, v := range violations {
		t.Errorf("seed %d: %s", seed, v)
	}
	t.Logf("its story: "+story, seed)
}

func replay(t *testing.T, c sim.Config, seed uint64, story string) {
	t.Helper()
	world := sim.Run
	if *tell {
		world = sim.Tell
	}
	r := run(t, c, world)
	t.Logf("%+v", c)
	if *tell {
		t.Logf("time, process, what happened; look for VIOLATION:\n%s", r.Trace)
	}
	r.Trace = ""
	t.Logf("%+v", r)
	report(t, seed, r.Violations, story)
}

func TestOneSeedGivesOneTrace(t *testing.T) {
	for s := range uint64(60) {
		first := run(t, sim.Draw(s+1), sim.Run)
		again := run(t, sim.Draw(s+1), sim.Tell)
		require.Equal(t, first.Hash, again.Hash, "seed %d", s+1)
		require.Equal(t, first.Violations, again.Violations, "seed %d", s+1)
		require.NotEmpty(t, again.Trace)
	}
}

// thin is a world in which the margins count, with clocks that are off by so much.
func thin(seed uint64, drift float64) sim.Config {
	c := sim.Thin(seed)
	c.Drift = drift
	return c
}

func TestAtTheLimitOfThePromiseNoTwoBelieve(t *testing.T) {
	for s := range uint64(200) {
		require.Empty(t, run(t, thin(s+1, 0.01), sim.Run).Violations, "seed %d", s+1)
	}
}

// The promise ends at 1 %. The margin of H, 2.5 % and more, ends at about 2 %.
func TestBeyondThePromiseTheCheckerSeesTwo(t *testing.T) {
	for s := range uint64(400) {
		for _, v := range run(t, thin(s+1, 0.03), sim.Run).Violations {
			if strings.HasPrefix(v, sim.RuleOneBelieves) {
				return
			}
		}
	}
	require.Fail(t, "clocks that are off by 3 % did no harm")
}
