package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
)

// A Machine is a contender's clocks, and whether its code runs. While the machine
// sleeps or the process is stopped, whatever would wake its code, a timer or an
// answer, waits until Resume.
type Machine struct {
	rate     float64 // of all its clocks
	bootless bool    // it has no boot clock, as on macOS and Windows
	line     timeline
	late     func(due time.Duration) time.Duration // how late a timer is; nil: never

	mu      sync.Mutex
	start   time.Duration
	asleep  bool
	since   time.Duration // when it fell asleep
	slept   time.Duration // true time spent suspended before
	jumped  time.Duration // of the wall clock
	halted  bool
	ran     time.Duration // true time since which nothing was halted or set
	waiting []func()
	timers  []*timer
	chance  *rand.Rand
}

var _ clock.Clock = (*Machine)(nil)

// epoch is when worlds begin, by a wall clock that is right.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// NewMachine returns a machine that has just been switched on, whose wall clock is
// off by offset. Its true time is the bubble's.
func NewMachine(rate float64, offset time.Duration) *Machine {
	return newMachine(rate, offset, bubble{time.Now()}, rand.New(rand.NewPCG(1, 2)))
}

func newMachine(rate float64, offset time.Duration, line timeline, chance *rand.Rand) *Machine {
	now := line.now()
	return &Machine{rate: rate, line: line, start: now, ran: now, jumped: offset, chance: chance}
}

// local is true time as this machine's clocks count it.
func (m *Machine) local(d time.Duration) time.Duration { return time.Duration(float64(d) * m.rate) }

// mono is the monotonic clock.
func (m *Machine) mono(now time.Duration) time.Duration {
	d := now - m.start - m.slept
	if m.asleep {
		d -= now - m.since
	}
	return m.local(d)
}

// Now implements clock.Clock.
func (m *Machine) Now() clock.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.line.now()
	return clock.Reading{
		Mono: m.mono(now),
		Wall: time.Duration(epoch.UnixNano()) + m.start + m.local(now-m.start) + m.jumped,
	}
}

// Boot implements clock.Clock.
func (m *Machine) Boot() (clock.Boot, bool) {
	if m.bootless {
		return clock.Boot{}, false
	}
	return clock.Boot{ID: "sim", Since: m.local(m.line.now() - m.start)}, true
}

// Int64N implements clock.Clock.
func (m *Machine) Int64N(n int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chance == nil { // the most adverse of chances: everybody is on time
		return 0
	}
	return m.chance.Int64N(n)
}

// Jump sets the wall clock forward, or back.
func (m *Machine) Jump(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jumped += d
	m.ran = m.line.now()
}

// Suspend puts the machine to sleep: its monotonic clock and its timers stand
// still until Resume, and no code runs.
func (m *Machine) Suspend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.halted, m.asleep, m.since = true, true, m.line.now()
	for _, t := range m.timers {
		t.alarm.Stop()
	}
}

// Stop stops the process: no code runs until Resume, but the clocks go on.
func (m *Machine) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.halted = true
}

// Resume ends Suspend or Stop. What waited comes in no order that a program could
// rely on.
func (m *Machine) Resume() {
	m.mu.Lock()
	now := m.line.now()
	if m.asleep {
		m.slept += now - m.since
		m.asleep = false
		for _, t := range m.timers {
			if t.alarm != nil && !t.rang {
				t.arm(now)
			}
		}
	}
	m.halted, m.ran = false, now
	waiting := m.waiting
	m.waiting = nil
	if m.chance != nil {
		m.chance.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	}
	m.mu.Unlock()
	for _, f := range waiting {
		m.line.soon(func() { m.deliver(f) })
	}
}

// running is how long code has run without being halted, by its own clock.
func (m *Machine) running() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.halted {
		return 0
	}
	return m.local(m.line.now() - m.ran)
}

// deliver calls f, which wakes code of this machine, as soon as code may run.
func (m *Machine) deliver(f func()) {
	m.mu.Lock()
	if m.halted {
		m.waiting = append(m.waiting, f)
		m.mu.Unlock()
		return
	}
	m.mu.Unlock()
	if l, ok := m.line.(lane); ok {
		l.wakes()
	}
	f()
}

// A timer counts its machine's monotonic time.
type timer struct {
	m     *Machine
	due   time.Duration // monotonic
	c     chan time.Time
	f     func() // instead of c
	set   uint64 // how often it was set
	on    bool
	rang  bool // it is due, but perhaps code cannot run yet
	alarm alarm
}

// NewTimer implements clock.Clock.
func (m *Machine) NewTimer(d time.Duration) clock.Timer {
	t := &timer{m: m, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

func (t *timer) C() <-chan time.Time { return t.c }

func (t *timer) Reset(d time.Duration) bool {
	m := t.m
	m.mu.Lock()
	defer m.mu.Unlock()
	active := t.stop()
	if t.c != nil {
		select {
		case <-t.c:
		default:
		}
	}
	now := m.line.now()
	t.due = m.mono(now) + d
	t.set++
	t.on, t.rang = true, false
	m.timers = append(m.timers, t)
	t.arm(now)
	if m.asleep {
		t.alarm.Stop()
	}
	return active
}

func (t *timer) Stop() bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	return t.stop()
}

func (t *timer) stop() bool {
	if !t.on {
		return false
	}
	t.on = false
	t.alarm.Stop()
	t.m.forget(t)
	return true
}

func (m *Machine) forget(t *timer) {
	if i := slices.Index(m.timers, t); i >= 0 {
		m.timers = slices.Delete(m.timers, i, i+1)
	}
}

// arm starts the timer on the true time.
func (t *timer) arm(now time.Duration) {
	d := max(0, time.Duration(math.Ceil(float64(t.due-t.m.mono(now))/t.m.rate)))
	if t.m.late != nil {
		d += t.m.late(t.due)
	}
	set := t.set
	t.alarm = t.m.line.after(d, func() { t.ring(set) })
}

// ring is the moment at which the timer is due.
func (t *timer) ring(set uint64) {
	t.m.mu.Lock()
	current := t.on && t.set == set && !t.rang && !t.m.asleep
	t.rang = t.rang || current
	t.m.mu.Unlock()
	if current {
		t.m.deliver(func() { t.fire(set) })
	}
}

// fire is the moment at which code learns of it.
func (t *timer) fire(set uint64) {
	t.m.mu.Lock()
	current := t.on && t.set == set
	if current {
		t.on = false
		t.m.forget(t)
	}
	t.m.mu.Unlock()
	switch {
	case !current:
	case t.f != nil:
		t.f()
	default:
		select {
		case t.c <- time.Time{}:
		default:
		}
	}
}

// after calls f when d has passed on m's monotonic clock and code runs.
func (m *Machine) after(d time.Duration, f func()) *timer {
	t := &timer{m: m, f: f}
	t.Reset(d)
	return t
}

// WithTimeout implements clock.Clock.
func (m *Machine) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	t := m.after(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}
