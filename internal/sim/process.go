package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// A contender is one who is started again each time that it has ended.
type contender struct {
	label int
	rate  float64
	lives int
	p     *process // now; nil between two lives
	ill   *rand.Rand
}

// A process is one life of a contender.
type process struct {
	id        int // label·1000 + life
	machine   *Machine
	fates     *rand.Rand // of its requests
	campaigns []*campaign
	running   int // campaigns that have not returned
	dead      bool
	told      bool // to end
	cutUntil  time.Duration
	jumps     [2]time.Duration // when the wall clock was set, the last two times
	blind     bool             // its wall clock is set back, so it would not see a sleep
	misled    time.Duration    // when a stale answer last came
	claim     backends.Token   // the highest that it wrote, or tried to
	claimed   time.Duration    // when it first did
	confirmed time.Duration    // when the last write was sent of which it knows that it is done
	sent      int
	terms     []*term
	window    time.Duration // budget: a stretch of time
	inWindow  int           // and requests in it
	ttl, poll time.Duration
}

// A campaign is one user of a mutex: a process has one or two, with one engine.
type campaign struct {
	w       *world
	p       *process
	name    string
	mutex   *mutex.Mutex
	chance  *rand.Rand // of its task
	cancel  context.CancelFunc
	tasks   int
	leads   bool // by leader.Run
	stopped bool
}

const longAgo = -24 * time.Hour

// jumped reports whether the wall clock was set n times lately: then a deadline that
// was read off it may be wrong.
func (p *process) jumped(n int, now time.Duration) bool {
	return now-p.jumps[2-n] < 2*p.ttl
}

func (p *process) String() string { return fmt.Sprintf("%d.%d", p.id/1000, p.id%1000) }

// random returns a stream of its own for each purpose, so that what one part of the
// world asks does not change what another is told.
func (w *world) random(purpose string, n int) *rand.Rand {
	h := newHash()
	h.add(purpose)
	return rand.New(rand.NewPCG(w.Seed, uint64(h)^uint64(n)<<32)) //nolint:gosec // n is small
}

// boot starts a life of c.
func (w *world) boot(c *contender) {
	if w.ending {
		return
	}
	c.lives++
	p := &process{id: c.label*1000 + c.lives, jumps: [2]time.Duration{longAgo, longAgo}}
	r := w.random("boot", p.id)
	chance := w.random("machine", p.id)
	p.machine = newMachine(c.rate, time.Duration(r.Int64N(int64(2*time.Hour)))-time.Hour, lane{w.loop, p.id}, chance)
	p.machine.bootless = r.IntN(3) == 0
	p.blind = p.machine.bootless && r.IntN(2) == 0
	if w.OnTime {
		p.machine.chance = nil
	}
	if w.LateTimers > 0 {
		p.machine.late = func(due time.Duration) time.Duration { return w.lateness(p, due) }
	}
	p.fates = w.random("fates", p.id)
	p.ttl, p.poll = w.TTL, w.Poll
	if w.OtherTTL > 0 && r.Float64() < 0.5 { // a configuration that is being rolled out
		p.ttl, p.poll = w.OtherTTL, w.OtherPoll
	}
	engine := cas.New(&view{carrier: clock.Carry(p.machine), w: w, p: p}, cas.Options{Dates: w.Dates})
	n := 1
	if r.Float64() < w.Pairs {
		n = 2
	}
	c.p = p
	w.mu.Lock()
	w.all = append(w.all, p)
	w.note(p, "starts: rate %.4f, TTL %v, poll %v, campaigns %d", c.rate, p.ttl, p.poll, n)
	w.mu.Unlock()
	for i := range n {
		w.loop.plan(p.id, time.Duration(i), func() { p.machine.deliver(func() { w.launch(p, engine, i) }) })
	}
	p.running = n
	w.plague(c, p)
}

