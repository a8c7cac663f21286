package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// lookEvery is how late a holder may be told of its loss, by running time: the
// watchdog's step, and a little.
const lookEvery = 250*time.Millisecond + 5*time.Millisecond

// A term is one run of a task.
type term struct {
	c       *campaign
	lease   *mutex.Lease
	grant   grant
	began   time.Duration // true time
	until   deadlines     // when belief ends, by the machine's clocks
	told    bool          // Done is closed
	version string        // when until was noted
	timer   *timer
}

// A grant is the write that began a term, as the store saw it.
type grant struct {
	n     int // the write
	at    time.Duration
	token backends.Token
	id    string

	meddled time.Duration // when the operator had last made exclusion void; negative: never
}

// deadlines are the same moment on all clocks of a machine.
type deadlines struct{ mono, wall, boot time.Duration }

func (m *Machine) deadlines(left time.Duration) deadlines {
	now := m.Now()
	d := deadlines{now.Mono + left, now.Wall + left, now.Mono + left}
	if boot, ok := m.Boot(); ok {
		d.boot = boot.Since + left
	}
	return d
}

// over is how long ago the first of them passed; negative if none has.
func (d deadlines) over(m *Machine) time.Duration {
	now := m.deadlines(0)
	return max(now.mono-d.mono, now.wall-d.wall, now.boot-d.boot)
}

// applied is told of each write that the store has applied.
func (w *world) applied(r *request, e *edition) {
	if r.p.id >= operatorID {
		w.voidExclusion()
		return
	}
	g := r.gist
	if g.free || w.grants[g.token].id == g.id {
		return
	}
	w.grants[g.token] = grant{n: e.n, at: e.at, token: g.token, id: g.id, meddled: w.meddled}
}

// meddledWith reports whether the operator's last act leaves exclusion void: until
// every deadline that was known then has passed.
func (w *world) meddledWith() bool {
	return w.meddled >= 0 && w.loop.now() < w.meddled+max(w.TTL, w.OtherTTL)
}

// begin checks what must hold at the moment at which a belief begins.
func (w *world) begin(c *campaign, l *mutex.Lease) *term {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &term{c: c, lease: l, began: w.loop.now()}
	t.until = c.p.machine.deadlines(0)
	if c.p.dead {
		return t
	}
	w.report.Terms++
	w.note(c.p, "%s believes: t%d, %v left", c.name, w.rankOf(l.Token()), l.Remaining())
	if c.tasks++; c.tasks > 1 {
		w.violated(RuleOneTask, "%s", c.name)
	}
	w.checkOrder(t)
	w.checkAlone(t)
	w.terms = append(w.terms, t)
	c.p.terms = append(c.p.terms, t)
	w.lately = w.loop.now()
	w.look(t)
	w.useResource(t)
	return t
}

// checkOrder holds the token of t against that of the last term.
func (w *world) checkOrder(t *term) {
	token := t.lease.Token()
	g, written := w.grants[token]
	if !written {
		w.violated(RuleWritten, "%s has token t%d, which was never written", t.c.name, w.rankOf(token))
		return
	}
	t.grant = g
	earlier, later := w.last, g
	if g.at < w.last.at { // it was paused before it could begin: then it must not believe, see checkAlone
		earlier, later = g, w.last
	} else {
		w.last = g
	}
	switch {
	case later.token > earlier.token, earlier == later:
	case w.twins(earlier, later):
		w.report.Twins++
	default:
		w.violated(RuleTokensRise, "%s begins: %d was written as v%d, after %d, written as v%d", t.c.name, later.token, later.n, earlier.token, earlier.n)
	}
}

// twins reports whether the two are of lives of the record that began within two
// seconds, of the store, of each other, since an operator came between them: then their
// tokens may be in the wrong order.
func (w *world) twins(earlier, later grant) bool {
	return later.meddled >= earlier.at && later.at-earlier.at <= 2*time.Second+w.Dates.Skew
}

// voidExclusion is the moment at which the operator makes exclusion void: until every
// deadline that was known then has passed. Then one believes again, at the most.
func (w *world) voidExclusion() {
	w.meddled = w.loop.now()
	w.loop.plan(operatorID, max(w.TTL, w.OtherTTL), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.meddledWith() {
			return
		}
		for _, t := range w.terms {
			if w.believes(t) {
				w.checkAlone(t)
			}
		}
	})
}

