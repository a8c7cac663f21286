package sim

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

const longestRestart = 20 * time.Second

// weather changes the faults of the network from time to time.
func (w *world) weather() {
	r := w.skies
	w.loop.plan(0, about(r, w.Weather), func() {
		if w.quiet {
			return
		}
		w.mu.Lock()
		w.faults = w.Fair
		if r.Float64() < 0.3 {
			w.faults = w.Storm
		}
		w.down = r.Float64() < w.Outages
		w.note(nil, "weather: down %t, %+v", w.down, w.faults)
		w.mu.Unlock()
		w.weather()
	})
}

// plague does harm to the life of c from time to time, until it is over.
func (w *world) plague(c *contender, p *process) {
	w.loop.plan(p.id, about(c.ill, w.Harm), func() {
		if c.p != p || w.quiet {
			return
		}
		w.harm(c, p)
		w.plague(c, p)
	})
}

func (w *world) harm(c *contender, p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch c.ill.IntN(8) {
	case 0:
		w.crash(c, p)
	case 1:
		w.terminate(p)
	case 2:
		w.set(c, p)
	case 3:
		w.suspend(c, p)
	case 4, 5:
		w.halt(p, p.machine.Stop, "is stopped", about(c.ill, p.ttl))
		w.report.Stops++
	default:
		d := about(c.ill, p.ttl)
		w.note(p, "is cut off for %v", d)
		p.cutUntil = w.loop.now() + d
		w.report.Cuts++
	}
}

// set sets the wall clock. Without a boot clock it must not hide a sleep: a machine that
// sleeps in spite of that is beyond the promise.
func (w *world) set(c *contender, p *process) {
	d := upTo(c.ill, 2*time.Hour) - time.Hour
	if p.machine.bootless && !p.blind {
		d = d.Abs()
	}
	w.jump(p, d)
}

func (w *world) suspend(c *contender, p *process) {
	if p.blind {
		return
	}
	d := about(c.ill, p.ttl)
	w.halt(p, p.machine.Suspend, "is suspended", d)
	w.report.Suspends++
	if c.ill.IntN(4) == 0 && !p.machine.bootless { // the wall clock hides it
		w.jump(p, -p.machine.local(d))
	}
}

// sleep suspends p, if it is there to be suspended.
func (w *world) sleep(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.contenders[p.id/1000]; c.p == p && !w.quiet && p.running > 0 {
		w.suspend(c, p)
	}
}

// sever cuts a holder off at the worst of moments: when it has just had an answer, and
// most of all when that was its lease.
func (w *world) sever(p *process) {
	if w.Sever == 0 || w.quiet || len(p.terms) == 0 || w.loop.now() < p.cutUntil {
		return
	}
	odds := w.Sever
	if p.terms[len(p.terms)-1].began == w.loop.now() {
		odds = 0.4
	}
	if p.fates.Float64() > odds {
		return
	}
	d := p.ttl + upTo(p.fates, p.ttl)
	w.note(p, "is cut off for %v", d)
	p.cutUntil = w.loop.now() + d
	w.report.Cuts++
}

// crash ends a process with no warning.
func (w *world) crash(c *contender, p *process) {
	w.note(p, "crashes")
	w.report.Crashes++
	p.dead = true
	p.machine.Stop()
	p.terms = nil
	w.reboot(c.label)
}

// reboot starts the next life of the contender soon.
func (w *world) reboot(label int) {
	c := w.contenders[label]
	c.p = nil
	w.loop.plan(label*1000+999, upTo(c.ill, longestRestart), func() { w.boot(c) })
}

// terminate asks a process to end, as SIGTERM does.
func (w *world) terminate(p *process) {
	if p.told || p.dead {
		return
	}
	p.told = true
	w.note(p, "is told to end")
	for _, c := range p.campaigns {
		w.loop.plan(p.id, 0, func() { p.machine.deliver(c.cancel) })
	}
}

func (w *world) jump(p *process, d time.Duration) {
	w.note(p, "its wall clock is set by %v", d)
	w.report.Jumps++
	p.machine.Jump(d)
	p.jumps = [2]time.Duration{p.jumps[1], w.loop.now()}
	for _, t := range p.terms {
		w.expectWord(t)
	}
}

