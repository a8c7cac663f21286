package days

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/fakestore"
)

// A weather is what happens to requests: each number is a probability for one.
type weather struct {
	down                                                               bool
	lost, answerLost, twice, busy, broken, lied, stale, slow, veryLate float64
}

var (
	drizzle = weather{lost: .02, answerLost: .02, twice: .05, busy: .02, broken: .02, lied: .02, stale: .02, slow: .05, veryLate: .005}
	storm   = weather{lost: .2, answerLost: .3, twice: .3, busy: .1, broken: .1, lied: .1, stale: .2, slow: .3, veryLate: .05}
)

const (
	longestThrottle = 20 * time.Second
	longestRestart  = 20 * time.Second
)

// fate decides what happens to a request.
func (w *World) fate(r *http.Request) fakestore.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Counts["requests"]++
	s, reads := w.skies, r.Method == http.MethodGet
	rng := w.rng("wire " + r.Header.Get(sender))
	chance := func(p float64) bool { return p > 0 && rng.Float64() < p }
	f := w.answer(r, s, rng, chance)
	if s.down || chance(s.lost) {
		f = fakestore.LostBefore()
		f.Hang = chance(.5)
	}
	f.Before = delay(rng, chance(s.slow))
	if chance(s.slow) {
		f.After = delay(rng, true)
	}
	if chance(s.veryLate) {
		f.After += time.Duration(rng.Int64N(int64(2 * w.TTL)))
	}
	if chance(s.twice) {
		f.Again = []time.Duration{4 * delay(rng, true)}
	}
	f.Stale = reads && chance(s.stale)
	return f
}

// answer is what is said to a request that arrives.
func (w *World) answer(r *http.Request, s weather, rng *rand.Rand, chance func(float64) bool) (f fakestore.Fault) {
	switch {
	case chance(s.busy):
		f = w.Busy(time.Duration(rng.Int64N(int64(longestThrottle))))
		f.Dropped = chance(.7)
	case chance(s.broken):
		f = w.Broken()
		f.Dropped = chance(.5)
	case r.Method != http.MethodGet && chance(s.lied):
		f = w.Lied(r)
	case chance(s.answerLost):
		f = fakestore.LostAfter()
		f.Hang = chance(.5)
	}
	return f
}

// delay is up to 100 ms, or with a heavy tail up to a minute and a half.
func delay(rng *rand.Rand, slow bool) time.Duration {
	d := time.Millisecond + time.Duration(rng.Int64N(int64(99*time.Millisecond)))
	if slow {
		x := rng.Float64()
		d += time.Duration(x * x * x * x * float64(90*time.Second))
	}
	return d
}

// blow changes the weather from time to time.
func (w *World) blow(stop <-chan struct{}) {
	const whose = "weather"
	for w.pause(whose, stop, 4*time.Minute) {
		s := drizzle
		if w.chance(whose, .3) {
			s = storm
		}
		s.down = w.chance(whose, .2)
		w.mu.Lock()
		w.skies = s
		w.mu.Unlock()
	}
}

// A wire is the network as one process sees it: nothing is sent, and no answer heard,
// while its code does not run.
type wire struct {
	*life
	layer *fakestore.Layer
}

// sender is the header that tells the network who sends. No store knows it.
const sender = "X-Days-Sender"

var errDown = errors.New("no route to host")

func (c wire) RoundTrip(r *http.Request) (*http.Response, error) {
	c.gate()
	if c.isDead() {
		return nil, errDown
	}
	r = r.Clone(r.Context())
	r.Header.Set(sender, c.name)
	resp, err := c.layer.RoundTrip(r)
	c.gate()
	return resp, err
}

// gate waits until code of this process may run.
func (p *life) gate() { _ = clock.Sleep(context.Background(), p.machine, 0) }
