package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A Report says what happened.
type Report struct {
	Terms    int
	Lost     int // leases that were lost
	Crashes  int
	Suspends int
	Stops    int
	Jumps    int
	Cuts     int
	Meddled  int // acts of the operator
	Twins    int // lives of the record within two seconds, whose tokens fell: see twin
	Written  int // writes that the resource took
	Fenced   int // and those that it refused
	Requests int

	Hash       uint64   // of the trace: equal for equal seeds
	Violations []string // each begins with the name of the rule
	Trace      string   // if it was asked for
}

// Add sums up, for a line about many worlds.
func (r *Report) Add(o Report) {
	r.Terms += o.Terms
	r.Lost += o.Lost
	r.Crashes += o.Crashes
	r.Suspends += o.Suspends
	r.Stops += o.Stops
	r.Jumps += o.Jumps
	r.Cuts += o.Cuts
	r.Meddled += o.Meddled
	r.Twins += o.Twins
	r.Written += o.Written
	r.Fenced += o.Fenced
	r.Requests += o.Requests
}

// calm is how long after the last fault somebody must lead: a task that drains, a
// TTL by the slowest judge, two polls and what they jitter, an attempt that
// hangs, a Retry-After and a restart.
func (c *Config) calm() time.Duration {
	ttl, poll := max(c.TTL, c.OtherTTL), max(c.Poll, c.OtherPoll)
	judge := ttl + ttl/25 + c.Dates.Skew + c.Dates.Granularity
	return 2*ttl + judge + 3*poll + ttl/3 + longestThrottle + longestRestart + c.LateTimers
}

// A world is one run. Its lock is for the goroutines of one event.
type world struct {
	Config
	loop       *loop
	depot      *depot
	contenders []*contender
	all        []*process

	skies, hand *rand.Rand // of the weather and of the operator
	quiet       bool       // no more chaos
	ending      bool       // no more lives

	mu       sync.Mutex
	faults   Faults
	down     bool
	report   Report
	trace    trace
	terms    []*term // of tasks that have begun and not ended
	hearers  []*process
	aligned  []*event // arrivals of reads that wait for a write
	grants   map[backends.Token]grant
	ranks    map[backends.Token]int
	last     grant         // of the last belief
	lately   time.Duration // when somebody was last seen to lead
	meddled  time.Duration // when the operator last made exclusion void; negative: never
	breaks   int
	resource resource
}

// Run makes the world of c and lets it go by. It must be called in a synctest
// bubble; goroutines that the product leaks make the bubble panic.
func Run(c Config) Report { return run(c, false) }

// Tell is Run with a trace.
func Tell(c Config) Report { return run(c, true) }

// newWorld is an empty one.
func newWorld(c Config, tell bool) *world {
	w := &world{
		Config:  c,
		loop:    newLoop(),
		faults:  c.Fair,
		meddled: -1,
		grants:  make(map[backends.Token]grant),
		ranks:   make(map[backends.Token]int),
	}
	w.loop.batch = w.afterEvent
	w.trace.sum = newHash()
	if tell {
		w.trace.all = &strings.Builder{}
	}
	w.skies, w.hand = w.random("weather", 0), w.random("operator", 0)
	return w
}

func run(c Config, tell bool) Report {
	w := newWorld(c, tell)
	w.createStore()
	w.populate()
	w.weather()
	if c.Operators > 0 {
		w.operate()
	}
	w.pass(c.Length)
	w.calmDown()
	w.finish()
	w.report.Hash = uint64(w.trace.sum)
	if tell {
		w.report.Trace = w.trace.all.String()
	}
	return w.report
}

func (w *world) createStore() {
	r := w.random("store", 0)
	w.depot = &depot{etags: w.Etags, rate: w.rate(r), step: max(w.Dates.Granularity, 1)}
	skew := upTo(r, w.Dates.Skew)
	w.depot.fronts = [2]time.Duration{-skew / 2, skew / 2}
}

// rate is that of a clock.
func (w *world) rate(r *rand.Rand) float64 {
	x := 2*r.Float64() - 1
	switch {
	case w.Extreme && x < 0:
		x = -1
	case w.Extreme:
		x = 1
	}
	return 1 + w.Drift*x
}

func (w *world) populate() {
	for label := range w.Contenders {
		c := &contender{label: label, ill: w.random("ill", label)}
		c.rate = w.rate(c.ill)
		if w.Opposed {
			c.rate = 1 + w.Drift*float64(2*(label%2)-1)
		}
		w.contenders = append(w.contenders, c)
		w.loop.plan(label*1000+999, upTo(c.ill, time.Second), func() { w.boot(c) })
	}
}

// pass lets d go by. It reports whether no code spun.
func (w *world) pass(d time.Duration) bool {
	return w.passUntil(d, func() bool { return false })
}

func (w *world) passUntil(d time.Duration, done func() bool) bool {
	until := w.loop.now() + d
	for !done() && w.loop.step(until) {
	}
	return !w.loop.spins()
}

// afterEvent looks at those who have had an answer.
func (w *world) afterEvent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.hearers {
		for _, t := range p.terms {
			w.look(t)
		}
		w.sever(p)
	}
	w.hearers = w.hearers[:0]
	w.settle()
}

func (w *world) violated(rule, what string, args ...any) {
	what = fmt.Sprintf(what, args...)
	w.say(nil, "VIOLATION: %s: %s", rule, what)
	w.report.Violations = append(w.report.Violations, fmt.Sprintf("%s: %s (at %v)", rule, what, w.loop.now()))
}

