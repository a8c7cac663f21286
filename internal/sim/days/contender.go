package days

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

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

// timed is a backend whose mutexes go by a machine's clocks.
type timed struct {
	backends.Backend
	carrier
}

type carrier = clock.Carrier

// contend lives the lives of one contender, one after the other.
func (w *World) contend(t *testing.T, label int, stop <-chan struct{}) {
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

func (w *World) boot(t *testing.T, label, n int, rate float64) *life {
	p := &life{label: label, name: fmt.Sprintf("%d.%d", label, n), ended: make(chan struct{})}
	p.machine = sim.NewMachine(rate, w.upTo(p.name, 2*time.Hour)-time.Hour)
	w.tell("%s boots", p.name)
	b, err := w.Open(p.machine, wire{p, w.layer})
	require.NoError(t, err)
	m, err := mutex.New(timed{b, clock.Carry(p.machine)}, "job", &mutex.Options{TTL: w.TTL, Poll: w.Poll, Holder: fmt.Sprint(label)})
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

func (w *World) campaign(ctx context.Context, p *life, m *mutex.Mutex) error {
	return leader.Run(ctx, m, func(ctx context.Context, l *mutex.Lease) error {
		return w.lead(ctx, p, l)
	}, &leader.Options{StopTimeout: time.Hour})
}

// lockByHand is a campaign without leader.Run.
func (w *World) lockByHand(ctx context.Context, p *life, m *mutex.Mutex) error {
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
		_ = clock.Sleep(ctx, p.machine, w.Poll)
	}
}

// torment does harm to p until it is to be restarted. It reports whether p was
// killed.
func (w *World) torment(p *life, stop <-chan struct{}) (killed bool) {
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
			w.Count("crashes")
			p.kill()
			p.machine.Stop()
			w.bury(p)
			return true
		case 1:
			return false
		case 2:
			w.Count("jumps")
			p.machine.Jump(w.upTo(whose, 2*time.Hour) - time.Hour)
		case 3:
			w.Count("suspends")
			w.halt(p, whose, p.machine.Suspend)
		default:
			w.Count("stops")
			w.halt(p, whose, p.machine.Stop)
		}
	}
}

func (w *World) halt(p *life, whose string, how func()) {
	w.tell("%s is halted", p.name)
	how()
	time.Sleep(w.about(whose, w.TTL))
	w.tell("%s goes on", p.name)
	p.machine.Resume()
}

// bury takes a killed process off the list of those that believe.
func (w *World) bury(p *life) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for b := range w.terms {
		if b.life == p {
			delete(w.terms, b)
		}
	}
}

// lead is the task. It works until it is told to stop, or for a while, and takes its
// time to stop.
func (w *World) lead(ctx context.Context, p *life, l *mutex.Lease) error {
	if p.isDead() {
		return nil
	}
	b := w.begin(p, l)
	defer w.end(b)
	whose := "task " + p.name
	if clock.Sleep(ctx, p.machine, w.about(whose, 15*time.Minute)) != nil {
		if w.chance(whose, .3) { // drain, for longer than a TTL perhaps
			_ = clock.Sleep(context.Background(), p.machine, w.upTo(whose, 3*w.TTL))
		}
		return context.Cause(ctx)
	}
	return leader.ErrResign
}

func (w *World) end(b *belief) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record("%s leads no more", b.name)
	if errors.Is(b.lease.Err(), mutex.ErrLost) {
		w.report.Counts["lost"]++
	}
	delete(w.terms, b)
}
