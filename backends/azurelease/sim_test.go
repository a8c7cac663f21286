package azurelease_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// A world is a day in the life of four contenders for one lease on the model of
// Azure, through the real SDK: their machines' clocks differ, jump and stand
// still, their processes are stopped and killed, the network does all that it
// can, and an operator meddles. Package sim does the same to package cas; only
// its machines are used here, since a request has to pass the SDK.
type world struct {
	seed   uint64
	length time.Duration
	ttl    time.Duration
	poll   time.Duration
	o      azure.Options

	model *model

	mu      sync.Mutex
	dice    map[string]*rand.Rand
	tape    []string // the last that happened
	proof   []string // what the tape was at the first violation
	skies   weather
	quiet   bool // no more chaos
	highest backends.Token
	terms   map[*belief]struct{} // of tasks that have begun and not ended
	lately  time.Time            // when a task last began
	void    time.Time            // until then exclusion is void: an operator has said so
	saved   azure.Saved
	report
}

// A report says what happened.
type report struct {
	terms, lost, crashes, suspends, stops, jumps, breaks, softBreaks, edits, deletes, restores, requests int
	violations                                                                                           []string
}

func (r *report) add(o *report) {
	r.terms += o.terms
	r.lost += o.lost
	r.crashes += o.crashes
	r.suspends += o.suspends
	r.stops += o.stops
	r.jumps += o.jumps
	r.breaks += o.breaks
	r.softBreaks += o.softBreaks
	r.edits += o.edits
	r.deletes += o.deletes
	r.restores += o.restores
	r.requests += o.requests
}

// A belief is one run of a task under a lease.
type belief struct {
	*life
	lease *mutex.Lease
}

// A life is one process.
type life struct {
	label   int
	name    string
	machine *sim.Machine
	cancel  context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex
	dead bool
}

// Every actor has dice of its own for each purpose, so that one's throws do not change
// another's: a seed gives one day, however goroutines are scheduled that run at the same
// moment. TestADayCanBeLivedAgain tells how far that holds.
func (w *world) rng(whose string) *rand.Rand {
	d := w.dice[whose]
	if d == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(whose))
		d = rand.New(rand.NewPCG(w.seed, h.Sum64()))
		w.dice[whose] = d
	}
	return d
}

func (w *world) chance(whose string, p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng(whose).Float64() < p
}

func (w *world) upTo(whose string, d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng(whose).Int64N(int64(d)))
}

func (w *world) about(whose string, mean time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.rng(whose).ExpFloat64() * float64(mean))
}

// The tape.

const tapeLength = 600

func (w *world) tell(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record(format, args...)
}

// record is tell with w locked.
func (w *world) record(format string, args ...any) {
	if len(w.tape) == 2*tapeLength {
		w.tape = slices.Delete(w.tape, 0, tapeLength)
	}
	w.tape = append(w.tape, time.Now().Format("15:04:05.000000 ")+fmt.Sprintf(format, args...))
}

func (w *world) count(n *int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
}

func (w *world) calm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.quiet
}

func (w *world) violated(what string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(what, args...))
	w.record(what, args...)
	if w.proof == nil {
		w.proof = slices.Clone(w.tape)
	}
}

// The network.

// A weather is what happens to requests: each number is a probability for one.
type weather struct {
	down                                                               bool
	lost, answerLost, twice, busy, broken, lied, stale, slow, veryLate float64
}

var (
	drizzle = weather{lost: .02, answerLost: .02, twice: .05, busy: .02, broken: .02, lied: .02, stale: .02, slow: .05, veryLate: .005}
	storm   = weather{lost: .2, answerLost: .3, twice: .3, busy: .1, broken: .1, lied: .1, stale: .2, slow: .3, veryLate: .05}
)

const (
	longestThrottle = 20 * time.Second
	longestRestart  = 20 * time.Second
)

// fate decides what happens to a request.
func (w *world) fate(r *http.Request) fakestore.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	s, reads := w.skies, r.Method == http.MethodGet
	rng := w.rng("wire " + r.Header.Get(sender))
	chance := func(p float64) bool { return p > 0 && rng.Float64() < p }
	var f fakestore.Fault
	switch {
	case chance(s.busy):
		f = azure.ServerBusy(time.Duration(rng.Int64N(int64(longestThrottle))))
		f.Dropped = chance(.7)
	case chance(s.broken):
		f = azure.OperationTimedOut()
		f.Dropped = chance(.5)
	case !reads && chance(s.lied):
		f = refusal(conflict(r))
	case chance(s.answerLost):
		f = fakestore.LostAfter()
		f.Hang = chance(.5)
	}
	if s.down || chance(s.lost) {
		f = fakestore.LostBefore()
		f.Hang = chance(.5)
	}
	f.Before = delay(rng, chance(s.slow))
	if chance(s.slow) {
		f.After = delay(rng, true)
	}
	if chance(s.veryLate) {
		f.After += time.Duration(rng.Int64N(int64(2 * w.ttl)))
	}
	if chance(s.twice) {
		f.Again = []time.Duration{4 * delay(rng, true)}
	}
	f.Stale = reads && chance(s.stale)
	return f
}

