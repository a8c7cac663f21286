package backendtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// A trial is one check under way.
type trial struct {
	*testing.T
	*World
	bubble  bool
	limits  backends.Limits
	races   int
	lacking string // why it was skipped
}

// need skips the check if the World lacks something.
func (t *trial) need(has bool, what string) {
	t.Helper()
	if !has {
		t.lacking = "the harness has no " + what
		t.Skip(t.lacking)
	}
}

// allow skips the check if an operator's act was refused.
func (t *trial) allow(err error) {
	t.Helper()
	if err != nil {
		t.lacking = fmt.Sprintf("the harness cannot do that: %v", err)
		t.Skip(t.lacking)
	}
}

func (t *trial) needFaults() { t.Helper(); t.need(t.Faults != nil, "Faults") }
func (t *trial) needRead()   { t.Helper(); t.need(t.Read != nil, "Read") }

// ttl is the TTL of most checks: long in a bubble, where waiting is free, so that
// what is wrong by a part of it shows.
func (t *trial) ttl() time.Duration {
	l := t.limits
	want := l.MinTTL
	if t.bubble {
		want = min(max(30*time.Second, l.MinTTL), l.MaxTTL)
	}
	return l.MinTTL + roundUp(want-l.MinTTL, l.Step)
}

// longer is another TTL, twice as long if that is allowed.
func (t *trial) longer() time.Duration {
	l := t.limits
	return t.ttl() + roundUp(min(t.ttl(), l.MaxTTL-t.ttl()-l.Step), l.Step)
}

func roundUp(d, step time.Duration) time.Duration {
	if step <= 0 || d%step == 0 {
		return d
	}
	return d + step - d%step
}

// grain is how exactly the check can tell the time.
func (t *trial) grain() time.Duration {
	if t.bubble {
		return time.Millisecond
	}
	return 250 * time.Millisecond
}

func (t *trial) claim(holder string) backends.Claim {
	return backends.Claim{Holder: holder, TTL: t.ttl()}
}

// acquire starts a term of name, which nobody must hold.
func (t *trial) acquire(b backends.Backend, name string) backends.Grant {
	t.Helper()
	return t.acquireAs(b, name, t.claim("holder"))
}

func (t *trial) acquireAs(b backends.Backend, name string, c backends.Claim) backends.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), name, c)
	require.NoError(t, err, "acquire %q", name)
	require.NotZero(t, g.Token)
	return g
}

// term starts a term of name by a new client.
func (t *trial) term(name string) (backends.Backend, backends.Grant) {
	t.Helper()
	b := t.New()
	return b, t.acquire(b, name)
}

func (t *trial) renew(b backends.Backend, g backends.Grant) backends.Grant {
	t.Helper()
	next, err := b.Renew(t.Context(), g)
	require.NoError(t, err, "renew %q", g.Name)
	require.Equal(t, g.Token, next.Token, "the token is that of the term")
	return next
}

func (t *trial) release(b backends.Backend, g backends.Grant) {
	t.Helper()
	require.NoError(t, b.Release(t.Context(), g), "release %q", g.Name)
}

func (t *trial) observe(b backends.Backend, name string) backends.Record {
	t.Helper()
	r, err := b.Observe(t.Context(), name)
	require.NoError(t, err, "observe %q", name)
	return r
}

// look observes by a new client, one that nothing has told before.
func (t *trial) look(name string) backends.Record {
	t.Helper()
	return t.observe(t.New(), name)
}

// held makes sure that b may not have name now.
func (t *trial) held(b backends.Backend, name string, why string) backends.Record {
	t.Helper()
	return t.heldFor(b, name, t.claim("contender"), why)
}

func (t *trial) heldFor(b backends.Backend, name string, c backends.Claim, why string) backends.Record {
	t.Helper()
	_, err := b.Acquire(t.Context(), name, c)
	require.ErrorIs(t, err, backends.ErrHeld, why)
	var held *backends.HeldError
	require.ErrorAs(t, err, &held)
	return held.Record
}