// halt suspends p, or stops it, for d.
func (w *world) halt(p *process, stop func(), how string, d time.Duration) {
	w.note(p, "%s for %v", how, d)
	stop()
	w.loop.plan(p.id, d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if p.dead {
			return
		}
		w.note(p, "goes on")
		for _, t := range p.terms { // these come before all that waits for Resume
			w.loop.plan(p.id, 0, func() { p.machine.deliver(func() { w.ask(t) }) })
		}
		p.machine.Resume()
		for _, t := range p.terms {
			w.expectWord(t)
		}
	})
}

// lateness is how late a timer is: mostly not at all. It follows from when the timer
// is due, since goroutines that set timers in one instant do so in no order.
func (w *world) lateness(p *process, due time.Duration) time.Duration {
	r := rand.New(rand.NewPCG(w.Seed^uint64(p.id)<<32, uint64(due))) //nolint:gosec // any bits will do
	if w.quiet || r.Float64() > 0.02 {
		return 0
	}
	return upTo(r, w.LateTimers)
}

// The operator.

// operate lets the operator do something from time to time.
func (w *world) operate() {
	w.loop.plan(operatorID, about(w.hand, w.Operators), func() {
		if w.quiet {
			return
		}
		w.mu.Lock()
		w.meddle()
		w.mu.Unlock()
		w.operate()
	})
}

const operatorID = 900_000

func (w *world) meddle() {
	d, now := w.depot, w.loop.now()
	c := d.current()
	front := w.hand.IntN(2)
	if c == nil {
		return
	}
	w.report.Meddled++
	switch w.hand.IntN(6) {
	case 0:
		w.note(nil, "operator: deletes the record")
		d.add(nil)
		w.voidExclusion()
	case 1:
		if e := d.past[w.hand.IntN(len(d.past))]; e != nil {
			e = d.set(now, front, e.data)
			w.note(nil, "operator: restores an old record, now v%d: %s", e.n, w.show(answer{object: d.view(now, front, e)}))
			w.voidExclusion()
		}
	case 2:
		e := d.set(now, front, []byte("\x00 not a record"))
		w.note(nil, "operator: ruins the record, now v%d", e.n)
		w.voidExclusion()
		w.loop.plan(operatorID, upTo(w.hand, 30*time.Second), w.repair)
	case 3, 4:
		w.annotate(front)
	case 5:
		w.breaker()
	}
}

// note is the name of a field that the library does not know.
const note = "x-note"

// annotate adds a field that the library does not know: nobody must notice.
func (w *world) annotate(front int) {
	d := w.depot
	c := d.current()
	if gistOf(c.data).token == 0 {
		return
	}
	end := bytes.LastIndexByte(c.data, '}')
	data := append(bytes.Clone(c.data[:end]), `,"`+note+`": "seen"}`...)
	if bytes.Contains(c.data, []byte(note)) {
		data = append(bytes.Clone(c.data), '\n')
	}
	e := d.set(w.loop.now(), front, data)
	w.note(nil, "operator: edits the record, now v%d", e.n)
}

// repair removes what is no record.
func (w *world) repair() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.depot.current(); c != nil && gistOf(c.data).token == 0 {
		w.note(nil, "operator: deletes what is no record")
		w.depot.add(nil)
		w.voidExclusion()
	}
}

// breaker frees the lease by force, with the library.
func (w *world) breaker() {
	w.breaks++
	p := &process{id: operatorID + w.breaks, fates: w.random("break", w.breaks)}
	p.machine = newMachine(1, 0, lane{w.loop, p.id}, nil)
	w.all = append(w.all, p)
	p.running = 1
	engine := cas.New(&view{carrier: clock.Carry(p.machine), w: w, p: p}, cas.Options{Dates: w.Dates})
	w.note(p, "operator: breaks the lease")
	w.loop.plan(p.id, 0, func() {
		p.machine.deliver(func() {
			go func() {
				ctx, cancel := p.machine.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				err := engine.Break(ctx, "job", "")
				w.mu.Lock()
				defer w.mu.Unlock()
				w.note(p, "operator: has broken it: %v", err)
				p.running = 0
			}()
		})
	})
}