// launch starts a campaign of p.
func (w *world) launch(p *process, engine *cas.Engine, i int) {
	m, err := mutex.New(engine, "job", &mutex.Options{TTL: p.ttl, Poll: p.poll, Holder: fmt.Sprint(p.id / 1000)})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &campaign{w: w, p: p, name: fmt.Sprintf("%v%c", p, 'a'+i), mutex: m, cancel: cancel, chance: w.random("task", p.id*10+i)}
	w.mu.Lock()
	p.campaigns = append(p.campaigns, c)
	told := p.told
	w.mu.Unlock()
	if told {
		cancel()
	}
	run := c.lead
	if c.leads = c.chance.Float64() >= w.Lockers; !c.leads {
		run = c.lock
	}
	go func() {
		defer cancel()
		c.ended(run(ctx))
	}()
}

// ended checks why a campaign has ended.
func (c *campaign) ended(err error) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	c.stopped = true
	c.p.running--
	w.note(c.p, "campaign %s ends: %v", c.name, err)
	setUp := w.Operators > 0 && errors.Is(err, backends.ErrForeign)
	if err != nil && !c.p.dead && !errors.Is(err, leader.ErrHung) && !setUp {
		w.violated(RuleStatedEnd, "campaign %s: %v", c.name, err)
	}
	if c.p.running == 0 && !c.p.dead {
		w.reboot(c.p.id / 1000)
	}
}

// lead is a campaign by leader.Run.
func (c *campaign) lead(ctx context.Context) error {
	o := &leader.Options{StopTimeout: c.upTo(4*c.p.ttl) + time.Second}
	beats := c.chance.Float64() < 0.3
	if beats {
		o.Liveness = c.p.ttl
	}
	return leader.Run(ctx, c.mutex, func(ctx context.Context, l *mutex.Lease) error {
		t := c.w.begin(c, l)
		defer c.w.end(t)
		if c.work(ctx, beats) != nil {
			c.drain()
			return context.Cause(ctx)
		}
		return leader.ErrResign
	}, o)
}

// work is what a task does: it beats if it has to, and sometimes it hangs.
func (c *campaign) work(ctx context.Context, beats bool) error {
	d, m := c.about(c.w.Term), c.p.machine
	hangs := c.chance.Float64() < 0.1
	for beats && !hangs && d > c.p.ttl/2 {
		leader.Beat(ctx)
		if err := clock.Sleep(ctx, m, c.p.ttl/2); err != nil {
			return err
		}
		d -= c.p.ttl / 2
	}
	leader.Beat(ctx)
	return clock.Sleep(ctx, m, d)
}

// drain takes its time to stop, longer than a TTL perhaps.
func (c *campaign) drain() {
	if c.chance.Float64() < 0.3 {
		_ = clock.Sleep(context.Background(), c.p.machine, c.upTo(2*c.p.ttl))
	}
}

// lock is a campaign that uses the mutex itself, and gives up early now and then.
func (c *campaign) lock(ctx context.Context) error {
	for ctx.Err() == nil {
		switch c.chance.IntN(4) {
		case 0:
			_ = c.mutex.Do(ctx, func(ctx context.Context, l *mutex.Lease) error {
				t := c.w.begin(c, l)
				defer c.w.end(t)
				if clock.Sleep(ctx, c.p.machine, c.about(c.w.Term)) != nil {
					c.drain()
				}
				return nil
			})
		case 1:
			c.once(ctx, c.mutex.TryLock)
		default:
			c.once(ctx, c.mutex.Lock)
		}
		_ = clock.Sleep(ctx, c.p.machine, c.p.poll+c.upTo(c.p.poll))
	}
	return nil
}

func (c *campaign) once(ctx context.Context, lock func(context.Context) (*mutex.Lease, error)) {
	within, cancel := c.p.machine.WithTimeout(ctx, c.about(c.p.ttl/2))
	l, err := lock(within)
	cancel()
	if err != nil {
		return
	}
	t := c.w.begin(c, l)
	work, stop := l.Context(ctx)
	if clock.Sleep(work, c.p.machine, c.about(c.w.Term)) != nil {
		c.drain()
	}
	stop()
	c.w.end(t)
	_ = l.Release(ctx)
}

func (c *campaign) upTo(d time.Duration) time.Duration { return upTo(c.chance, d) }
func (c *campaign) about(d time.Duration) time.Duration {
	return about(c.chance, d)
}

func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }

func about(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}
