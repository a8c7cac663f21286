package sim

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// Nights is a world in which a job is due each night, by leader.Once, on several
// replicas. Each starts when it takes it to be two o'clock, by a clock that is off.
type Nights struct {
	Seed     uint64
	Nights   int
	Replicas int
	Kind     string        // of slots: "at", "id" or "every"
	Apart    time.Duration // a replica's clock is off by up to so much, either way
	Job      time.Duration // the mean length of the job
	Rough    bool          // processes crash and are paused, the network has storms and outages
	Plain    bool          // a lock is all that they use: for a test of the rules
}

// DrawNights makes a world of a seed.
func DrawNights(seed uint64) Nights {
	r := rand.New(rand.NewPCG(seed, 79))
	kinds := []string{"every", "at", "id"}
	return Nights{
		Seed:     seed,
		Nights:   50,
		Replicas: 3,
		Kind:     kinds[seed%3],
		Apart:    5 * time.Minute,
		Job:      pick(r, 1, 20, 90) * time.Second,
		Rough:    seed/3%2 == 0,
	}
}

// A NightReport says what happened.
type NightReport struct {
	Nights     int
	Runs       int // of the job
	Repeated   int // nights in which it was run again, since nothing was recorded
	Crashes    int
	Pauses     int
	Lost       int // runs that lost their lease
	Unrecorded int // runs that Once said it could not record
	Excused    int // nights without crash or pause in which it was run again; see RuleSlotExactly
	Requests   int

	Hash       uint64
	Violations []string
	Trace      string
}

// Add sums up.
func (r *NightReport) Add(o NightReport) {
	r.Nights += o.Nights
	r.Runs += o.Runs
	r.Repeated += o.Repeated
	r.Crashes += o.Crashes
	r.Pauses += o.Pauses
	r.Lost += o.Lost
	r.Unrecorded += o.Unrecorded
	r.Excused += o.Excused
	r.Requests += o.Requests
}

const (
	aDay      = 24 * time.Hour
	dueAt     = 2 * time.Hour    // of each day, UTC
	anHour    = time.Hour        // of chaos, and one of calm, in each night
	lateStart = 30 * time.Second // how long a replica may take to start
	mostLives = 8                // of a replica in a night
)

// nights are a world, and what is known of the night.
type nights struct {
	*world
	Nights
	report NightReport

	due      time.Duration
	key      string // what the record says of this night once it is done
	done     string // what it says
	recorded bool
	begun    int  // runs of the job
	excused  bool // something befell this night
	waiting  int  // lives to come
	writes   int  // that were heeded
	crashes  map[*process]crash
	took     map[*process]time.Duration // when a job has begun
	worked   map[*process]time.Duration // and ended
}

// A crash is what is planned for a process.
type crash struct {
	at    int    // it dies when it has sent so many requests; 0: not so
	again func() // what follows
}

// RunNights lets the nights of c go by. It must be called in a synctest bubble.
func RunNights(c Nights) NightReport { return runNights(c, false) }

// TellNights is RunNights with a trace.
func TellNights(c Nights) NightReport { return runNights(c, true) }

func runNights(c Nights, tell bool) NightReport {
	n := &nights{Nights: c, crashes: make(map[*process]crash), took: make(map[*process]time.Duration), worked: make(map[*process]time.Duration)}
	n.world = newWorld(Config{
		Seed: c.Seed, TTL: 30 * time.Second, Poll: 5 * time.Second, Drift: 0.01, Latency: 100 * time.Millisecond,
		Fair: drizzle, Storm: storm, Weather: time.Minute, Outages: 0.15, Harm: time.Minute, Etags: c.Seed%2 == 0,
	}, tell)
	if c.Seed%4 < 2 {
		n.Dates = cas.Dates{Trusted: true, Granularity: time.Second, Skew: 2 * time.Second}
	}
	n.loop.batch = func() { n.afterEvent(); n.heed(); n.crashAsPlanned() }
	n.Fair.Late = 0 // that is a pause
	n.createStore()
	n.depot.rate = 1 // else years would show
	n.quiet = true
	for i := range c.Nights {
		n.goBy(i + 1)
	}
	n.pass(anHour) // for what is settled in the background
	n.report.Nights = c.Nights
	n.report.Hash = uint64(n.trace.sum)
	n.report.Violations = n.world.report.Violations
	if tell {
		n.report.Trace = n.trace.all.String()
	}
	return n.report
}

