package clock

import (
	"context"
	"math/rand/v2"
	"time"
)

// System is the machine's own clock. Inside a testing/synctest bubble its
// monotonic and wall clock are the bubble's; its boot clock stays real.
var System Clock = system{}

type system struct{}

// origin is what the monotonic part of a Reading counts from. In a synctest
// bubble time.Now has no monotonic part, and Sub falls back to wall time, which
// the bubble moves in step.
var origin = time.Now()

func (system) Now() Reading {
	now := time.Now()
	return Reading{Mono: now.Sub(origin), Wall: time.Duration(now.UnixNano())}
}

func (system) Boot() (Boot, bool) { return boot() }

func (system) NewTimer(d time.Duration) Timer { return timer{time.NewTimer(d)} }

func (system) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(parent, d)
}

func (system) Int64N(n int64) int64 { return rand.Int64N(n) }

type timer struct{ *time.Timer }

func (t timer) C() <-chan time.Time { return t.Timer.C }
