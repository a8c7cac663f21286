package show

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/mutex"
)

// A story is the acts of the demo, and what is seen of them.
type story struct {
	crew   crew
	mutex  *mutex.Mutex // of an onlooker: it never locks
	ttl    time.Duration
	ledger ledger
	trap   trap
	stage  *stage
	teller *teller
	alive  []string // the workers that are neither killed nor stopped
	seen   report
}

func newStory(c crew, ttl time.Duration, out io.Writer) (*story, error) {
	m, err := mutex.New(c.store(), leaseName, &mutex.Options{TTL: ttl})
	if err != nil {
		return nil, err
	}
	return &story{crew: c, mutex: m, ttl: ttl, trap: make(trap), stage: newStage(), teller: newTeller(out)}, nil
}

// play plays all acts, and reports what was seen. It returns an error if they
// cannot be played to the end.
func (s *story) play(ctx context.Context) (report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 15*s.ttl+15*time.Second, errors.New("it takes too long"))
	defer cancel()
	for _, act := range []func(context.Context) error{s.begin, s.kill, s.pause, s.stop} {
		if err := act(ctx); err != nil {
			return report{}, err
		}
	}
	s.seen.start, s.seen.terms = s.teller.start, s.stage.all()
	s.seen.accepted, s.seen.refused = s.ledger.books()
	return s.seen, nil
}

// begin starts the workers, and lets the first of them lead for a while.
func (s *story) begin(ctx context.Context) error {
	s.teller.say("three workers, one lease in %s; it lasts %v unless it is renewed", s.crew.place(), s.ttl)
	for _, name := range []string{"A", "B", "C"} {
		what, err := s.crew.start(name, &desk{worker: name, story: s})
		if err != nil {
			return err
		}
		s.alive = append(s.alive, name)
		s.teller.say("%s starts: %s", name, what)
	}
	if _, err := s.stage.leader(ctx, term{}); err != nil {
		return err
	}
	return sleep(ctx, 5*beat(s.ttl)/4)
}

// kill kills the leader. Another one takes over when the lease has run out.
func (s *story) kill(ctx context.Context) error {
	old, err := s.stage.leader(ctx, term{})
	if err != nil {
		return err
	}
	s.teller.say("%s %s", old.worker, s.crew.words().kill)
	at := uptime()
	if err := s.crew.kill(old.worker); err != nil {
		return err
	}
	s.leaves(old.worker)
	s.stage.finished(old.worker, Belief{Token: old.token, At: uptime(), Cause: "killed"}) // it cannot tell
	if err := s.succession(ctx, "the kill", old, at, s.expiry()); err != nil {
		return err
	}
	return sleep(ctx, beat(s.ttl)/2)
}

// pause stops the leader in the middle of a write, until another leads.
func (s *story) pause(ctx context.Context) error {
	caught, err := s.trap.catch(ctx)
	if err != nil {
		return err
	}
	defer caught.release()
	old, err := s.stage.ledBy(ctx, caught.worker)
	if err != nil {
		return err
	}
	if s.crew.writes() {
		if err := s.renewal(ctx); err != nil {
			return err
		}
	}
	s.teller.say("%s %s, in the middle of a write", old.worker, s.crew.words().pause)
	at := uptime()
	if err := s.crew.pause(old.worker); err != nil {
		return err
	}
	if err := s.succession(ctx, "the pause", old, at, s.expiry()); err != nil {
		return err
	}
	if err := sleep(ctx, 3*beat(s.ttl)/4); err != nil {
		return err
	}
	s.teller.say("%s %s, and goes on with its write", old.worker, s.crew.words().wake)
	if err := s.crew.wake(old.worker); err != nil {
		return err
	}
	caught.release()
	if s.seen.paused, err = s.stage.ended(ctx, old); err != nil {
		return err
	}
	return sleep(ctx, beat(s.ttl)/2)
}

// renewal waits until half the time between two renewals has passed since one. A
// process that is stopped in the very instant in which it writes to the directory
// keeps the others out until it is woken, as filelease says; not now, please.
func (s *story) renewal(ctx context.Context) error {
	first, err := s.mutex.Observe(ctx)
	for now := first; err == nil && now.Version == first.Version; {
		if err = sleep(ctx, s.ttl/100); err == nil {
			now, err = s.mutex.Observe(ctx)
		}
	}
	if err != nil {
		return err
	}
	return sleep(ctx, s.ttl/6)
}

// stop stops one worker after the other, the leader first.
func (s *story) stop(ctx context.Context) error {
	for len(s.alive) > 0 {
		old, err := s.stage.leader(ctx, term{})
		if err != nil {
			return err
		}
		s.teller.say("%s %s", old.worker, s.crew.words().terminate)
		at := uptime()
		if err := s.crew.terminate(ctx, old.worker); err != nil {
			return err
		}
		if s.leaves(old.worker); len(s.alive) == 0 {
			break
		}
		if err := s.succession(ctx, "the release", old, at, s.poll()); err != nil {
			return err
		}
		if err := sleep(ctx, beat(s.ttl)/2); err != nil {
			return err
		}
	}
	r, err := s.mutex.Observe(ctx)
	s.seen.free = err == nil && r.State == backends.Free
	s.teller.say("nobody is left; the lease is %v", r.State)
	return err
}

// succession waits for the next leader.
func (s *story) succession(ctx context.Context, event string, old term, at, limit time.Duration) error {
	t, err := s.stage.leader(ctx, old)
	if err != nil {
		return err
	}
	h := handover{event, t.from - at, limit}
	s.teller.say("  that is %.2f s after %s", h.took.Seconds(), event)
	s.seen.handovers = append(s.seen.handovers, h)
	return nil
}

// expiry is how long a successor may take that has to wait for the end of a lease,
// and poll for one that has to wait for its next look. A second is for the
// machine, which may be busy.
func (s *story) expiry() time.Duration { return s.ttl + s.poll() }

func (s *story) poll() time.Duration { return s.mutex.Options().Poll*6/5 + time.Second }

func (s *story) leaves(worker string) {
	s.alive = slices.DeleteFunc(s.alive, func(w string) bool { return w == worker })
}

// beat is the pace of the story: that of the lease, unless that is a slow one.
func beat(ttl time.Duration) time.Duration { return min(ttl, 8*time.Second) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
