package cas

import "time"

// epsilon is 1/ε: the rate of a process's clock may be off by 1 %.
const epsilon = 100

// Dates says what the dates in a store's answers are worth.
type Dates struct {
	// Trusted allows takeovers by date, until Engine.Verify finds out whether it
	// should. Set it only for a store whose Modified moves with every write.
	Trusted bool
	// Own says that they come from this very machine's clock, so that nothing
	// is gained by holding them against its stopwatch.
	Own bool
	// Granularity is the step of the dates: 1 s for HTTP dates.
	Granularity time.Duration
	// Skew is how far two clocks of the store may be apart.
	Skew time.Duration
}

// slack is how far the difference of two dates may be off.
func (d Dates) slack() time.Duration { return d.Granularity + d.Skew }

// wait answers the question of the store's side: how much longer must a
// contender, whose own TTL is ttl, let s stand before it may take over? See
// "Taking over" in the package's comment.
func (e *Engine) wait(s *sighting, ttl time.Duration) time.Duration {
	if s.free() {
		return 0
	}
	t := max(s.rec.TTL, ttl)
	left := t + t/epsilon - e.unchanged(s)
	if s.dated && e.trusted.Load() {
		left = min(left, t+2*t/epsilon+e.dates.slack()-s.age)
	}
	return max(left, 0)
}

// unchanged is the stopwatch: the time for which this process has seen the
// version of s, from the first answer that showed it.
func (e *Engine) unchanged(s *sighting) time.Duration {
	return e.clock.Now().Mono - s.first.at
}

// freshFor is how long a record that was seen to be free may be taken without another
// look. The write would find out whether it has changed. But the sighting's date goes into
// the token, and the clock that carries it on may run ahead of the store's.
const freshFor = 30 * time.Second

func (e *Engine) fresh(s *sighting) bool { return e.clock.Now().Mono-s.at <= freshFor }

// date is what the store's clock shows now, as far as a fresh s tells.
func (e *Engine) date(s *sighting) time.Time {
	if s.now.IsZero() {
		return s.now
	}
	return s.now.Add(e.clock.Now().Mono - s.at)
}

// age is the best that is known of the time since s was written.
func (e *Engine) age(s *sighting) time.Duration {
	if s.dated && e.trusted.Load() {
		return s.age
	}
	return e.unchanged(s)
}

// datesLie reports whether the dates of two looks, at one object, contradict
// this process's clock. Only looks that were surely answered in this order
// are compared.
func (d Dates) datesLie(earlier, later *sighting) bool {
	if d.Own || later.sent < earlier.at || !later.dated || earlier.now.IsZero() {
		return false
	}
	if !later.same(earlier) { // then it was written after the earlier answer
		written := later.now.Add(-later.age)
		return written.Before(earlier.now.Add(-d.slack()))
	}
	if first := later.first; first.dated {
		elapsed := later.at - first.sent // the most that it can have been
		return later.age-first.age > elapsed+2*elapsed/epsilon+d.slack()
	}
	return false
}