// delay is up to 100 ms, or with a heavy tail up to a minute and a half.
func delay(rng *rand.Rand, slow bool) time.Duration {
	d := time.Millisecond + time.Duration(rng.Int64N(int64(99*time.Millisecond)))
	if slow {
		x := rng.Float64()
		d += time.Duration(x * x * x * x * float64(90*time.Second))
	}
	return d
}

// blow changes the weather from time to time.
func (w *world) blow(stop <-chan struct{}) {
	for w.pause("weather", stop, 4*time.Minute) {
		s := drizzle
		if w.chance("weather", .3) {
			s = storm
		}
		s.down = w.chance("weather", .2)
		w.mu.Lock()
		w.skies = s
		w.mu.Unlock()
	}
}

// pause waits for about that long. It reports whether the chaos goes on.
func (w *world) pause(whose string, stop <-chan struct{}, mean time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(w.about(whose, mean)):
		return !w.calm()
	}
}

// A wire is the network as one process sees it: nothing is sent, and no answer
// heard, while its code does not run.
type wire struct {
	*life
	layer *fakestore.Layer
}

// sender is the header that tells the network who sends. Azure ignores what is in it.
const sender = "X-Ms-Client-Request-Id"

var errDown = errors.New("no route to host")

func (c wire) RoundTrip(r *http.Request) (*http.Response, error) {
	c.gate()
	if c.isDead() {
		return nil, errDown
	}
	r = r.Clone(r.Context())
	r.Header.Set(sender, c.name)
	resp, err := c.layer.RoundTrip(r)
	c.gate()
	return resp, err
}

// gate waits until code of this process may run.
func (p *life) gate() { _ = clock.Sleep(context.Background(), p.machine, 0) }

func (p *life) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *life) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

// The contenders.

// timed is a backend whose mutexes go by a machine's clocks.
type timed struct {
	*azurelease.Backend
	carrier
}

type carrier = clock.Carrier

// contend lives the lives of one contender, one after the other.
func (w *world) contend(t *testing.T, label int, stop <-chan struct{}) {
	whose := fmt.Sprint("contender ", label)
	rate := 1 + .01*(2*float64(w.upTo(whose, 1000))/999-1)
	var past []*life
	for n := 0; ; n++ {
		p := w.boot(t, label, n, rate)
		if w.torment(p, stop) {
			past = append(past, p)
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
		case <-time.After(w.upTo(whose, longestRestart)):
		}
	}
}