// goBy is one night.
func (n *nights) goBy(night int) {
	n.due = time.Duration(night)*aDay + dueAt
	n.pass(n.due - anHour - n.loop.now())
	n.recorded, n.begun, n.excused, n.all = false, 0, false, nil
	clear(n.crashes)
	clear(n.took)
	clear(n.worked)
	n.key, n.faults = n.keyOf(night), n.Fair
	n.note(nil, "night %d", night)
	if n.Rough {
		n.quiet = false
		n.weather()
	}
	r := n.random("night", night)
	for i := range n.Replicas {
		off := upTo(r, 2*n.Apart) - n.Apart // so the clock is fast by off
		n.waiting++
		n.loop.plan(0, n.due-off+upTo(r, lateStart)-n.loop.now(), func() { n.start((night*n.Replicas+i)*mostLives, off) })
	}
	n.passUntil(n.due+anHour-n.loop.now(), n.over)
	n.calm()
	n.passUntil(anHour, n.over)
	n.judge()
	n.finishNight()
}

// keyOf is what the record says of a night that is done.
func (n *nights) keyOf(night int) string {
	if n.Kind != "id" {
		return n.Kind + "=" + epoch.Add(n.due).Format("2006-01-02T15:04:05.000000000Z")
	}
	sum := sha256.Sum256([]byte(idOf(night)))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

func idOf(night int) string { return fmt.Sprint("night ", night) }

func (n *nights) slot() leader.Slot {
	switch n.Kind {
	case "at":
		return leader.SlotAt(epoch.Add(n.due))
	case "id":
		return leader.SlotID(idOf(int(n.due / aDay)))
	default:
		return leader.Every(aDay, dueAt)
	}
}

// over reports whether all that lived have ended, and none will live again.
func (n *nights) over() bool { return n.waiting == 0 && n.left(false) == 0 }

// start begins a life of a replica.
func (n *nights) start(id int, off time.Duration) {
	n.waiting--
	r := n.random("life", id)
	p := &process{id: id, jumps: [2]time.Duration{longAgo, longAgo}, ttl: n.TTL, poll: n.Poll, running: 1}
	p.machine = newMachine(n.rate(r), off, lane{n.loop, id}, n.random("machine", id))
	p.fates = n.random("fates", id)
	m, err := mutex.New(cas.New(&view{carrier: clock.Carry(p.machine), w: n.world, p: p}, cas.Options{Dates: n.Dates}), "job",
		&mutex.Options{TTL: n.TTL, Poll: n.Poll, Holder: fmt.Sprint(id)})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &campaign{w: n.world, p: p, mutex: m, cancel: cancel, chance: n.random("task", id)}
	p.campaigns = []*campaign{c}
	n.all = append(n.all, p)
	n.note(p, "starts, its clock off by %v", off)
	if n.Rough {
		n.plan(p, off)
	}
	n.loop.plan(id, 0, func() { p.machine.deliver(func() { go n.live(ctx, c) }) })
}

// plan is what will befall a life.
func (n *nights) plan(p *process, off time.Duration) {
	r := n.random("harm", p.id)
	var c crash
	if r.IntN(3) == 0 {
		c.at = 1 + r.IntN(12)
	}
	c.again = func() {
		if r.IntN(2) == 0 && p.id%mostLives < mostLives-1 {
			n.waiting++
			n.loop.plan(0, upTo(r, 2*longestRestart), func() { n.start(p.id+1, off) })
		}
	}
	n.crashes[p] = c
	n.ail(p, r)
}

// ail pauses p or cuts it off now and then, or kills it.
func (n *nights) ail(p *process, r *rand.Rand) {
	n.loop.plan(p.id, about(r, n.Harm), func() {
		if n.quiet || p.dead || p.running == 0 {
			return
		}
		n.mu.Lock()
		n.excused = true
		switch r.IntN(6) {
		case 0:
			n.kill(p)
		case 1, 2:
			n.report.Pauses++
			n.halt(p, p.machine.Suspend, "is suspended", about(r, n.TTL))
		case 3, 4:
			n.report.Pauses++
			n.halt(p, p.machine.Stop, "is stopped", about(r, n.TTL))
		default:
			d := about(r, n.TTL)
			n.note(p, "is cut off for %v", d)
			p.cutUntil = n.loop.now() + d
		}
		n.mu.Unlock()
		n.ail(p, r)
	})
}

// crashAsPlanned kills those who have just sent the request that was to be their last.
func (n *nights) crashAsPlanned() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.all {
		if at := n.crashes[p].at; !p.dead && p.running > 0 && at > 0 && p.sent >= at {
			n.kill(p)
		}
	}
}

func (n *nights) kill(p *process) {
	n.note(p, "crashes")
	n.report.Crashes++
	n.excused, p.dead = true, true
	p.machine.Stop()
	n.crashes[p].again()
}

// live calls Once until it is done, as a runner of jobs does that tries again after a
// failure.
func (n *nights) live(ctx context.Context, c *campaign) {
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		c.p.running = 0
	}()
	for ctx.Err() == nil {
		ran, err := n.once(ctx, c)
		n.returned(ctx, c.p, ran, err)
		if err == nil || clock.Sleep(ctx, c.p.machine, c.upTo(time.Minute)) != nil {
			return
		}
	}
}