// rankOf tells the how manieth token this is: its bits are random.
func (w *world) rankOf(t backends.Token) int {
	if t == 0 {
		return 0
	}
	if w.ranks[t] == 0 {
		w.ranks[t] = len(w.ranks) + 1
	}
	return w.ranks[t]
}

// calmDown ends the chaos, and checks that somebody leads then, for few requests.
func (w *world) calmDown() {
	w.quiet = true
	w.repair()
	w.mu.Lock()
	w.say(nil, "the faults end")
	w.faults, w.down, w.Drags, w.Align = Faults{}, false, 0, 0
	for _, c := range w.contenders {
		if c.p != nil {
			c.p.cutUntil = 0
			c.p.machine.Resume()
		}
	}
	w.mu.Unlock()
	began := w.loop.now()
	w.pass(w.calm())
	w.checkLed(began)
	before, terms := w.sent(), w.report.Terms
	w.pass(2 * w.TTL)
	w.checkFrugal(before, w.report.Terms-terms)
	w.checkHandover()
}

// checkHandover lets the leader crash, and holds the one who waits to the shortest time in
// which it can be sure. It has nothing to wait for but that: there are no faults.
func (w *world) checkHandover() {
	var old *term
	w.passUntil(w.TTL, func() bool { old = w.leading(); return old != nil })
	if old == nil || !w.awaited(old) {
		return
	}
	crashed := w.loop.now()
	w.mu.Lock()
	w.crash(w.contenders[old.c.p.id/1000], old.c.p)
	w.mu.Unlock()
	w.passUntil(w.handover(), func() bool { return w.lately > crashed })
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lately <= crashed {
		w.violated(RuleSomeone, "nobody has within %v of a crash", w.handover())
	}
}

// handover is how long it takes at most: the poll that first shows the last renewal, the
// stopwatch on a slow clock, another poll, and a few round trips.
func (c *Config) handover() time.Duration {
	ttl, poll := max(c.TTL, c.OtherTTL), max(c.Poll, c.OtherPoll)
	return (ttl+ttl/100+2*(poll+poll/5))*100/98 + 8*c.Latency
}

// leading returns the term of somebody who leads now, if one does.
func (w *world) leading() *term {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.terms {
		if w.believes(t) {
			return t
		}
	}
	return nil
}

// awaited reports whether another process waits for the end of t, in leader.Run.
func (w *world) awaited(t *term) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.contenders {
		if c.p == nil || c.p == t.c.p || c.p.told {
			continue
		}
		for _, o := range c.p.campaigns {
			if o.leads && o.tasks == 0 && !o.stopped {
				return true
			}
		}
	}
	return false
}

// checkLed checks that somebody leads, or has led, since began.
func (w *world) checkLed(began time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lately > began {
		return
	}
	for _, t := range w.terms {
		if w.believes(t) {
			return
		}
	}
	w.violated(RuleSomeone, "nobody has within %v", w.calm())
}

func (w *world) sent() map[*process]int {
	sent := make(map[*process]int)
	for _, c := range w.contenders {
		if c.p != nil {
			sent[c.p] = c.p.sent
		}
	}
	return sent
}

// checkFrugal holds each process to what it needs when nothing goes wrong.
func (w *world) checkFrugal(before map[*process]int, terms int) {
	for _, c := range w.contenders {
		p := c.p
		n, lived := before[p]
		if p == nil || !lived || p.told {
			continue
		}
		polls, renewals := 2*w.TTL/(p.poll*8/10), 2*w.TTL/(p.ttl/3)
		most := len(p.campaigns)*(int(2*polls+renewals)+8) + 6*terms
		if sent := p.sent - n; sent > most {
			w.violated(RuleBudget, "%v sent %d requests in %v of calm: at most %d are needed", p, sent, 2*w.TTL, most)
		}
	}
}

// longestEnd is how long a campaign may take to end that was told to: a task that
// drains, and a release.
func (c *Config) longestEnd() time.Duration { return 4*max(c.TTL, c.OtherTTL) + time.Minute }

// finish ends all lives, those of the dead too, so that the bubble can end.
func (w *world) finish() {
	w.ending = true
	w.mu.Lock()
	w.say(nil, "all are told to end")
	for _, p := range w.all {
		if !p.dead && p.running > 0 {
			p.machine.Resume()
			w.terminate(p)
		}
	}
	w.mu.Unlock()
	sane := w.passUntil(w.longestEnd(), func() bool { return w.left(false) == 0 })
	w.mu.Lock()
	switch {
	case !sane:
		w.violated(RuleNoSpin, "%d events of actor %d in one instant", maxAtOnce, w.loop.actor)
	case w.left(false) > 0:
		w.violated(RuleEnds, "%d campaigns go on after %v", w.left(false), w.longestEnd())
	}
	w.report.Requests = 0
	for _, p := range w.all {
		w.report.Requests += p.sent
		if p.dead {
			p.machine.Resume()
			w.terminateDead(p)
		}
	}
	w.mu.Unlock()
	w.passUntil(24*time.Hour, func() bool { return w.left(true) == 0 })
	w.pass(time.Minute) // for what is settled in the background
}

// terminateDead lets go of the goroutines of a process that has crashed.
func (w *world) terminateDead(p *process) {
	p.told = true
	for _, c := range p.campaigns {
		w.loop.plan(p.id, 0, func() { p.machine.deliver(c.cancel) })
	}
}

// left counts campaigns that have not returned.
func (w *world) left(dead bool) (n int) {
	for _, p := range w.all {
		if p.dead == dead {
			n += p.running
		}
	}
	return n
}
