package days

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/mutex"
)

// A Day is what is to go by. All fields are needed, but for Grace and Acts.
type Day struct {
	Seed              uint64
	Length, TTL, Poll time.Duration
	// Grace is for how long a lease that has run out may be refused to others.
	Grace time.Duration

	// Store is the model, and Kind names its requests.
	Store http.Handler
	Kind  func(*http.Request) string
	// Open returns the backend of one process: rt carries its requests, and if it
	// looks at clocks these are the machine's.
	Open func(m *sim.Machine, rt http.RoundTripper) (backends.Backend, error)

	// Busy is how the store throttles, Broken how it says that it does not know
	// whether it has acted, and Lied how it refuses a write for its condition
	// although it has acted, as if somebody had sent the request twice.
	Busy   func(retryAfter time.Duration) fakestore.Fault
	Broken func() fakestore.Fault
	Lied   func(*http.Request) fakestore.Fault

	// Acts are what an operator may do.
	Acts []func(*World)
}

// A Report says what happened.
type Report struct {
	Counts     map[string]int
	Violations []string
	// Tape is the last that happened, up to the first violation if there was one.
	// The same seed makes the same tape, as far as no two goroutines of different
	// actors do something at the very same nanosecond; tokens and nonces are
	// others, and nothing depends on them.
	Tape []string
}

// Add adds the counts of o.
func (r *Report) Add(o Report) {
	if r.Counts == nil {
		r.Counts = map[string]int{}
	}
	for what, n := range o.Counts {
		r.Counts[what] += n
	}
}

// String lists the counts.
func (r Report) String() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, r.Counts[what]))
	}
	return strings.Join(parts, ", ")
}

// A World is a day that goes by.
type World struct {
	Day

	layer *fakestore.Layer

	mu      sync.Mutex
	dice    map[string]*rand.Rand
	tape    []string // the last that happened
	skies   weather
	quiet   bool // no more chaos
	highest backends.Token
	terms   map[*belief]struct{} // of tasks that have begun and not ended
	lately  time.Time            // when a task last began
	void    time.Time            // until then exclusion is void: an operator has said so
	report  Report
}

// Run lets a day go by. It has to be called in a bubble.
func (d Day) Run(t *testing.T) Report {
	t.Helper()
	w := &World{Day: d, dice: map[string]*rand.Rand{}, terms: map[*belief]struct{}{}, report: Report{Counts: map[string]int{}}}
	w.layer = fakestore.New(d.Store, &fakestore.Options{
		Kind: d.Kind, Faults: w.fate, Trace: func(e fakestore.Event) { w.tell("%v", e) },
	})
	defer w.layer.Close()
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { w.blow(stop) })
	all.Go(func() { w.operate(stop) })
	for label := range 4 {
		all.Go(func() { w.contend(t, label, stop) })
	}
	time.Sleep(w.Length)
	w.mu.Lock()
	w.quiet, w.skies = true, weather{}
	w.record("the faults end")
	w.mu.Unlock()
	began := time.Now()
	time.Sleep(w.patience())
	w.checkLed(began)
	close(stop)
	all.Wait()
	w.layer.Wait()
	time.Sleep(w.TTL) // the last look at a void
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.report.Tape == nil {
		w.report.Tape = w.tape
	}
	return w.report
}

// patience is how long after the last fault somebody must lead: a task that drains, a
// TTL and the store's grace, three polls, an attempt that hangs, a Retry-After and a
// restart.
func (w *World) patience() time.Duration {
	return 5*w.TTL + w.Grace + 3*w.Poll + longestThrottle + longestRestart
}

// Count counts an event.
func (w *World) Count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Counts[what]++
	w.record("%s", what)
}

// Every actor has dice of its own for each purpose, so that one's throws do not change
// another's: a seed gives one day, however goroutines are scheduled that run at the same
// moment.
func (w *World) rng(whose string) *rand.Rand {
	d := w.dice[whose]
	if d == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(whose))
		d = rand.New(rand.NewPCG(w.Seed, h.Sum64()))
		w.dice[whose] = d
	}
	return d
}

func (w *World) upTo(whose string, d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng(whose).Int64N(int64(d)))
}

func (w *World) chance(whose string, p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng(whose).Float64() < p
}

func (w *World) about(whose string, mean time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng(whose).ExpFloat64() * float64(mean))
}

const tapeLength = 600

func (w *World) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record(format, args...)
}

// record is tell under the lock.
func (w *World) record(format string, args ...any) {
	if len(w.tape) == 2*tapeLength {
		w.tape = slices.Delete(w.tape, 0, tapeLength)
	}
	w.tape = append(w.tape, time.Now().Format("15:04:05.000000 ")+fmt.Sprintf(format, args...))
}

func (w *World) calm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quiet
}

// violated is called under the lock.
func (w *World) violated(what string, args ...any) {
	w.report.Violations = append(w.report.Violations, fmt.Sprintf(what, args...))
	w.record(what, args...)
	if w.report.Tape == nil {
		w.report.Tape = slices.Clone(w.tape)
	}
}

// operate meddles from time to time.
func (w *World) operate(stop <-chan struct{}) {
	const whose = "operator"
	for len(w.Acts) > 0 && w.pause(whose, stop, 20*time.Minute) {
		w.Acts[w.upTo(whose, time.Duration(len(w.Acts)))](w)
	}
}

// Void says that an operator has just ended the lease by force, or undone writes: two
// may believe until every deadline that is in force has passed.
func (w *World) Void() {
	w.mu.Lock()
	w.void = time.Now().Add(w.TTL)
	w.mu.Unlock()
	time.AfterFunc(w.TTL, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if time.Now().Before(w.void) {
			return
		}
		for b := range w.terms {
			if b.lease.Err() == nil {
				w.checkAlone(b)
				return
			}
		}
	})
}

// pause waits for about that long. It reports whether the chaos goes on.
func (w *World) pause(whose string, stop <-chan struct{}, mean time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(w.about(whose, mean)):
		return !w.calm()
	}
}

// A belief is one run of a task under a lease.
type belief struct {
	*life
	lease *mutex.Lease
}

// begin checks what must hold at the moment at which a belief begins.
func (w *World) begin(p *life, l *mutex.Lease) *belief {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Counts["terms"]++
	b := &belief{p, l}
	w.record("%s leads, with token %d", p.name, l.Token())
	if l.Err() == nil && !time.Now().Before(w.void) {
		if l.Token() <= w.highest {
			w.violated("contender %d has token %d after %d", p.label, l.Token(), w.highest)
		}
		w.checkAlone(b)
	}
	w.highest = max(w.highest, l.Token())
	w.terms[b] = struct{}{}
	w.lately = time.Now()
	return b
}

// checkAlone makes sure that nobody but b believes.
func (w *World) checkAlone(b *belief) {
	for other := range w.terms {
		if other != b && other.lease.Err() == nil {
			w.violated("contender %d with token %d and contender %d with token %d believe at once, at %v",
				b.label, b.lease.Token(), other.label, other.lease.Token(), time.Now().Format(time.TimeOnly))
		}
	}
}

func (w *World) checkLed(began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lately.After(began) {
		return
	}
	for b := range w.terms {
		if b.lease.Err() == nil {
			return
		}
	}
	w.violated("nobody leads within %v of the last fault", w.patience())
}
