package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// Faults says how hostile the network is. Each number is a probability for one
// request.
type Faults struct {
	LoseRequest float64
	LoseAnswer  float64
	Duplicate   float64 // it arrives again, much later perhaps
	Throttle    float64 // refused with 429 or 503 and Retry-After, or S3's 409; with effect now and then
	Fail        float64 // 500, with or without effect
	Lie         float64 // a conflict is answered for a write that was applied
	Slow        float64 // delayed with a heavy tail, either way
	Stale       float64 // a read shows an earlier state
	Late        float64 // code goes on late after an answer
}

var (
	errDown   = errors.New("no route to host")
	errBusy   = errors.New("503 server busy")
	errServer = errors.New("500 internal error")
)

const (
	longestThrottle = 20 * time.Second
	longestDelay    = 90 * time.Second
)

// fate is what happens to one request.
type fate struct {
	lost, answerLost, twice bool
	before, after, repeat   time.Duration
	err                     error
	effect                  bool // has its effect in spite of err
	stale                   int  // by so many editions
	front                   int
	align                   bool // it arrives right after the next write, if that comes first
}

func (f fate) String() string {
	s := fmt.Sprintf("%v there", f.before)
	switch {
	case f.lost && f.err != nil:
		return s + ", lost, and told so"
	case f.lost:
		return s + ", lost"
	}
	if f.stale > 0 {
		s += fmt.Sprintf(", stale by %d", f.stale)
	}
	if f.twice {
		s += fmt.Sprintf(", again after %v", f.repeat)
	}
	if f.err != nil {
		s += fmt.Sprintf(", answer %q", f.err)
		if f.effect {
			s += " though done"
		}
	}
	if f.answerLost {
		return s + ", answer lost"
	}
	return s + fmt.Sprintf(", %v back", f.after)
}

// draw decides on a request. The stream is that of one process's requests.
func (c *Config) draw(r *rand.Rand, f Faults, cut, write bool) fate {
	chance := func(p float64) bool { return p > 0 && r.Float64() < p }
	t := fate{
		lost:       cut || chance(f.LoseRequest),
		answerLost: chance(f.LoseAnswer),
		twice:      write && chance(f.Duplicate),
		before:     c.delay(r, chance(f.Slow)),
		after:      c.delay(r, chance(f.Slow)),
		front:      r.IntN(2),
	}
	if chance(f.Late) {
		t.after += time.Duration(r.Int64N(int64(2 * c.TTL)))
	}
	if chance(c.Drags) {
		t.after += upTo(r, c.TTL/6)
	}
	if t.twice {
		t.repeat = c.delay(r, true) * 4
	}
	if !write && chance(c.Align) {
		t.align, t.before = true, c.TTL/8
	}
	if !write && chance(f.Stale) {
		t.stale = 1 + r.IntN(4)
	}
	switch {
	case t.lost && chance(0.5):
		t.err = errDown
	case chance(f.Throttle):
		t.err = &backends.RetryError{After: time.Duration(r.Int64N(int64(longestThrottle))), Err: errBusy}
		t.effect = chance(0.3)
	case chance(f.Fail):
		t.err, t.effect = errServer, chance(0.5)
	case write && chance(f.Lie):
		t.err, t.effect = cas.ErrConflict, true
	}
	return t
}

// delay is up to the latency, or with a heavy tail up to a minute and a half.
func (c *Config) delay(r *rand.Rand, slow bool) time.Duration {
	d := 1 + time.Duration(r.Int64N(int64(c.Latency)))
	if slow {
		x := r.Float64()
		d += time.Duration(x * x * x * x * float64(longestDelay))
	}
	return d
}

// A view is the store as one process sees it.
type view struct {
	carrier
	w *world
	p *process
}

type carrier = clock.Carrier

var _ cas.Store = (*view)(nil)

// Load implements cas.Store.
func (v *view) Load(ctx context.Context, _ string) (cas.Object, error) {
	return v.send(ctx, &request{op: "read"})
}

// Put implements cas.Store.
func (v *view) Put(ctx context.Context, _, version string, data []byte) (cas.Object, error) {
	return v.send(ctx, &request{op: "put", version: version, data: data})
}

// Touch implements cas.Store.
func (v *view) Touch(ctx context.Context, _, version string, data []byte) (cas.Object, error) {
	return v.send(ctx, &request{op: "touch", version: version, data: data})
}

type request struct {
	op, version string
	data        []byte
	gist        gist // of data
	n           int  // of this process
	p           *process
	sent        time.Duration
	fate        fate
	answers     chan answer
}

func (r *request) writes() bool { return r.op != "read" }

type answer struct {
	object cas.Object
	err    error
}

// send puts a request on the wire and waits for the answer or for ctx.
func (v *view) send(ctx context.Context, r *request) (cas.Object, error) {
	if err := ctx.Err(); err != nil {
		return cas.Object{}, err
	}
	if !v.w.dispatch(v.p, r) {
		return cas.Object{}, errDown
	}
	select {
	case a := <-r.answers:
		v.w.taken(r, a)
		return a.object, a.err
	case <-ctx.Done():
		return cas.Object{}, ctx.Err()
	}
}

