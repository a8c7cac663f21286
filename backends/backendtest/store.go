package backendtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// errClosed is for requests that were sent, or on their way, when Close was
// called.
var errClosed = errors.New("the network is closed")

type carrier = clock.Carrier

// A Store is a cas.Store behind a network that loses, delays and repeats
// requests, as a Schedule says, and counts them. It is safe for concurrent use,
// as far as the store behind it is.
type Store struct {
	carrier
	inner cas.Store
	net   *network
}

var (
	_ cas.Store       = (*Store)(nil)
	_ cas.NameChecker = (*Store)(nil)
)

// NewStore returns inner behind a network that works. It waits for delays on
// the clock that inner carries. It has to be closed.
func NewStore(inner cas.Store) *Store {
	n := &network{seen: make(map[string]past), clock: clock.Of(inner)}
	n.idle = sync.NewCond(&n.mu)
	n.closing, n.close = context.WithCancelCause(context.Background())
	return &Store{clock.Carry(n.clock), inner, n}
}

// Beside returns other behind the same network as s: schedule, count and dates
// are those of both. It is for a second client of the same store.
func (s *Store) Beside(other cas.Store) *Store {
	return &Store{clock.Carry(clock.Of(other)), other, s.net}
}

// Inject replaces the schedule. Nil lets every request pass.
func (s *Store) Inject(faults Schedule) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.faults = faults
}

// Redate makes every answer carry the dates that lie makes of the true ones. Nil
// restores the truth. lie is called by one goroutine at a time.
func (s *Store) Redate(lie func(name string, modified, now time.Time) (time.Time, time.Time)) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	s.net.lie = lie
}

// Count tells how many requests were sent, lost ones too.
func (s *Store) Count() Count {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	return s.net.count
}

// Wait returns when everything that was on its way has arrived.
func (s *Store) Wait() { s.net.wait() }

// Close loses what is on its way and ends the requests that hang. Nothing can be
// sent afterwards.
func (s *Store) Close() {
	s.net.close(errClosed)
	s.net.wait()
}

// CheckName implements cas.NameChecker.
func (s *Store) CheckName(name string) error {
	if c, ok := s.inner.(cas.NameChecker); ok {
		return c.CheckName(name)
	}
	return nil
}

// Load implements cas.Store.
func (s *Store) Load(ctx context.Context, name string) (cas.Object, error) {
	return s.send(ctx, Request{Op: Load, Name: name}, func(ctx context.Context) (cas.Object, error) {
		return s.inner.Load(ctx, name)
	})
}

// Put implements cas.Store.
func (s *Store) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.send(ctx, Request{Put, name, version, data}, func(ctx context.Context) (cas.Object, error) {
		return s.inner.Put(ctx, name, version, data)
	})
}

// Touch implements cas.Store.
func (s *Store) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.send(ctx, Request{Touch, name, version, data}, func(ctx context.Context) (cas.Object, error) {
		return s.inner.Touch(ctx, name, version, data)
	})
}

// send carries one request, more or less faithfully. One whose ctx has ended
// before is not sent.
func (s *Store) send(ctx context.Context, r Request, act act) (cas.Object, error) {
	if err := context.Cause(ctx); err != nil {
		return cas.Object{}, err
	}
	f, err := s.net.register(r)
	if err != nil {
		return cas.Object{}, err
	}
	c := call{r, f, act}
	if f.none() {
		a := s.net.deliver(ctx, c)
		return a.object, a.err
	}
	return s.net.await(ctx, c, s.net.carry(c))
}

// An act is what the store does when the request arrives.
type act func(context.Context) (cas.Object, error)

// A call is one request with its fate.
type call struct {
	Request
	fault Fault
	act   act
}

type answer struct {
	object cas.Object
	err    error
}

// A network is what all clients of a store have in common.
type network struct {
	clock   clock.Clock
	closing context.Context
	close   context.CancelCauseFunc

	mu     sync.Mutex
	late   int        // deliveries that go on without their caller
	idle   *sync.Cond // late is 0
	faults Schedule
	lie    func(name string, modified, now time.Time) (time.Time, time.Time)
	count  Count
	seen   map[string]past
}