func (n *nights) once(ctx context.Context, c *campaign) (bool, error) {
	job := func(ctx context.Context, _ *mutex.Lease) error {
		n.begin(ctx, c.p)
		err := clock.Sleep(ctx, c.p.machine, c.about(n.Job))
		n.mu.Lock()
		defer n.mu.Unlock()
		n.worked[c.p] = n.loop.now()
		if err != nil && n.outage(c.p.confirmed) {
			n.excused = true
		}
		return err
	}
	if n.Plain {
		return true, c.mutex.Do(ctx, job)
	}
	return leader.Once(ctx, c.mutex, n.slot(), job, nil)
}

func (n *nights) begin(ctx context.Context, p *process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.dead {
		return
	}
	n.begun++
	n.report.Runs++
	n.took[p] = n.loop.now()
	p.confirmed = max(p.confirmed, p.claimed) // it may know by a read
	n.note(p, "runs the job, the time of this night's run %d", n.begun)
	if n.recorded {
		n.violated(RuleSlotOnce, "%v runs %s", p, n.key)
	}
	if at, ok := leader.SlotTime(ctx); ok && !at.Equal(epoch.Add(n.due)) {
		n.violated(RuleSlotDue, "%v runs that of %v for %s", p, at, n.key)
	}
}

// returned holds what Once says against what is so.
func (n *nights) returned(ctx context.Context, p *process, ran bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.dead {
		return
	}
	n.note(p, "Once returns %t", ran)
	n.say(p, "with %v", err)
	lost, unrecorded := errors.Is(err, mutex.ErrLost), errors.Is(err, leader.ErrNotRecorded)
	switch {
	case err == nil && !n.recorded && !n.Plain:
		n.violated(RuleSlotSaid, "Once says nil to %v, but the record does not have %s", p, n.key)
	case err != nil && ctx.Err() == nil && (!ran || !lost && !unrecorded):
		n.violated(RuleSlotSaid, "Once returns %t, %v to %v", ran, err, p)
	}
	if lost {
		n.report.Lost++
	}
	if unrecorded {
		n.report.Unrecorded++
	}
	if unrecorded && n.outage(n.worked[p]) || lost && p.misled > n.took[p] {
		n.excused = true
	}
}

// outage reports whether a process that was last sure of its lease then must let it go
// now. That is after 0.97 TTL by its own clock, which may be fast: as long as that the
// network has failed it again and again.
func (n *nights) outage(since time.Duration) bool {
	return n.loop.now()-since >= n.TTL*96/100
}

// heed looks what a write has made of the record.
func (n *nights) heed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writes == n.depot.writes {
		return
	}
	n.writes = n.depot.writes
	_, rest, _ := strings.Cut(string(n.depot.current().data), `"done": "`)
	done, _, _ := strings.Cut(rest, `"`)
	if !n.keeps(n.done, done) {
		n.violated(RuleSlotKept, "%q becomes %q", n.done, done)
	}
	n.done = done
	n.recorded = strings.Contains(done, n.key)
}

// keeps reports whether all that was done is so afterwards. Instants sort as text; of
// IDs the oldest may go.
func (n *nights) keeps(before, after string) bool {
	if n.Kind != "id" {
		return before <= after
	}
	ids := strings.Split(strings.TrimPrefix(before, "id="), ",")
	for _, id := range ids[max(0, len(ids)-31):] {
		if !strings.Contains(after, id) {
			return false
		}
	}
	return true
}

// calm ends the chaos of the night. Who lives then gets the job done.
func (n *nights) calm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet = true
	n.down = false
	if n.Rough {
		n.faults = Faults{}
	}
	for _, p := range n.all {
		p.cutUntil = 0
		if !p.dead {
			p.machine.Resume()
		}
	}
}

// judge holds the night to the rules.
func (n *nights) judge() {
	n.mu.Lock()
	defer n.mu.Unlock()
	lives := false
	for _, p := range n.all {
		lives = lives || !p.dead
	}
	if n.begun > 1 {
		n.report.Repeated++
	}
	if n.begun > 1 && n.excused && !n.Rough {
		n.report.Excused++
	}
	switch {
	case !n.recorded && lives && !n.Plain:
		n.violated(RuleSlotDone, "%s, though somebody lived", n.key)
	case !n.excused && !n.Rough && n.begun != 1:
		n.violated(RuleSlotExactly, "%s was run %d times, and nothing happened", n.key, n.begun)
	}
}

// finishNight ends all lives, those of the dead too.
func (n *nights) finishNight() {
	n.mu.Lock()
	for _, p := range n.all {
		n.report.Requests += p.sent
		p.machine.Resume()
		n.terminateDead(p)
	}
	n.mu.Unlock()
	n.passUntil(anHour, func() bool { return n.left(false)+n.left(true) == 0 })
	if left := n.left(false) + n.left(true); left > 0 {
		n.violated(RuleEnds, "%d calls of Once go on", left)
	}
}
