package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// A Config says which world to make.
type Config struct {
	Seed       uint64
	Contenders int
	Length     time.Duration // of the chaos; a calm follows
	TTL        time.Duration
	Poll       time.Duration
	Drift      float64 // rates are within 1±Drift; the promise holds for 1 %
}

// A Report says what happened.
type Report struct {
	Terms      int
	Crashes    int
	Suspends   int
	Stops      int
	Jumps      int
	Lost       int      // leases that were lost
	Violations []string // each begins with the name of the rule
}

// calm is how long after the last fault somebody must lead: a TTL by the slowest
// stopwatch, two polls, an attempt that hangs, a Retry-After and a restart.
func (c Config) calm() time.Duration {
	return c.TTL + c.TTL/50 + 3*c.Poll + c.TTL/3 + longestThrottle + longestRestart
}

const (
	longestThrottle = 20 * time.Second
	longestRestart  = 20 * time.Second
)

// A World is one run.
type World struct {
	Config
	net *Network

	mu      sync.Mutex
	rng     *rand.Rand
	report  Report
	highest backends.Token
	terms   map[*term]struct{} // of tasks that have begun and not ended
	lately  time.Time          // when a task last began
	quiet   bool               // no more chaos
}

// A term is one run of the task.
type term struct {
	p     *process
	lease *mutex.Lease
}

// A process is one life of a contender.
type process struct {
	label   int
	machine *Machine
	view    *View
	cancel  context.CancelFunc
	ended   chan struct{}
	tasks   int
}

// Run makes the world of c and lets it go by. It must be called in a synctest
// bubble.
func Run(c Config) Report {
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	w := &World{
		Config: c,
		rng:    rng,
		terms:  make(map[*term]struct{}),
		net:    NewNetwork(memstore.New(clock.System), rand.New(rand.NewPCG(c.Seed, 1))),
	}
	stop := make(chan struct{})
	var weather, contenders sync.WaitGroup
	weather.Go(func() { w.weather(stop) })
	for label := range c.Contenders {
		contenders.Go(func() { w.contend(label, stop) })
	}
	time.Sleep(c.Length)
	w.mu.Lock()
	w.quiet = true
	w.mu.Unlock()
	w.net.Set(Faults{}, false)
	began := time.Now()
	time.Sleep(c.calm())
	w.checkLed(began)
	close(stop)
	weather.Wait()
	contenders.Wait()
	w.net.Wait()
	return w.report
}

// chance, upTo and about are the dice.
func (w *World) chance(p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.Float64() < p
}

func (w *World) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.Int64N(int64(d)))
}

func (w *World) about(mean time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng.ExpFloat64() * float64(mean))
}

func (w *World) isQuiet() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quiet
}

func (w *World) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

func (w *World) violated(rule, what string, args ...any) {
	w.report.Violations = append(w.report.Violations, rule+": "+fmt.Sprintf(what, args...))
}

// weather changes the faults of the network from time to time.
func (w *World) weather(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(w.about(4 * time.Minute)):
		}
		if w.isQuiet() {
			continue
		}
		f := Faults{LoseRequest: 0.02, LoseAnswer: 0.02, Duplicate: 0.05, Throttle: 0.02, Fail: 0.02, Lie: 0.02, Slow: 0.05}
		if w.chance(0.3) {
			f = Faults{LoseRequest: 0.2, LoseAnswer: 0.3, Duplicate: 0.3, Throttle: 0.1, Fail: 0.1, Lie: 0.1, Slow: 0.3}
		}
		w.net.Set(f, w.chance(0.2))
	}
}

// contend lives the lives of one contender, one after the other.
func (w *World) contend(label int, stop <-chan struct{}) {
	rate := 1 + w.Drift*(2*float64(w.upTo(1000))/999-1)
	var past []*process
	for {
		p := w.boot(label, rate)
		crashed := w.torment(p, stop)
		if crashed {
			past = append(past, p) // its goroutines stand at the gate
		} else {
			p.cancel()
			<-p.ended
		}
		select {
		case <-stop:
			for _, p := range past {
				p.cancel()
				p.machine.Resume()
				<-p.ended
			}
			return
		case <-time.After(w.upTo(longestRestart)):
		}
	}
}

