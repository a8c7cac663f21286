package fakestore

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
)

// Options of a Layer. Nil means the defaults.
type Options struct {
	// Faults decides what happens to requests until Inject replaces it. By
	// default nothing happens.
	Faults Schedule
	// Kind names a request for counting and tracing; by default its method.
	Kind func(*http.Request) string
	// Clock is what delays are waited for on; clock.System by default.
	Clock clock.Clock
	// Trace, if set, is told everything that happens. It must not call the
	// Layer, and may be called concurrently.
	Trace func(Event)
}

// A Layer carries requests to a store, more or less faithfully. It is an
// [http.RoundTripper], safe for concurrent use.
type Layer struct {
	store http.Handler
	clock clock.Clock
	kind  func(*http.Request) string
	trace func(Event)

	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex
	faults  Schedule
	sent    int
	counts  map[string]int
	history history
	late    int        // deliveries that go on without their caller
	idle    *sync.Cond // late is 0
}

// New returns a Layer in front of store. It must be closed.
func New(store http.Handler, o *Options) *Layer {
	l := &Layer{store: store, counts: map[string]int{}, history: history{}}
	l.idle = sync.NewCond(&l.mu)
	l.closing, l.close = context.WithCancel(context.Background())
	if o == nil {
		o = &Options{}
	}
	l.faults, l.clock, l.kind, l.trace = o.Faults, o.Clock, o.Kind, o.Trace
	if l.clock == nil {
		l.clock = clock.System
	}
	if l.kind == nil {
		l.kind = func(r *http.Request) string { return r.Method }
	}
	return l
}

// Inject replaces the schedule. Nil lets every request pass.
func (l *Layer) Inject(s Schedule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = s
}

// Counts tells how many requests of each kind were sent, those that were lost
// included, since the Layer was made or ResetCounts was called.
func (l *Layer) Counts() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}

// ResetCounts starts counting anew.
func (l *Layer) ResetCounts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.counts)
}

// Wait returns when everything that was on its way has arrived.
func (l *Layer) Wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.late > 0 {
		l.idle.Wait()
	}
}

// Close loses what is still on its way and ends the requests that hang. The
// Layer carries nothing afterwards.
func (l *Layer) Close() {
	l.close()
	l.Wait()
}

// RoundTrip carries one request.
func (l *Layer) RoundTrip(req *http.Request) (*http.Response, error) {
	c, err := l.accept(req)
	if err != nil {
		return nil, err
	}
	if c.fault.none() {
		return l.deliver(c, "applied").response(req), nil
	}
	return l.await(c, l.carry(c))
}

// A call is one request on its way.
type call struct {
	n     int
	kind  string
	req   *http.Request
	seen  *http.Request // req as the store sees it, but for the body
	body  []byte
	fault Fault
}

// accept takes a request from its caller.
func (l *Layer) accept(req *http.Request) (call, error) {
	body, err := drain(req)
	if err != nil {
		return call{}, err
	}
	if err := context.Cause(req.Context()); err != nil {
		return call{}, err
	}
	if l.closing.Err() != nil {
		return call{}, net.ErrClosed
	}
	c := call{req: req, seen: arriving(req, body), body: body}
	c.kind = l.kind(c.seen)
	c.n, c.fault = l.register(c)
	l.tell(c, "sent", 0)
	return c, nil
}

func drain(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	defer req.Body.Close()
	return io.ReadAll(req.Body)
}

// register counts the call, and asks the schedule about it in the same order.
func (l *Layer) register(c call) (n int, f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	l.counts[c.kind]++
	if l.faults != nil {
		f = l.faults(c.seen)
	}
	return l.sent, f
}

// carry starts the delivery of a call that something happens to. The channel
// gives what the store answered; it stays empty if the Layer is closed first.
func (l *Layer) carry(c call) <-chan answer {
	answers := make(chan answer, 1)
	l.later(c.fault.Before, func() {
		a := l.arrive(c)
		l.later(c.fault.After, func() { answers <- a })
	})
	return answers
}