// dispatch decides on the fate of r. A dead process sends nothing.
func (w *world) dispatch(p *process, r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead {
		return false
	}
	p.sent++
	r.n, r.p, r.answers = p.sent, p, make(chan answer, 1)
	w.checkBudget(p)
	if r.writes() {
		r.gist = gistOf(r.data)
		w.rankOf(r.gist.token)
		if r.gist.token > p.claim {
			p.claim, p.claimed = r.gist.token, w.loop.now()
		}
		w.checkRelease(p, r)
	}
	now := w.loop.now()
	r.sent = now
	r.fate = w.draw(p.fates, w.faults, w.down || now < p.cutUntil, r.writes())
	w.mark(p, "sends", r.n, r.op, r.fate.before, r.fate.after)
	if w.tracing() {
		w.say(p, "sends #%d %s: %s", r.n, w.describe(r), r.fate.String())
	}
	arrival := w.loop.plan(p.id, r.fate.before, func() { w.arrive(r) })
	if r.writes() && w.Sleepy > 0 && !w.quiet && p.id < operatorID && p.fates.Float64() < w.Sleepy {
		w.loop.plan(p.id, r.fate.before+r.fate.after/2, func() { w.sleep(p) })
	}
	if r.fate.align {
		w.aligned = append(w.aligned, arrival)
	}
	return true
}

func (w *world) describe(r *request) string {
	if !r.writes() {
		return r.op
	}
	return fmt.Sprintf("%s over v%d: %s", r.op, w.depot.numberOf(r.version), w.describeGist(r.gist))
}

// arrive is the moment at which the store sees r, or would have.
func (w *world) arrive(r *request) {
	f := r.fate
	if f.lost {
		if f.err != nil {
			w.reply(r, answer{err: f.err})
		}
		return
	}
	if f.twice {
		w.loop.plan(r.p.id, f.repeat, func() { w.perform(r, "again") })
	}
	var a answer
	if f.err == nil || f.effect {
		a = w.perform(r, "")
	}
	if f.err != nil {
		a = answer{err: f.err}
	}
	if !f.answerLost {
		w.reply(r, a)
	}
}

// perform is what the store does.
func (w *world) perform(r *request, again string) answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, d := w.loop.now(), w.depot
	if !r.writes() {
		e := d.current()
		if i := len(d.past) - 1 - r.fate.stale; r.fate.stale > 0 && i >= 0 {
			e = d.past[i]
		}
		return answer{object: d.view(now, r.fate.front, e)}
	}
	before := d.current()
	e, err := d.put(now, r.fate.front, r.version, r.data)
	if err != nil {
		w.note(r.p, "#%d %s refused by the store: %v", r.n, again, err)
		return answer{err: err}
	}
	w.note(r.p, "#%d %s applied as v%d", r.n, again, e.n)
	if before != nil && bytes.Contains(before.data, []byte(note)) && !bytes.Contains(e.data, []byte(note)) {
		w.violated(RuleCarries, "v%d lacks a field that v%d had", e.n, before.n)
	}
	w.release()
	w.applied(r, e)
	return answer{object: d.view(now, r.fate.front, e)}
}

// release lets the reads arrive that wait for a write.
func (w *world) release() {
	for _, e := range w.aligned {
		if e.Stop() {
			w.loop.plan(e.actor, 1, e.f)
		}
	}
	w.aligned = w.aligned[:0]
}

// reply sends an answer back.
func (w *world) reply(r *request, a answer) {
	w.loop.plan(r.p.id, r.fate.after, func() {
		r.p.machine.deliver(func() {
			w.hear(r, a)
			r.answers <- a
		})
	})
}

func (w *world) hear(r *request, a answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hearers = append(w.hearers, r.p)
	if r.fate.stale > 0 {
		r.p.misled = w.loop.now()
	}
	w.mark(r.p, "gets", r.n)
	if w.tracing() {
		w.say(r.p, "gets the answer to #%d: %s", r.n, w.show(a))
	}
}

// taken notes a write that its sender knows to be done. An answer that comes after the
// sender has given up tells nobody anything.
func (w *world) taken(r *request, a answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.writes() && a.err == nil {
		r.p.confirmed = max(r.p.confirmed, r.sent)
	}
}

func (w *world) show(a answer) string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case !a.object.Exists:
		return "no such object"
	case a.object.Data == nil:
		return "done"
	}
	return fmt.Sprintf("v%d: %s, age %v by its dates", w.depot.numberOf(a.object.Version),
		w.describeGist(gistOf(a.object.Data)), a.object.Now.Sub(a.object.Modified))
}

func (w *world) describeGist(g gist) string {
	switch {
	case g.token == 0:
		return "no record"
	case g.free:
		return fmt.Sprintf("free t%d", w.rankOf(g.token))
	default:
		return fmt.Sprintf("held t%d for %v", w.rankOf(g.token), g.ttl)
	}
}
