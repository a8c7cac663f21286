package backendtest

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// What arrives late, twice, or from the past.
var lateChecks = []check{
	{"ALateAcquisitionIsRefused", aLateAcquisitionIsRefused},
	{"ALateRenewalDoesNotUndoATakeover", aLateRenewalDoesNotUndoATakeover},
	{"ALateRenewalDoesNotUndoTheRelease", aLateRenewalDoesNotUndoTheRelease},
	{"ALateReleaseDoesNotFreeTheNextTerm", aLateReleaseDoesNotFreeTheNextTerm},
	{"ALateDuplicateDoesNothing", aLateDuplicateDoesNothing},
	{"AStaleReadDoesNotMakeTwoHolders", aStaleReadDoesNotMakeTwoHolders},
	{"AStoreThatHangsDoesNotHoldTheCaller", aStoreThatHangsDoesNotHoldTheCaller},
}

// eachLate calls f for each write of an acquisition, with a new name and with
// that of a free record.
func (t *trial) eachLate(f func(name string, n int)) {
	t.Helper()
	t.needFaults()
	for n := 1; n <= t.Budget.First.Writes; n++ {
		f(fmt.Sprint("new-", n), n)
	}
	for n := 1; n <= t.Budget.Cold.Writes; n++ {
		name := fmt.Sprint("free-", n)
		b, g := t.term(name)
		t.release(b, g)
		f(name, n)
	}
}

// delayed acquires name, but the n-th write arrives after d only, when the
// caller has long given up.
func (t *trial) delayed(b backends.Backend, name string, n int, d time.Duration) (g backends.Grant) {
	t.Helper()
	t.during(nthWrite(n, DelayedBefore(d)), func() {
		ctx, cancel := t.within(d / 2)
		defer cancel()
		var err error
		g, err = b.Acquire(ctx, name, t.claim("late"))
		t.open(err, "its write is under way")
	})
	return g
}

func aLateAcquisitionIsRefused(t *trial) {
	t.eachLate(func(name string, n int) {
		if n > 1 {
			return // the writes before it keep others out
		}
		t.delayed(t.New(), name, n, t.ttl()/3)
		b, g := t.term(name)
		time.Sleep(t.ttl()/3 + t.grain())
		t.isRecord(g, "another's write has arrived")
		t.intact(b, g, "another's write has arrived")
	})
}

// renewLate renews, but the write arrives after d only.
func (t *trial) renewLate(b backends.Backend, g backends.Grant, d time.Duration) backends.Grant {
	t.Helper()
	t.during(nthWrite(1, DelayedBefore(d)), func() {
		ctx, cancel := t.within(t.ttl() / 6)
		defer cancel()
		next, err := b.Renew(ctx, g)
		t.open(err, "its write is under way")
		g = next
	})
	return g
}

func aLateRenewalDoesNotUndoATakeover(t *trial) {
	t.needFaults()
	b, old := t.term("job")
	delay := t.patience(t.ttl()) + t.ttl()/2
	var g backends.Grant
	c := t.New()
	late := timed(func() { old = t.renewLate(b, old, delay) })
	g = t.expire(c, "job")
	t.until(late.to.Add(delay + t.grain()))
	t.isRecord(g, "the old holder's renewal has arrived")
	t.intact(c, g, "the old holder's renewal has arrived")
	t.over(b, old, "it was taken over")
}

func aLateRenewalDoesNotUndoTheRelease(t *trial) {
	t.needFaults()
	b, g := t.term("job")
	g = t.renewLate(b, g, t.ttl()/2)
	t.release(b, g)
	time.Sleep(t.ttl() / 2)
	require.Equal(t, backends.Free, t.look("job").State, "a renewal has arrived late")
}

func aLateReleaseDoesNotFreeTheNextTerm(t *trial) {
	t.needFaults()
	b, g := t.term("job")
	t.during(nthWrite(1, DelayedBefore(t.ttl()/2)), func() {
		ctx, cancel := t.within(t.ttl() / 6)
		defer cancel()
		t.open(b.Release(ctx, g), "its write is under way")
	})
	t.release(b, g)
	c := t.New()
	next := t.acquire(c, "job")
	time.Sleep(t.ttl() / 2)
	t.isRecord(next, "an old release has arrived late")
	t.intact(c, next, "an old release has arrived late")
}

func aLateDuplicateDoesNothing(t *trial) {
	t.needFaults()
	d := t.ttl() / 3
	twice := Always(Twice(d)).Where(Request.Writes)
	b := t.New()
	var g backends.Grant
	t.during(twice, func() { g = t.acquire(b, "acquire") })
	t.release(b, g)
	time.Sleep(d + t.grain())
	require.Equal(t, backends.Free, t.look("acquire").State, "an acquisition has arrived again")

	g = t.acquire(b, "renew")
	t.during(twice, func() { g = t.renew(b, g) })
	t.release(b, g)
	time.Sleep(d + t.grain())
	require.Equal(t, backends.Free, t.look("renew").State, "a renewal has arrived again")

	g = t.acquire(b, "release")
	t.during(twice, func() { t.release(b, g) })
	c := t.New()
	g = t.acquire(c, "release")
	time.Sleep(d + t.grain())
	t.isRecord(g, "a release has arrived again")
	t.intact(c, g, "a release has arrived again")
}

var stale = Always(StaleRead()).Where(Request.Reads)

func aStaleReadDoesNotMakeTwoHolders(t *trial) {
	t.needFaults()
	b, g := t.term("job")
	t.release(b, g)
	t.look("job") // so that there is an old answer, which says that it is free
	g = t.acquire(b, "job")
	for _, s := range []Schedule{stale, Nth(1, StaleRead()).Where(Request.Reads)} {
		t.during(s, func() {
			_, err := t.New().Acquire(t.Context(), "job", t.claim("contender"))
			require.Error(t, err, "a cache says that it is free")
		})
		t.isRecord(g, "a contender has read from a cache")
	}
	t.intact(b, g, "a contender has read from a cache")
}

func aStoreThatHangsDoesNotHoldTheCaller(t *trial) {
	t.needFaults()
	b, g := t.term("job")
	acts := map[string]func(context.Context) error{
		"acquire": func(ctx context.Context) error {
			_, err := b.Acquire(ctx, "other", t.claim("holder"))
			return err
		},
		"observe": func(ctx context.Context) error {
			_, err := b.Observe(ctx, "job")
			return err
		},
		"renew": func(ctx context.Context) (err error) {
			g, err = b.Renew(ctx, g)
			return err
		},
		"release": func(ctx context.Context) error { return b.Release(ctx, g) },
	}
	for _, f := range []Fault{Hung(), HungAfter()} {
		for what, act := range acts {
			t.during(Always(f), func() { t.bounded(what, act) })
		}
	}
}

// bounded makes sure that act ends with its context, and no sooner.
func (t *trial) bounded(what string, act func(context.Context) error) {
	t.Helper()
	limit := t.ttl() / 6
	took := timed(func() {
		ctx, cancel := t.within(limit)
		defer cancel()
		t.open(act(ctx), what)
	})
	require.GreaterOrEqual(t, took.to.Sub(took.from), limit, what)
	require.LessOrEqual(t, took.to.Sub(took.from), limit+t.grain(), what)
}
