package sim

import (
	"sync"
	"testing/synctest"
	"time"
)

// A timeline is what a machine's true time is: the bubble's own, or a loop's.
type timeline interface {
	now() time.Duration
	after(d time.Duration, f func()) alarm
	soon(f func()) // after what happens now
}

// An alarm can be stopped before it goes off.
type alarm interface{ Stop() bool }

// bubble is the time of the synctest bubble itself, for tests of single parts.
type bubble struct{ start time.Time }

func (b bubble) now() time.Duration                    { return time.Since(b.start) }
func (b bubble) after(d time.Duration, f func()) alarm { return time.AfterFunc(d, f) }
func (b bubble) soon(f func())                         { f() }

// maxAtOnce is how many events one actor may have in one instant before it is
// said to spin.
const maxAtOnce = 10_000

// A loop is a world's true time. Events happen one by one: the next begins when
// all goroutines that the last one woke are blocked again. So the order of all that
// happens follows from the events, and not from the scheduler.
type loop struct {
	mu     sync.Mutex
	time   time.Duration
	queue  []*event
	seqs   map[int]uint64 // by actor
	woke   bool           // code runs that the loop has to wait for
	batch  func()         // called after each event
	actor  int            // of the last event
	atOnce int            // events of that actor in this instant
}

func newLoop() *loop { return &loop{seqs: make(map[int]uint64)} }

// An event is something that happens at an instant. Events of one instant are ordered
// by actor, and events of one actor by when they were planned.
type event struct {
	loop  *loop
	at    time.Duration
	actor int
	seq   uint64
	f     func()
	index int // in the queue, -1 when it has left
}

func (e *event) before(o *event) bool {
	switch {
	case e.at != o.at:
		return e.at < o.at
	case e.actor != o.actor:
		return e.actor < o.actor
	default:
		return e.seq < o.seq
	}
}

// plan makes f happen in d.
func (l *loop) plan(actor int, d time.Duration, f func()) *event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seqs[actor]++
	e := &event{loop: l, at: l.time + max(d, 0), actor: actor, seq: l.seqs[actor], f: f, index: len(l.queue)}
	l.queue = append(l.queue, e)
	l.up(e.index)
	return e
}

// Stop implements alarm.
func (e *event) Stop() bool {
	e.loop.mu.Lock()
	defer e.loop.mu.Unlock()
	if e.index < 0 {
		return false
	}
	e.loop.remove(e.index)
	return true
}

// now is the instant.
func (l *loop) now() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.time
}

// wakes is called by events that make goroutines run.
func (l *loop) wakes() { l.woke = true }

// step lets the next event happen. It returns false if there is none until then, or
// if an actor spins.
func (l *loop) step(until time.Duration) bool {
	l.mu.Lock()
	if len(l.queue) == 0 || l.queue[0].at > until {
		l.time = max(l.time, until)
		l.mu.Unlock()
		return false
	}
	e := l.queue[0]
	l.remove(0)
	if e.at > l.time || e.actor != l.actor {
		l.atOnce = 0
	}
	l.atOnce++
	l.time, l.actor = e.at, e.actor
	spins := l.atOnce > maxAtOnce
	l.mu.Unlock()
	if spins {
		return false
	}
	l.woke = false
	e.f()
	if l.woke {
		synctest.Wait()
	}
	l.batch()
	return true
}

func (l *loop) spins() bool { return l.atOnce > maxAtOnce }

// The queue is a binary heap.

func (l *loop) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !l.queue[i].before(l.queue[parent]) {
			return
		}
		l.swap(i, parent)
		i = parent
	}
}

func (l *loop) down(i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(l.queue) && l.queue[child].before(l.queue[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		l.swap(i, least)
		i = least
	}
}

func (l *loop) swap(i, j int) {
	q := l.queue
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (l *loop) remove(i int) {
	last := len(l.queue) - 1
	gone := l.queue[i]
	l.swap(i, last)
	l.queue[last] = nil
	l.queue = l.queue[:last]
	gone.index = -1
	if i < last {
		l.up(i)
		l.down(i)
	}
}

// A lane is a loop as one actor sees it.
type lane struct {
	*loop
	actor int
}

func (l lane) after(d time.Duration, f func()) alarm { return l.plan(l.actor, d, f) }
func (l lane) soon(f func())                         { l.plan(l.actor, 0, f) }