func (w *world) boot(t *testing.T, label, n int, rate float64) *life {
	p := &life{label: label, name: fmt.Sprintf("%d.%d", label, n), ended: make(chan struct{})}
	p.machine = sim.NewMachine(rate, w.upTo(p.name, 2*time.Hour)-time.Hour)
	w.tell("%s boots", p.name)
	c, err := azurechecks.NewClient(wire{p, w.model.layer}, containerName)
	require.NoError(t, err)
	b, err := azurelease.New(c, nil)
	require.NoError(t, err)
	m, err := mutex.New(timed{b, clock.Carry(p.machine)}, "job", &mutex.Options{TTL: w.ttl, Poll: w.poll, Holder: fmt.Sprint(label)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	campaign := w.campaign
	if label == 0 {
		campaign = w.lockByHand
	}
	go func() {
		defer close(p.ended)
		if err := campaign(ctx, p, m); err != nil && !p.isDead() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.violated("contender %d ends: %v", label, err)
		}
	}()
	return p
}

func (w *world) campaign(ctx context.Context, p *life, m *mutex.Mutex) error {
	return leader.Run(ctx, m, func(ctx context.Context, l *mutex.Lease) error {
		return w.lead(ctx, p, l)
	}, &leader.Options{StopTimeout: time.Hour})
}

// lockByHand is a campaign without leader.Run.
func (w *world) lockByHand(ctx context.Context, p *life, m *mutex.Mutex) error {
	for {
		l, err := m.Lock(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		within, cancel := l.Context(ctx)
		_ = w.lead(within, p, l)
		cancel()
		_ = l.Release(ctx)
		_ = clock.Sleep(ctx, p.machine, w.poll)
	}
}

// torment does harm to p until it is to be restarted. It reports whether p was
// killed.
func (w *world) torment(p *life, stop <-chan struct{}) (killed bool) {
	whose := "torment " + p.name
	for {
		select {
		case <-stop:
			return false
		case <-p.ended:
			return false
		case <-time.After(w.about(whose, 10*time.Minute)):
		}
		if w.calm() {
			continue
		}
		switch w.upTo(whose, 6) {
		case 0:
			w.tell("%s crashes", p.name)
			w.count(&w.crashes)
			p.kill()
			p.machine.Stop()
			w.bury(p)
			return true
		case 1:
			return false
		case 2:
			w.count(&w.jumps)
			p.machine.Jump(w.upTo(whose, 2*time.Hour) - time.Hour)
		case 3:
			w.count(&w.suspends)
			w.halt(p, whose, p.machine.Suspend)
		default:
			w.count(&w.stops)
			w.halt(p, whose, p.machine.Stop)
		}
	}
}

func (w *world) halt(p *life, whose string, how func()) {
	w.tell("%s is halted", p.name)
	how()
	time.Sleep(w.about(whose, w.ttl))
	w.tell("%s goes on", p.name)
	p.machine.Resume()
}

// bury takes a killed process off the list of those that believe.
func (w *world) bury(p *life) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for b := range w.terms {
		if b.life == p {
			delete(w.terms, b)
		}
	}
}

// lead is the task. It works until it is told to stop, or for a while, and takes
// its time to stop.
func (w *world) lead(ctx context.Context, p *life, l *mutex.Lease) error {
	if p.isDead() {
		return nil
	}
	b := w.begin(p, l)
	defer w.end(b)
	whose := "task " + p.name
	if clock.Sleep(ctx, p.machine, w.about(whose, 15*time.Minute)) != nil {
		if w.chance(whose, .3) { // drain, for longer than a TTL perhaps
			_ = clock.Sleep(context.Background(), p.machine, w.upTo(whose, 3*w.ttl))
		}
		return context.Cause(ctx)
	}
	return leader.ErrResign
}

// begin checks what must hold at the moment at which a belief begins.
func (w *world) begin(p *life, l *mutex.Lease) *belief {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.terms++
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
func (w *world) checkAlone(b *belief) {
	for other := range w.terms {
		if other != b && other.lease.Err() == nil {
			w.violated("contender %d with token %d and contender %d with token %d believe at once, at %v",
				b.label, b.lease.Token(), other.label, other.lease.Token(), time.Now().Format(time.TimeOnly))
		}
	}
}

func (w *world) end(b *belief) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record("%s leads no more", b.name)
	if errors.Is(b.lease.Err(), mutex.ErrLost) {
		w.lost++
	}
	delete(w.terms, b)
}

// The operator.

// operate meddles from time to time.
func (w *world) operate(stop <-chan struct{}) {
	const whose = "operator"
	for w.pause(whose, stop, 20*time.Minute) {
		act := w.upTo(whose, 6)
		w.tell("the operator does %d", act)
		switch act {
		case 0:
			w.breakIn(w.upTo(whose, 10*time.Second))
		case 1:
			if _, err := w.model.Break("job", -1); err == nil { // nobody's time is cut short
				w.count(&w.softBreaks)
			}
		case 2, 3:
			if w.model.SetMetadata("job", map[string]string{"Note": "seen"}) == nil {
				w.count(&w.edits)
			}
		case 4:
			w.remove()
		case 5:
			w.restore()
		}
	}
}

// breakIn ends the lease after a period. From now on exclusion is void until
// every deadline that is in force has passed.
func (w *world) breakIn(period time.Duration) {
	if _, err := w.model.Break("job", period.Truncate(time.Second)); err == nil {
		w.count(&w.breaks)
		w.avoid()
	}
}

func (w *world) avoid() {
	w.mu.Lock()
	w.void = time.Now().Add(w.ttl)
	w.mu.Unlock()
	time.AfterFunc(w.ttl, func() {
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

// remove deletes the blob; if it is leased, the lease is broken first. Two lives of
// a blob within one second are told apart by nobody.
func (w *world) remove() {
	if w.young() {
		return
	}
	if w.model.Delete("job") != nil {
		w.breakIn(0)
		_ = w.model.Delete("job")
	}
	w.count(&w.deletes)
}

// restore writes an older version back, as from a backup or out of soft delete.
func (w *world) restore() {
	if w.young() {
		return
	}
	old := w.saved
	w.saved = w.model.Save("job")
	if old == (azure.Saved{}) {
		return
	}
	w.model.Restore("job", old)
	w.count(&w.restores)
	w.avoid()
}

// young reports whether the last token is of about this second, or there is none.
func (w *world) young() bool {
	look, ok := w.model.Look("job")
	var r struct{ Token int64 }
	return !ok || json.Unmarshal(look.Body, &r) != nil || r.Token>>20 >= time.Now().Unix()-2
}

// The run.

// run makes the world and lets it go by.
func (w *world) run(t *testing.T) {
	account := azure.New(time.Now, &w.o)
	layer := fakestore.New(account, &fakestore.Options{
		Kind: azure.Kind, Faults: w.fate, Trace: func(e fakestore.Event) { w.tell("%v", e) },
	})
	t.Cleanup(layer.Close)
	w.model = &model{account.Container(containerName), account, layer}
	w.model.Create()
	w.dice, w.terms = map[string]*rand.Rand{}, map[*belief]struct{}{}
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { w.blow(stop) })
	all.Go(func() { w.operate(stop) })
	for label := range 4 {
		all.Go(func() { w.contend(t, label, stop) })
	}
	time.Sleep(w.length)
	w.mu.Lock()
	w.quiet, w.skies = true, weather{}
	w.record("the faults end")
	w.mu.Unlock()
	began := time.Now()
	time.Sleep(w.patience())
	w.checkLed(began)
	close(stop)
	all.Wait()
	w.model.layer.Wait()
	time.Sleep(w.ttl) // the last look at a void
}

// patience is how long after the last fault somebody must lead: a task that
// drains, a TTL and Azure's grace, three polls, an attempt that hangs, a
// Retry-After and a restart.
func (w *world) patience() time.Duration {
	return 5*w.ttl + w.o.ExpiryGrace + 3*w.poll + longestThrottle + longestRestart
}

func (w *world) checkLed(began time.Time) {
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

// kinds are the ways in which Azure may be.
var kinds = []azure.Options{
	{},
	{ExpiredWrite: azure.Accepted, ExpiryGrace: time.Minute, WrongLeaseConflict: true, TargetConditionNotMet: true},
	{RenewExpired: azure.Never, CreateOnLeased: azure.ExistenceFirst, ConditionsFirst: true, ExpiryGrace: 10 * time.Second},
	*azure.LikeAzurite(),
}

// days is how many worlds are made: few by default, all for the proof. The race
// detector makes a day ten times as long.
func days() uint64 {
	proving := os.Getenv("BLOBLEASE_PROVE") != ""
	switch {
	case proving && !raced:
		return 200
	case testing.Short(), raced && !proving:
		return 2
	}
	return 10
}

// The tape of a failure says what happened. It happens again if the seed is run again,
// as far as no two goroutines of different actors do something at the very same
// nanosecond; lease IDs and nonces are others, and nothing depends on them.
func TestADayCanBeLivedAgain(t *testing.T) {
	live := func() (tape []string) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{seed: 5, length: 2 * time.Hour, ttl: 30 * time.Second, poll: 10 * time.Second, o: kinds[1]}
			w.run(t)
			require.Empty(t, w.violations, "the tape:\n%s", strings.Join(w.proof, "\n"))
			tape = w.tape
		})
		return tape
	}
	require.Equal(t, timesOf(live()), timesOf(live()))
}

// timesOf leaves out tokens, whose last bits are random, and what is a matter of the
// scheduler: in which order things of one instant come, and so their numbers.
func timesOf(tape []string) (times []string) {
	for _, line := range tape {
		line, _, _ = strings.Cut(line, ", with token")
		times = append(times, numbers.ReplaceAllString(line, "#"))
	}
	slices.Sort(times)
	return times
}

var numbers = regexp.MustCompile(`#\d+`)

func TestNoTwoBelieveInADayOfChaos(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var total report
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for seed := range days() {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := &world{seed: seed, length: 24 * time.Hour, ttl: 30 * time.Second, poll: 10 * time.Second, o: kinds[seed%uint64(len(kinds))]}
					w.run(t)
					require.Empty(t, w.violations, "the tape:\n%s", strings.Join(w.proof, "\n"))
					mu.Lock()
					defer mu.Unlock()
					total.add(&w.report)
				})
			})
		}
	})
	t.Logf("%d worlds of a day: %+v", days(), total)
	require.NotZero(t, total.terms)
	require.NotZero(t, total.lost)
}
