package sim

import (
	"math/rand/v2"
	"time"

	"github.com/bloblease/bloblease/backends/cas"
)

// A Config says which world to make. Draw makes one from a seed.
type Config struct {
	Seed       uint64
	Contenders int
	Length     time.Duration // of the chaos; a calm follows

	TTL, Poll           time.Duration
	OtherTTL, OtherPoll time.Duration // of every second process, if set: a configuration that is rolled out

	Drift   float64 // rates are within 1±Drift; the promise holds for 1 %
	Extreme bool    // rates are 1±Drift and nothing between
	Opposed bool    // and never all the same
	OnTime  bool    // no jitter: everybody looks at the first moment

	Latency    time.Duration // of a request that nothing befalls, one way
	Drags      float64       // the share of answers that take up to TTL/6
	Align      float64       // the share of reads that arrive right after a write
	Fair       Faults        // of every day
	Storm      Faults        // now and then
	Weather    time.Duration // the mean time between two changes of that
	Outages    float64       // the probability that the store cannot be reached then
	Harm       time.Duration // the mean time between two blows to a process
	Sever      float64       // the probability that a holder is cut off, for more than a TTL, by each answer
	Sleepy     float64       // the probability that a machine falls asleep while a write is under way
	Operators  time.Duration // the mean time between two acts of an operator; 0: none
	LateTimers time.Duration // a timer may be late by so much

	Pairs   float64       // the share of processes with two mutexes
	Lockers float64       // the share of campaigns that use the mutex without leader.Run
	Term    time.Duration // the mean length of a task
	Writes  time.Duration // the mean time between two writes of a task to its resource

	Etags bool // versions are a hash of the bytes
	Dates cas.Dates
}

var (
	drizzle = Faults{LoseRequest: 0.02, LoseAnswer: 0.02, Duplicate: 0.05, Throttle: 0.02, Fail: 0.02, Lie: 0.02, Slow: 0.05, Stale: 0.02, Late: 0.005}
	storm   = Faults{LoseRequest: 0.2, LoseAnswer: 0.3, Duplicate: 0.3, Throttle: 0.1, Fail: 0.1, Lie: 0.1, Slow: 0.3, Stale: 0.2, Late: 0.05}
	slander = Faults{LoseAnswer: 0.3, Duplicate: 0.3, Fail: 0.4, Lie: 0.2, Slow: 0.1, Stale: 0.3} // what is heard is wrong, little is lost
)

// Draw makes a world of a seed. Every world has a temper: a usual one, one in which
// clocks are at their limits and everybody is on time, one in which the network
// slanders, two with an operator, one in which machines fall asleep at the wrong moment.
func Draw(seed uint64) Config {
	r := rand.New(rand.NewPCG(seed, 77))
	c := Config{
		Seed:       seed,
		Contenders: 2 + r.IntN(3),
		Length:     10 * time.Minute,
		TTL:        pick(r, 10, 15, 20, 30, 60) * time.Second,
		Drift:      0.01,
		Extreme:    r.IntN(2) == 0,
		Latency:    100 * time.Millisecond,
		Fair:       drizzle,
		Storm:      storm,
		Weather:    time.Minute,
		Outages:    0.15,
		Harm:       90 * time.Second,
		Pairs:      0.2,
		Lockers:    0.3,
		Term:       2 * time.Minute,
		Writes:     20 * time.Second,
		Etags:      r.IntN(2) == 0,
	}
	c.Poll = c.TTL / pick(r, 3, 4, 6)
	if r.IntN(2) == 0 {
		c.OtherTTL = pick(r, 10, 20, 40) * time.Second
		c.OtherPoll = c.OtherTTL / 4
	}
	if r.IntN(2) == 0 {
		c.Dates = cas.Dates{Trusted: true, Granularity: time.Second, Skew: 2 * time.Second}
	}
	if r.IntN(4) == 0 {
		c.LateTimers = time.Second
	}
	switch r.IntN(8) {
	case 0, 1:
		c.thin(r)
	case 2:
		c.Fair, c.Storm = slander, storm
	case 3:
		c.Operators = 90 * time.Second
	case 4: // who cannot leave it alone, while everything takes long
		c.Operators, c.Fair.Slow = 15*time.Second, 0.3
	case 5:
		c.Sleepy = 0.1
	}
	return c
}

// Thin makes a world of a seed that surely has the temper of clocks at their limits.
func Thin(seed uint64) Config {
	c := Draw(seed)
	c.Operators, c.OtherTTL, c.OtherPoll = 0, 0, 0
	c.thin(rand.New(rand.NewPCG(seed, 78)))
	return c
}

// thin makes the margins count: clocks at their limits, no latency, no jitter, holders
// that are cut off and contenders that look often.
func (c *Config) thin(r *rand.Rand) {
	c.Contenders, c.Pairs, c.Lockers, c.Opposed = 2, 0, 0, true
	c.Extreme, c.OnTime, c.LateTimers = true, true, 0
	c.Latency = time.Microsecond
	c.TTL = pick(r, 10, 15) * time.Second
	c.Poll = c.TTL / 16
	if c.OtherTTL > 0 {
		c.OtherTTL, c.OtherPoll = 2*c.TTL, c.TTL/16
	}
	c.Fair, c.Storm = Faults{}, Faults{LoseAnswer: 0.5}
	if r.IntN(2) == 0 {
		c.Drags = 0.5
	}
	c.Outages, c.Harm, c.Sever = 0, 2*time.Minute, 0.2
	c.Align = 0.25
}

func pick(r *rand.Rand, of ...int) time.Duration { return time.Duration(of[r.IntN(len(of))]) }
