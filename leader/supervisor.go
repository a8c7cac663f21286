package leader

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/mutex"
)

// A supervisor abandons the lease of a task that hangs.
type supervisor struct {
	*campaign
	lease     *mutex.Lease
	pulse     *pulse
	returned  chan struct{} // closed when the task has returned
	over      chan struct{} // closed when watch has
	outstayed atomic.Bool   // the task did not return within StopTimeout
}

// watch returns when the task has, or when it has been found to hang.
func (s *supervisor) watch(ctx context.Context) {
	defer close(s.over)
	if s.awaitStop(ctx) {
		return
	}
	told := "since it was told to stop; its lease runs out"
	if s.lease.Err() != nil {
		told = "since its lease ended"
	}
	t := s.clock.NewTimer(s.options.StopTimeout)
	defer t.Stop()
	select {
	case <-s.returned:
	case <-t.C():
		s.outstayed.Store(true)
		s.log.Error("task has not returned "+told,
			"token", s.lease.Token(), "stop_timeout", s.options.StopTimeout)
		s.lease.Abandon(ErrHung)
	}
}

// awaitStop watches the beats until ctx or the lease ends, and then the task has to
// return. It reports whether it has.
func (s *supervisor) awaitStop(ctx context.Context) bool {
	t := s.clock.NewTimer(s.untilDue())
	defer t.Stop()
	for {
		select {
		case <-s.returned:
			return true
		case <-s.lease.Done():
			return false
		case <-ctx.Done():
			return false
		case <-t.C():
			left := s.untilDue()
			if left <= 0 {
				s.log.Error("task has not beaten in time; its lease is abandoned",
					"token", s.lease.Token(), "liveness", s.options.Liveness)
				s.lease.Abandon(ErrHung)
				return false
			}
			t.Reset(left)
		}
	}
}

// untilDue is the time until the next beat is due.
func (s *supervisor) untilDue() time.Duration {
	if s.options.Liveness == 0 {
		return time.Hour // no beats are asked for; looking again changes nothing
	}
	return s.options.Liveness - s.pulse.age()
}

// A pulse is when a task last beat.
type pulse struct {
	clock clock.Clock
	last  atomic.Int64 // monotonic
}

func newPulse(c clock.Clock) *pulse {
	p := &pulse{clock: c}
	p.beat()
	return p
}

func (p *pulse) beat() { p.last.Store(int64(p.clock.Now().Mono)) }

func (p *pulse) age() time.Duration {
	return p.clock.Now().Mono - time.Duration(p.last.Load())
}

type pulseKey struct{}

func withPulse(ctx context.Context, p *pulse) context.Context {
	return context.WithValue(ctx, pulseKey{}, p)
}

// Beat says that the task which was given ctx, or a context derived from it, is
// alive. It is for Run with Options.Liveness; elsewhere it does nothing. It is
// cheap, and may be called from any goroutine.
func Beat(ctx context.Context) {
	if p, ok := ctx.Value(pulseKey{}).(*pulse); ok {
		p.beat()
	}
}
