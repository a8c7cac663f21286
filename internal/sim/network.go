package sim

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
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
	Duplicate   float64
	Throttle    float64 // refused, with Retry-After
	Fail        float64 // an error, with or without effect
	Lie         float64 // a conflict is answered for a write that was applied
	Slow        float64 // delayed with a heavy tail, either way
}

var (
	errDown   = errors.New("no route to host")
	errBusy   = errors.New("503 server busy")
	errServer = errors.New("500 internal error")
)

// A Network lies between all contenders and one store.
type Network struct {
	store cas.Store

	mu     sync.Mutex
	rng    *rand.Rand
	faults Faults
	down   bool
	wires  sync.WaitGroup
}

// NewNetwork returns a network in front of store that does no harm yet.
func NewNetwork(store cas.Store, rng *rand.Rand) *Network {
	return &Network{store: store, rng: rng}
}

// Set changes the weather.
func (n *Network) Set(f Faults, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults, n.down = f, down
}

// Wait returns when no request and no answer is under way any more.
func (n *Network) Wait() { n.wires.Wait() }

// fate is what happens to one request.
type fate struct {
	lost, answerLost, twice bool
	before, after, repeat   time.Duration
	err                     error
	effect                  bool // has its effect in spite of err
}

func (n *Network) fate() fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	chance := func(p float64) bool { return n.rng.Float64() < p }
	f := n.faults
	t := fate{
		lost:       n.down || chance(f.LoseRequest),
		answerLost: chance(f.LoseAnswer),
		twice:      chance(f.Duplicate),
		before:     n.delay(chance(f.Slow)),
		after:      n.delay(chance(f.Slow)),
		repeat:     n.delay(true) * 4,
	}
	switch {
	case n.down && chance(0.5):
		t.err = errDown
	case chance(f.Throttle):
		t.err = &backends.RetryError{After: time.Duration(n.rng.Int64N(int64(longestThrottle))), Err: errBusy}
		t.effect = chance(0.3)
	case chance(f.Fail):
		t.err, t.effect = errServer, chance(0.5)
	case chance(f.Lie):
		t.err, t.effect = cas.ErrConflict, true
	}
	return t
}

// delay is 1 to 100 ms, or with a heavy tail up to a minute and a half.
func (n *Network) delay(slow bool) time.Duration {
	d := time.Millisecond + time.Duration(n.rng.Int64N(int64(99*time.Millisecond)))
	if slow {
		x := n.rng.Float64()
		d += time.Duration(x * x * x * x * float64(90*time.Second))
	}
	return d
}

// A View is the store as one contender sees it.
type View struct {
	net     *Network
	machine *Machine
	carrier

	mu   sync.Mutex
	dead bool
}

type carrier = clock.Carrier

var _ cas.Store = (*View)(nil)

// View returns the store as seen from m.
func (n *Network) View(m *Machine) *View {
	return &View{net: n, machine: m, carrier: clock.Carry(m)}
}

// Kill cuts the process off for good: what it sends from now on never leaves.
func (v *View) Kill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dead = true
}

func (v *View) killed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dead
}

type answer struct {
	object cas.Object
	err    error
}

// Load implements cas.Store.
func (v *View) Load(ctx context.Context, name string) (cas.Object, error) {
	return v.send(ctx, func(ctx context.Context) (cas.Object, error) { return v.net.store.Load(ctx, name) })
}

// Put implements cas.Store.
func (v *View) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return v.send(ctx, func(ctx context.Context) (cas.Object, error) { return v.net.store.Put(ctx, name, version, data) })
}

// Touch implements cas.Store.
func (v *View) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return v.send(ctx, func(ctx context.Context) (cas.Object, error) { return v.net.store.Touch(ctx, name, version, data) })
}

type request func(ctx context.Context) (cas.Object, error)

// send puts a request on the wire and waits for the answer or for ctx.
func (v *View) send(ctx context.Context, r request) (cas.Object, error) {
	v.machine.gate()
	if v.killed() {
		return cas.Object{}, errDown
	}
	if err := ctx.Err(); err != nil {
		return cas.Object{}, err
	}
	answers := make(chan answer, 1)
	v.net.wires.Go(func() { v.net.carry(v.net.fate(), r, answers) })
	select {
	case a := <-answers:
		v.machine.gate()
		return a.object, a.err
	case <-ctx.Done():
		v.machine.gate()
		return cas.Object{}, ctx.Err()
	}
}

// carry is the life of one request. What is lost gives no answer at all.
func (n *Network) carry(f fate, r request, answers chan<- answer) {
	time.Sleep(f.before)
	if f.lost {
		if f.err != nil {
			answers <- answer{err: f.err}
		}
		return
	}
	if f.twice {
		n.wires.Go(func() {
			time.Sleep(f.repeat)
			_, _ = r(context.Background())
		})
	}
	var a answer
	if f.err == nil || f.effect {
		a.object, a.err = r(context.Background())
	}
	if f.err != nil {
		a = answer{err: f.err}
	}
	time.Sleep(f.after)
	if !f.answerLost {
		answers <- a
	}
}