// intact makes sure that the term of g goes on.
func (t *trial) intact(b backends.Backend, g backends.Grant, why string) backends.Grant {
	t.Helper()
	r := t.look(g.Name)
	require.Equal(t, backends.Held, r.State, why)
	require.Equal(t, g.Token, r.Token, why)
	next, err := b.Renew(t.Context(), g)
	require.NoError(t, err, why)
	return next
}

// over makes sure that the term of g cannot be used any more, and that trying
// changes nothing.
func (t *trial) over(b backends.Backend, g backends.Grant, why string) {
	t.Helper()
	before := t.stored(g.Name)
	_, err := b.Renew(t.Context(), g)
	require.ErrorIs(t, err, backends.ErrLost, "renew: %s", why)
	require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost, "release: %s", why)
	require.Equal(t, before, t.stored(g.Name), why)
}

// stored is the stored form of name, if it can be read.
func (t *trial) stored(name string) []byte {
	if t.Read == nil {
		return nil
	}
	return t.Read(name)
}

// open makes sure that err leaves the outcome unknown.
func (t *trial) open(err error, why string) {
	t.Helper()
	require.Error(t, err, why)
	require.NotErrorIs(t, err, backends.ErrLost, why)
	require.NotErrorIs(t, err, backends.ErrHeld, why)
}

// during runs f under a schedule.
func (t *trial) during(s Schedule, f func()) {
	t.Helper()
	t.Faults(s)
	defer t.Faults(nil)
	f()
}

// blind does f to the n-th writing request. From then on nothing gets through.
func blind(n int, f Fault) Schedule {
	return func(r Request) Fault {
		if n <= 0 {
			return LostBefore()
		}
		if r.Writes() {
			n--
		}
		if n == 0 {
			return f
		}
		return Fault{}
	}
}

// cost is how many requests f takes.
func (t *trial) cost(f func()) Count {
	t.Helper()
	before := t.Count()
	f()
	return t.Count().Since(before)
}

// A span is when something happened: at some time in between.
type span struct{ from, to time.Time }

func timed(f func()) span {
	from := time.Now()
	f()
	return span{from, time.Now()}
}

// takeover is the window in which a client may take over the lease of a term
// that was last written at written, and that it first saw at seen. The zero
// span means never.
func (t *trial) takeover(record, own time.Duration, written, seen span) (w span, ok bool) {
	for _, rule := range []struct {
		Takeover
		span
	}{{t.FirstLook, written}, {t.Watching, seen}} {
		if rule.Takeover == nil || rule.from.IsZero() {
			continue
		}
		d := rule.Takeover(record, own)
		require.GreaterOrEqual(t, d.NotBefore, record, "the harness allows takeovers within the TTL")
		next := span{rule.from.Add(d.NotBefore), rule.to.Add(d.By)}
		if !ok {
			w, ok = next, true
			continue
		}
		w = span{earlier(w.from, next.from), earlier(w.to, next.to)}
	}
	return w, ok
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// takenOver makes sure that b cannot have name before the window, but can
// after it.
func (t *trial) takenOver(b backends.Backend, name string, c backends.Claim, w span) backends.Grant {
	t.Helper()
	t.until(w.from.Add(-t.grain()))
	t.heldFor(b, name, c, "it is too early to take over")
	t.until(w.to.Add(t.grain()))
	return t.acquireAs(b, name, c)
}

// until waits.
func (t *trial) until(at time.Time) { time.Sleep(time.Until(at)) }

// patience is how long a client has to watch before it takes over any lease
// with the usual TTL.
func (t *trial) patience(ttl time.Duration) time.Duration {
	rule := t.Watching
	if rule == nil {
		rule = t.FirstLook
	}
	return rule(ttl, ttl).By + t.grain()
}

// expire lets the term of name run out, and takes it over by b.
func (t *trial) expire(b backends.Backend, name string) backends.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), name, t.claim("successor"))
	if err == nil {
		return g
	}
	require.ErrorIs(t, err, backends.ErrHeld)
	time.Sleep(t.patience(t.ttl()))
	return t.acquireAs(b, name, t.claim("successor"))
}

// within is a context that ends after d.
func (t *trial) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// retryAfter returns the time that the store asked for.
func retryAfter(err error) (time.Duration, bool) {
	var retry *backends.RetryError
	if !errors.As(err, &retry) {
		return 0, false
	}
	return retry.After, true
}