// register counts a request, and asks the schedule about it in the same order.
func (n *network) register(r Request) (Fault, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := context.Cause(n.closing); err != nil {
		return Fault{}, err
	}
	n.count.add(r)
	if n.faults == nil {
		return Fault{}, nil
	}
	return n.faults(r), nil
}

// carry starts the delivery of a call that something befalls. The channel gives
// the answer; it stays empty if the network is closed first.
func (n *network) carry(c call) <-chan answer {
	answers := make(chan answer, 1)
	n.later(c.fault.Before, func() {
		a := n.arrive(c)
		n.later(c.fault.After, func() { answers <- a })
	})
	return answers
}

// arrive is the moment at which the store sees the call, or would have.
func (n *network) arrive(c call) answer {
	if c.fault.Dropped {
		return answer{err: c.fault.err()}
	}
	a := n.deliver(n.closing, c)
	for _, d := range c.fault.Again {
		n.later(d, func() { n.deliver(n.closing, c) })
	}
	switch {
	case c.fault.err() != nil:
		return answer{err: c.fault.err()}
	case c.fault.Stale && c.Reads() && a.err == nil:
		return n.before(c.Name, a)
	}
	return a
}

// deliver lets the store act.
func (n *network) deliver(ctx context.Context, c call) answer {
	object, err := c.act(ctx)
	if err != nil {
		return answer{err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lie != nil {
		object.Modified, object.Now = n.lie(c.Name, object.Modified, object.Now)
	}
	if c.Reads() {
		n.seen[c.Name] = n.seen[c.Name].with(object)
	}
	return answer{object: object}
}

// before is the last answer to the same question that was different.
func (n *network) before(name string, now answer) answer {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.seen[name]
	for _, old := range []*cas.Object{p.last, p.earlier} {
		if old != nil && !alike(*old, now.object) {
			return answer{object: *old}
		}
	}
	return now
}

// await is the caller's side of carry.
func (n *network) await(ctx context.Context, c call, answers <-chan answer) (cas.Object, error) {
	if c.fault.Hang {
		answers = nil
	}
	select {
	case a := <-answers:
		return a.object, a.err
	case <-ctx.Done():
		return cas.Object{}, context.Cause(ctx)
	case <-n.closing.Done():
		return cas.Object{}, context.Cause(n.closing)
	}
}

// later runs f in d, on a goroutine that wait waits for, unless the network is
// closed first.
func (n *network) later(d time.Duration, f func()) {
	n.mu.Lock()
	n.late++
	n.mu.Unlock()
	go func() {
		if n.pass(d) {
			f()
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.late--; n.late == 0 {
			n.idle.Broadcast()
		}
	}()
}

// pass lets d go by, and returns false if the network is closed meanwhile. It
// makes no timer that is due at once: under the race detector, two of these at
// the same time can crash a bubble (golang/go#78156).
func (n *network) pass(d time.Duration) bool {
	if d <= 0 {
		return n.closing.Err() == nil
	}
	return clock.Sleep(n.closing, n.clock, d) == nil
}

func (n *network) wait() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.late > 0 {
		n.idle.Wait()
	}
}

// A past is the last two answers to a read that differ.
type past struct{ last, earlier *cas.Object }

func (p past) with(o cas.Object) past {
	if p.last != nil && alike(*p.last, o) {
		return p
	}
	return past{last: &o, earlier: p.last}
}

func alike(a, b cas.Object) bool { return a.Exists == b.Exists && a.Version == b.Version }

// A Count is a number of requests.
type Count struct{ Reads, Writes int }

func (c *Count) add(r Request) {
	if r.Writes() {
		c.Writes++
	} else {
		c.Reads++
	}
}

// Since is c without what was counted before.
func (c Count) Since(before Count) Count {
	return Count{c.Reads - before.Reads, c.Writes - before.Writes}
}

// Plus is the sum of both.
func (c Count) Plus(d Count) Count { return Count{c.Reads + d.Reads, c.Writes + d.Writes} }

// String tells both numbers.
func (c Count) String() string { return fmt.Sprintf("%d reads and %d writes", c.Reads, c.Writes) }
