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
	rate := 1 + .01*(2*float64(w.UpTo(1000))/999-1)
	var past []*life
	for {
		p := w.boot(t, label, rate)
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
		case <-time.After(w.UpTo(longestRestart)):
		}
	}
}

func (w *World) boot(t *testing.T, label int, rate float64) *life {
	p := &life{label: label, machine: sim.NewMachine(rate, w.UpTo(2*time.Hour)-time.Hour), ended: make(chan struct{})}
	b, err := w.Open(p.machine, wire{p, w.Layer})
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
	for {
		select {
		case <-stop:
			return false
		case <-p.ended:
			return false
		case <-time.After(w.about(10 * time.Minute)):
		}
		if w.calm() {
			continue
		}
		switch w.UpTo(6) {
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
			p.machine.Jump(w.UpTo(2*time.Hour) - time.Hour)
		case 3:
			w.Count("suspends")
			w.halt(p, p.machine.Suspend)
		default:
			w.Count("stops")
			w.halt(p, p.machine.Stop)
		}
	}
}

func (w *World) halt(p *life, how func()) {
	how()
	time.Sleep(w.about(w.TTL))
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
	if clock.Sleep(ctx, p.machine, w.about(15*time.Minute)) != nil {
		if w.chance(.3) { // drain, for longer than a TTL perhaps
			_ = clock.Sleep(context.Background(), p.machine, w.UpTo(3*w.TTL))
		}
		return context.Cause(ctx)
	}
	return leader.ErrResign
}

func (w *World) end(b *belief) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(b.lease.Err(), mutex.ErrLost) {
		w.report.Counts["lost"]++
	}
	delete(w.terms, b)
}