// arrive is the moment at which the store sees the call, or would have.
func (l *Layer) arrive(c call) answer {
	if c.fault.Dropped {
		l.tell(c, "dropped", 0)
		return answer{}
	}
	a := l.deliver(c, "applied")
	for _, d := range c.fault.Again {
		l.later(d, func() { l.deliver(c, "applied again") })
	}
	if !c.fault.Stale {
		return a
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history.before(c.seen, a)
}

// later runs f in d, on a goroutine that Wait waits for, unless the Layer is
// closed first.
func (l *Layer) later(d time.Duration, f func()) {
	l.mu.Lock()
	l.late++
	l.mu.Unlock()
	go func() {
		if clock.Sleep(l.closing, l.clock, d) == nil {
			f()
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.late--; l.late == 0 {
			l.idle.Broadcast()
		}
	}()
}

// deliver lets the store act.
func (l *Layer) deliver(c call, step string) answer {
	a := serve(l.store, c.seen, c.body)
	l.tell(c, step, a.status)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history.keep(c.seen, a)
	return a
}

// await is the caller's side of carry.
func (l *Layer) await(c call, answers <-chan answer) (*http.Response, error) {
	if c.fault.Hang {
		answers = nil
	}
	select {
	case a := <-answers:
		return l.outcome(c, a)
	case <-c.req.Context().Done():
		l.tell(c, "abandoned", 0)
		return nil, context.Cause(c.req.Context())
	case <-l.closing.Done():
		return nil, net.ErrClosed
	}
}

// outcome is what the caller gets, which may not be what the store said.
func (l *Layer) outcome(c call, a answer) (*http.Response, error) {
	if err := c.fault.err(); err != nil {
		l.tell(c, "failed", 0)
		return nil, err
	}
	if c.fault.Status != 0 {
		a = answer{status: c.fault.Status, header: c.fault.Header, body: []byte(c.fault.Body)}
	}
	l.tell(c, "answered", a.status)
	return a.response(c.req), nil
}

// An Event is one step of one request.
type Event struct {
	At     time.Time
	N      int    // which request: the first is 1
	Kind   string // see Options.Kind
	Path   string
	Step   string // sent, applied, applied again, dropped, answered, failed, abandoned
	Status int    // of the answer, for the steps that have one
	Fault  Fault
}

// String tells the event in one line, without query and headers: those may
// hold secrets.
func (e Event) String() string {
	return fmt.Sprintf("%s #%d %s %s: %s %d (%s)",
		e.At.Format("15:04:05.000"), e.N, e.Kind, e.Path, e.Step, e.Status, e.Fault)
}

func (l *Layer) tell(c call, step string, status int) {
	if l.trace == nil {
		return
	}
	l.trace(Event{
		At: l.clock.Now().Date(), N: c.n, Kind: c.kind, Path: c.req.URL.Path,
		Step: step, Status: status, Fault: c.fault,
	})
}

// A history holds the last few different answers to each question.
type history map[string][]answer

const remembered = 8

func (h history) keep(req *http.Request, a answer) {
	key, ok := question(req)
	if !ok {
		return
	}
	kept := h[key]
	if n := len(kept); n > 0 && kept[n-1].says(a) {
		return
	}
	if len(kept) == remembered {
		kept = slices.Delete(kept, 0, 1)
	}
	h[key] = append(kept, a)
}

// before returns the latest answer that says something else than a.
func (h history) before(req *http.Request, a answer) answer {
	key, _ := question(req)
	for _, old := range slices.Backward(h[key]) {
		if !old.says(a) {
			return old
		}
	}
	return a
}

// question identifies what a reading request asks for.
func question(req *http.Request) (string, bool) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return "", false
	}
	key := []string{req.Method, req.Host, req.RequestURI}
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Range"} {
		key = append(key, req.Header.Get(name))
	}
	return strings.Join(key, "\n"), true
}
