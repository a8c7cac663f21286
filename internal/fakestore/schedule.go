package fakestore

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// A Schedule decides what happens to a request. It is asked once for each, in
// the order in which they were sent, and may be asked concurrently.
type Schedule func(*http.Request) Fault

// Always does f to every request.
func Always(f Fault) Schedule { return func(*http.Request) Fault { return f } }

// Each does the first fault to the first request, the second to the second,
// and nothing to those that follow.
func Each(faults ...Fault) Schedule {
	var mu sync.Mutex
	return func(*http.Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if len(faults) == 0 {
			return Fault{}
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}
}

// Nth does f to the n-th request, counted from 1.
func Nth(n int, f Fault) Schedule {
	faults := make([]Fault, n)
	faults[n-1] = f
	return Each(faults...)
}

// Where asks s about those requests only that match; so Nth counts only them.
func (s Schedule) Where(match func(*http.Request) bool) Schedule {
	return func(r *http.Request) Fault {
		if !match(r) {
			return Fault{}
		}
		return s(r)
	}
}

// Or asks other about requests to which s does nothing.
func (s Schedule) Or(other Schedule) Schedule {
	return func(r *http.Request) Fault {
		if f := s(r); !f.none() {
			return f
		}
		return other(r)
	}
}

// Seeded does a fault that draw chooses to the given share of requests. Equal
// seeds give equal schedules; which request gets which fault is reproducible
// only as far as the order of the requests is.
func Seeded(seed uint64, share float64, draw func(*rand.Rand) Fault) Schedule {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(*http.Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() >= share {
			return Fault{}
		}
		return draw(random)
	}
}

// OneOf draws one of the given faults.
func OneOf(faults ...Fault) func(*rand.Rand) Fault {
	return func(r *rand.Rand) Fault { return faults[r.IntN(len(faults))] }
}

// Any draws from everything that can happen, with delays below longest.
func Any(longest time.Duration) func(*rand.Rand) Fault {
	return func(r *rand.Rand) Fault {
		d := time.Duration(r.Int64N(int64(longest)))
		statuses := []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
		status, retry := statuses[r.IntN(len(statuses))], time.Duration(r.IntN(4)-1)*time.Second
		return OneOf(
			LostBefore(), LostAfter(), DelayedBefore(d), DelayedAfter(d), Twice(d),
			Refused(status, retry), RefusedAfter(status, retry), Hung(), HungAfter(), StaleRead(),
			Fault{Before: d, Err: ErrReset}, Fault{Again: []time.Duration{d}, Err: ErrReset},
		)(r)
	}
}