// boot starts a process.
func (w *World) boot(label int, rate float64) *process {
	m := NewMachine(rate, w.upTo(2*time.Hour)-time.Hour)
	p := &process{label: label, machine: m, view: w.net.View(m), ended: make(chan struct{})}
	engine := cas.New(p.view, cas.Options{Dates: cas.Dates{Trusted: w.chance(0.5)}})
	mu, err := mutex.New(engine, "job", &mutex.Options{TTL: w.TTL, Poll: w.Poll, Holder: fmt.Sprint(label)})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.ended)
		err := leader.Run(ctx, mu, func(ctx context.Context, l *mutex.Lease) error {
			return w.lead(ctx, p, l)
		}, &leader.Options{StopTimeout: time.Hour})
		if err != nil && !p.view.killed() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.violated("Run ends for a stated reason only", "contender %d: %v", label, err)
		}
	}()
	return p
}

// torment does harm to p until it is to be restarted. It reports whether p was
// killed.
func (w *World) torment(p *process, stop <-chan struct{}) (crashed bool) {
	for {
		select {
		case <-stop:
			return false
		case <-p.ended:
			return false
		case <-time.After(w.about(10 * time.Minute)):
		}
		if w.isQuiet() {
			continue
		}
		switch w.upTo(6) {
		case 0:
			w.count(&w.report.Crashes)
			p.view.Kill()
			p.machine.Stop()
			w.bury(p)
			return true
		case 1:
			return false
		case 2:
			w.count(&w.report.Jumps)
			p.machine.Jump(w.upTo(2*time.Hour) - time.Hour)
		case 3:
			w.count(&w.report.Suspends)
			p.machine.Suspend()
			time.Sleep(w.about(w.TTL))
			p.machine.Resume()
		default:
			w.count(&w.report.Stops)
			p.machine.Stop()
			time.Sleep(w.about(w.TTL))
			p.machine.Resume()
		}
	}
}

// bury takes a killed process off the list of those that believe.
func (w *World) bury(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.terms {
		if t.p == p {
			delete(w.terms, t)
		}
	}
}

// lead is the task. It works until it is told to stop, or for a while, and takes
// its time to stop.
func (w *World) lead(ctx context.Context, p *process, l *mutex.Lease) error {
	if p.view.killed() {
		return nil
	}
	t := w.begin(p, l)
	defer w.end(t)
	if clock.Sleep(ctx, p.machine, w.about(15*time.Minute)) != nil {
		if w.chance(0.3) { // drain, for longer than a TTL perhaps
			_ = clock.Sleep(context.Background(), p.machine, w.upTo(3*w.TTL))
		}
		return context.Cause(ctx)
	}
	return leader.ErrResign
}

// begin checks what must hold at the moment at which a belief begins.
func (w *World) begin(p *process, l *mutex.Lease) *term {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Terms++
	if p.tasks++; p.tasks > 1 {
		w.violated("Run never runs two tasks", "contender %d", p.label)
	}
	if l.Token() <= w.highest {
		w.violated("tokens strictly rise", "contender %d has %d after %d", p.label, l.Token(), w.highest)
	}
	w.highest = max(w.highest, l.Token())
	if l.Err() == nil {
		for other := range w.terms {
			if other.lease.Err() == nil {
				w.violated("one believes at a time", "contender %d with token %d and contender %d with token %d, %v into the run",
					p.label, l.Token(), other.p.label, other.lease.Token(), time.Since(p.machine.start))
			}
		}
	}
	t := &term{p, l}
	w.terms[t] = struct{}{}
	w.lately = time.Now()
	return t
}

func (w *World) end(t *term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.p.tasks--
	if errors.Is(t.lease.Err(), mutex.ErrLost) {
		w.report.Lost++
	}
	delete(w.terms, t)
}

// checkLed checks that somebody leads, or has led, since began.
func (w *World) checkLed(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lately.After(began) {
		return
	}
	for t := range w.terms {
		if t.lease.Err() == nil {
			return
		}
	}
	w.violated("someone leads soon after the faults", "nobody has within %v", w.calm())
}
