package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
)

// A Machine is a contender's clocks, in a world whose true time is the bubble's.
// All code of a contender waits at its gate, after each timer and each answer,
// while the machine sleeps or the process is stopped.
type Machine struct {
	rate  float64 // of all its clocks
	start time.Time

	mu     sync.Mutex
	asleep time.Time     // since when the machine is suspended; zero if it is not
	slept  time.Duration // true time spent suspended before
	jumped time.Duration // of the wall clock
	shut   chan struct{} // the gate: closed, so open, or nil if it is open
	timers map[*timer]struct{}
}

var _ clock.Clock = (*Machine)(nil)

// NewMachine returns a machine that has just been switched on, whose wall clock is
// off by offset.
func NewMachine(rate float64, offset time.Duration) *Machine {
	return &Machine{rate: rate, start: time.Now(), jumped: offset, timers: make(map[*timer]struct{})}
}

// local is true time as this machine's clocks count it.
func (m *Machine) local(d time.Duration) time.Duration {
	return time.Duration(float64(d) * m.rate)
}

// awake is the true time for which the machine has not been suspended.
func (m *Machine) awake() time.Duration {
	d := time.Since(m.start) - m.slept
	if !m.asleep.IsZero() {
		d -= time.Since(m.asleep)
	}
	return d
}

// Now implements clock.Clock.
func (m *Machine) Now() clock.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return clock.Reading{
		Mono: m.local(m.awake()),
		Wall: time.Duration(m.start.UnixNano()) + m.local(time.Since(m.start)) + m.jumped,
	}
}

// Boot implements clock.Clock.
func (m *Machine) Boot() (clock.Boot, bool) {
	return clock.Boot{ID: "sim", Since: m.local(time.Since(m.start))}, true
}

// Jump sets the wall clock forward, or back.
func (m *Machine) Jump(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jumped += d
}

// Suspend puts the machine to sleep: its monotonic clock and its timers stand
// still until Resume, and no code runs.
func (m *Machine) Suspend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.close()
	m.asleep = time.Now()
	for t := range m.timers {
		t.halt()
	}
}

// Stop stops the process: no code runs until Resume, but the clocks go on.
func (m *Machine) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.close()
}

// Resume ends Suspend or Stop.
func (m *Machine) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.asleep.IsZero() {
		m.slept += time.Since(m.asleep)
		m.asleep = time.Time{}
		for t := range m.timers {
			t.arm(t.due - m.local(m.awake()))
		}
	}
	if m.shut != nil {
		close(m.shut)
		m.shut = nil
	}
}

func (m *Machine) close() {
	if m.shut == nil {
		m.shut = make(chan struct{})
	}
}

// gate waits until code of this contender may run.
func (m *Machine) gate() {
	for {
		m.mu.Lock()
		shut := m.shut
		m.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
	}
}

// A timer counts its machine's monotonic time.
type timer struct {
	m    *Machine
	due  time.Duration // monotonic
	c    chan time.Time
	f    func()
	real *time.Timer // nil while halted
}

// NewTimer implements clock.Clock.
func (m *Machine) NewTimer(d time.Duration) clock.Timer {
	t := &timer{m: m, c: make(chan time.Time, 1)}
	t.f = func() {
		select {
		case t.c <- time.Now():
		default:
		}
	}
	t.Reset(d)
	return t
}

func (t *timer) C() <-chan time.Time { return t.c }

func (t *timer) Reset(d time.Duration) bool {
	active := t.Stop()
	select {
	case <-t.c:
	default:
	}
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.due = t.m.local(t.m.awake()) + d
	t.m.timers[t] = struct{}{}
	if t.m.asleep.IsZero() {
		t.arm(d)
	}
	return active
}

func (t *timer) Stop() bool {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	_, active := t.m.timers[t]
	delete(t.m.timers, t)
	t.halt()
	return active
}

// halt stops the timer for now.
func (t *timer) halt() {
	if t.real != nil {
		t.real.Stop()
		t.real = nil
	}
}

// arm starts the timer, to fire after d of its machine's time.
func (t *timer) arm(d time.Duration) {
	t.real = time.AfterFunc(max(0, time.Duration(math.Ceil(float64(d)/t.m.rate))), t.fire)
}

func (t *timer) fire() {
	t.m.gate()
	t.m.mu.Lock()
	_, active := t.m.timers[t]
	left := t.due - t.m.local(t.m.awake())
	if active && left > time.Microsecond { // it is armed anew, since it slept or was reset
		t.m.mu.Unlock()
		return
	}
	delete(t.m.timers, t)
	t.m.mu.Unlock()
	if active {
		t.f()
	}
}

// WithTimeout implements clock.Clock.
func (m *Machine) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	t := &timer{m: m, c: make(chan time.Time, 1), f: func() { cancel(context.DeadlineExceeded) }}
	t.Reset(d)
	return ctx, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}

// Int64N implements clock.Clock.
func (m *Machine) Int64N(n int64) int64 { return rand.Int64N(n) }