// checkAlone looks for others that believe beside t.
func (w *world) checkAlone(t *term) {
	if t.lease.Err() != nil || w.meddledWith() {
		return
	}
	for _, o := range w.terms {
		if o != t && w.believes(o) {
			w.violated(RuleOneBelieves, "%s with t%d, %v left, and %s with t%d, %v left", o.c.name, w.rankOf(o.lease.Token()), -o.until.over(o.c.p.machine),
				t.c.name, w.rankOf(t.lease.Token()), t.lease.Remaining())
		}
	}
}

// believes asks what o's code would be told if it asked now. It changes nothing: a
// lease that is known to be over is not asked, for that would end it.
func (w *world) believes(o *term) bool {
	if o.c.p.dead || closed(o.lease.Done()) {
		return false
	}
	if p := o.c.p; !p.machine.bootless && p.jumps[1] >= o.began && p.machine.running() < lookEvery {
		return false // a sleep may be hidden, which the watchdog is about to see: see "Where it ends" in docs/safety.md
	}
	vague := o.c.p.jumped(2, w.loop.now())
	return (vague || o.until.over(o.c.p.machine) < 0) && o.lease.Err() == nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (w *world) end(t *term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.c.tasks--
	if t.timer != nil {
		t.timer.Stop()
	}
	w.terms = without(w.terms, t)
	t.c.p.terms = without(t.c.p.terms, t)
	if t.c.p.dead {
		return
	}
	err := t.lease.Err()
	if err == nil {
		w.lately = w.loop.now()
	}
	w.note(t.c.p, "%s is done with t%d: %v", t.c.name, w.rankOf(t.lease.Token()), verdict(err))
	if errors.Is(err, mutex.ErrLost) {
		w.report.Lost++
	}
}

func verdict(err error) string {
	switch {
	case err == nil:
		return "still in force"
	case errors.Is(err, mutex.ErrLost):
		return "lost"
	default:
		return "released"
	}
}

func without(terms []*term, t *term) []*term {
	for i := range terms {
		if terms[i] == t {
			return append(terms[:i:i], terms[i+1:]...)
		}
	}
	return terms
}

// look notes until when t is believed. It is called after each answer that its
// process got.
func (w *world) look(t *term) {
	m := t.c.p.machine
	if t.told || closed(t.lease.Done()) {
		w.hearEnd(t)
		return
	}
	now := w.loop.now()
	if t.began != now && t.until.over(m) >= 0 && !t.c.p.jumped(2, now) {
		return // to ask could end it
	}
	if v := t.lease.Version(); v != t.version { // it was renewed
		left := t.lease.Remaining()
		t.version, t.until = v, m.deadlines(left)
		if t.began != now {
			w.note(t.c.p, "%s believes on: t%d, %v left", t.c.name, w.rankOf(t.lease.Token()), left)
		}
		w.expectWord(t)
	}
}

// hearEnd checks the end of a lease when it is first seen.
func (w *world) hearEnd(t *term) {
	if t.told {
		return
	}
	t.told = true
	m, err := t.c.p.machine, t.lease.Err()
	w.note(t.c.p, "%s is told the end of t%d: %v, %v before its deadline", t.c.name, w.rankOf(t.lease.Token()), verdict(err), -t.until.over(m))
	alive := errors.Is(err, mutex.ErrLost) && !errors.Is(err, leader.ErrHung) && t.until.over(m) < 0
	misled := t.c.p.misled == w.loop.now()                                                         // by a stale read, which costs a lease, but never more
	slept := t.c.p.jumped(1, w.loop.now()) && strings.Contains(err.Error(), "not renewed in time") // by a clock that until does not know of
	if alive && !misled && !slept && !w.meddledWith() {
		w.violated(RuleNotRobbed, "%s lost t%d %v before its deadline: %v", t.c.name, w.rankOf(t.lease.Token()), -t.until.over(m), err)
	}
}

// expectWord makes sure that the holder is told when its time is up.
func (w *world) expectWord(t *term) {
	m := t.c.p.machine
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer = m.after(max(0, -t.until.over(m))+lookEvery+w.LateTimers, func() { w.checkTold(t) })
}

func (w *world) checkTold(t *term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, bound := t.c.p.machine, lookEvery+w.LateTimers-time.Millisecond
	if closed(t.lease.Done()) || t.c.p.dead || t.c.p.jumped(2, w.loop.now()) {
		return
	}
	if over := t.until.over(m); over >= bound && m.running() >= bound {
		w.violated(RuleToldInTime, "%s was to be told %v ago of the end of t%d", t.c.name, over, w.rankOf(t.lease.Token()))
	} else if t.lease.Err() == nil || over < bound || m.running() < bound {
		w.expectWord(t)
	}
}

// ask is what a careful task does when it may have been paused: it asks, before the
// watchdog has had a chance to look.
func (w *world) ask(t *term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.c.p.dead || closed(t.lease.Done()) {
		return
	}
	m := t.c.p.machine
	vague := t.c.p.jumps[1] >= t.began // until does not know of it, and a sleep may be hidden
	if over := t.until.over(m); over > 0 && !vague && t.lease.Err() == nil {
		w.violated(RuleToldInTime, "%s asked, %v after the end of t%d, and was told that it goes on", t.c.name, over, w.rankOf(t.lease.Token()))
	}
}

// checkRelease finds a release by a campaign whose task goes on.
func (w *world) checkRelease(p *process, r *request) {
	for _, t := range p.terms {
		if r.gist.free && t.lease.Token() == r.gist.token {
			w.violated(RuleTaskFirst, "%s frees t%d while its task goes on", t.c.name, w.rankOf(r.gist.token))
		}
	}
}

// A resource is what the lease guards. It refuses a token below the highest that
// it has seen.
type resource struct {
	highest backends.Token
	newest  grant // of all whose writes it has taken
}

// useResource makes t's task write to the resource now and then. A write is sent in
// good faith, and may arrive after another leader's.
func (w *world) useResource(t *term) {
	p := t.c.p
	w.loop.plan(p.id, about(p.fates, w.Writes), func() {
		if closed(t.lease.Done()) || p.dead {
			return
		}
		p.machine.deliver(func() { w.sendWrite(t) })
	})
}

func (w *world) sendWrite(t *term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.c.p.dead || t.lease.Err() != nil {
		return
	}
	r := t.c.p.fates
	d := w.delay(r, r.Float64() < 0.3)
	sent := w.loop.now()
	w.loop.plan(t.c.p.id, d, func() { w.takeWrite(t, sent) })
	w.useResource(t)
}

func (w *world) takeWrite(t *term, sent time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	token, s := t.lease.Token(), &w.resource
	if token < s.highest {
		w.report.Fenced++
		w.note(t.c.p, "%s: its write under t%d is refused by the resource", t.c.name, w.rankOf(token))
		if s.newest.at < t.grant.at && w.believes(t) && !w.twins(s.newest, t.grant) {
			w.violated(RuleNotLocked, "%s with %d, written as v%d, after %d, written as v%d", t.c.name, token, t.grant.n, s.newest.token, s.newest.n)
		}
		return
	}
	w.report.Written++
	if t.grant.at < s.newest.at && !w.twins(t.grant, s.newest) {
		w.violated(RuleFence, "it takes t%d, sent %v ago, after t%d", w.rankOf(token), w.loop.now()-sent, w.rankOf(s.newest.token))
	}
	s.highest = token
	if s.newest.at < t.grant.at {
		s.newest = t.grant
	}
}

// checkBudget holds p to a number of requests that no code that backs off needs.
func (w *world) checkBudget(p *process) {
	const stretch = 10 * time.Second
	if s := w.loop.now() / stretch; s != p.window {
		p.window, p.inWindow = s, 0
	}
	p.inWindow++
	retry := min(p.ttl/60, p.poll/8, time.Second) * 8 / 10
	if most := 20 + 12*int(stretch/max(retry, 10*time.Millisecond)); p.inWindow == most {
		w.violated(RuleBudget, "%v sent %d requests within %v", p, most, stretch)
	}
}
