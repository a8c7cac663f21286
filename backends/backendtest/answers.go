package backendtest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

// What becomes of a write whose answer is lost, or wrong.
var answerChecks = []check{
	{"ALostAcquisitionIsRecognised", aLostAcquisitionIsRecognised},
	{"ALostRenewalIsRecognised", aLostRenewalIsRecognised},
	{"ALostReleaseIsRecognised", aLostReleaseIsRecognised},
	{"AnUnknownRenewalIsNoSuccess", anUnknownRenewalIsNoSuccess},
	{"AnOwnWriteOfAnEarlierRenewalIsOnlyACondition", anOwnWriteOfAnEarlierRenewalIsOnlyACondition},
	{"ManyUnknownRenewalsDoNotEndTheTerm", manyUnknownRenewalsDoNotEndTheTerm},
	{"AnUnknownReleaseIsResolvedByTheNext", anUnknownReleaseIsResolvedByTheNext},
	{"ARefusedReleaseIsResolved", aRefusedReleaseIsResolved},
	{"AReleaseThatWasOvertakenIsDone", aReleaseThatWasOvertakenIsDone},
}

// single are the faults of one request that a call recovers from by itself.
var single = []struct {
	name string
	Fault
}{
	{"the request was lost", LostBefore()},
	{"the answer was lost", LostAfter()},
	{"it was refused, though applied", Conflict()},
	{"it was refused, though nothing had changed", Refused(cas.ErrConflict)},
	{"it arrived twice", Twice(0)},
}

// eachFault calls f for every fault of every writing request of an act, with
// another lease's name each time.
func (t *trial) eachFault(act Count, f func(name, why string, n int, fault Fault)) {
	t.Helper()
	t.needFaults()
	for n := 1; n <= act.Writes; n++ {
		for i, s := range single {
			f(fmt.Sprintf("job-%d-%d", n, i), fmt.Sprintf("%s (write %d)", s.name, n), n, s.Fault)
		}
	}
}

func nthWrite(n int, f Fault) Schedule { return Nth(n, f).Where(Request.Writes) }

func aLostAcquisitionIsRecognised(t *trial) {
	t.eachFault(t.Budget.First, func(name, why string, n int, f Fault) {
		b := t.New()
		t.during(nthWrite(n, f), func() {
			g, err := b.Acquire(t.Context(), name, t.claim("holder"))
			require.NoError(t, err, why)
			t.isRecord(g, why)
			t.release(b, t.intact(b, g, why))
		})
		cold := t.New()
		t.during(nthWrite(n, f), func() {
			g, err := cold.Acquire(t.Context(), name, t.claim("holder"))
			require.NoError(t, err, why)
			t.isRecord(g, why)
		})
	})
}

// isRecord makes sure that the record is that of g, as last written.
func (t *trial) isRecord(g backends.Grant, why string) {
	t.Helper()
	r := t.look(g.Name)
	require.Equal(t, backends.Held, r.State, why)
	require.Equal(t, g.ID, r.ID, why)
	require.Equal(t, g.Token, r.Token, why)
	require.Equal(t, g.Version, r.Version, why)
}

func aLostRenewalIsRecognised(t *trial) {
	t.eachFault(t.Budget.Renew, func(name, why string, n int, f Fault) {
		b, g := t.term(name)
		t.during(nthWrite(n, f), func() {
			next, err := b.Renew(t.Context(), g)
			require.NoError(t, err, why)
			require.Equal(t, g.Token, next.Token, why)
			t.isRecord(next, why)
			g = next
		})
		t.release(b, t.renew(b, g))
	})
}

func aLostReleaseIsRecognised(t *trial) {
	t.eachFault(t.Budget.Done, func(name, why string, n int, f Fault) {
		b, g := t.term(name)
		g.Done = "all"
		t.during(nthWrite(n, f), func() {
			require.NoError(t, b.Release(t.Context(), g), why)
		})
		r := t.look(name)
		require.Equal(t, backends.Free, r.State, why)
		require.Equal(t, "all", r.Done, why)
		t.acquire(t.New(), name)
	})
}

// unsettled are the fates of a write that a client cannot find out about.
var unsettled = []struct {
	name string
	Fault
}{
	{"never arrived", LostBefore()},
	{"applied, no answer", LostAfter()},
	{"applied, but refused", Conflict()},
}

// eachUnsettled calls f for every fate of every writing request of an act.
func (t *trial) eachUnsettled(act Count, f func(name, why string, s Schedule)) {
	t.Helper()
	t.needFaults()
	for n := 1; n <= act.Writes; n++ {
		for i, s := range unsettled {
			f(fmt.Sprintf("job-%d-%d", n, i), fmt.Sprintf("%s (write %d)", s.name, n), blind(n, s.Fault))
		}
	}
}

// renewUnsettled renews without learning what came of it.
func (t *trial) renewUnsettled(b backends.Backend, g backends.Grant, s Schedule, why string) backends.Grant {
	t.Helper()
	t.during(s, func() {
		next, err := b.Renew(t.Context(), g)
		t.open(err, why)
		g = next
	})
	return g
}

func anUnknownRenewalIsNoSuccess(t *trial) {
	t.eachUnsettled(t.Budget.Renew, func(name, why string, s Schedule) {
		b, g := t.term(name)
		token := g.Token
		g = t.renewUnsettled(b, g, s, why)
		g = t.intact(b, g, why)
		require.Equal(t, token, g.Token, why)
		t.isRecord(g, why)
		g = t.renewUnsettled(b, g, blind(1, LostAfter()), why)
		t.release(b, g)
		require.Equal(t, backends.Free, t.look(name).State, why)
	})
}

// A renewal is worth as long as the TTL from when it was first sent. What is
// found of an earlier call was sent earlier.
func anOwnWriteOfAnEarlierRenewalIsOnlyACondition(t *trial) {
	t.eachUnsettled(t.Budget.Renew, func(name, why string, s Schedule) {
		b, g := t.term(name)
		g = t.renewUnsettled(b, g, s, why)
		silent := Always(LostBefore()).Where(Request.Writes)
		for range 2 {
			g = t.renewUnsettled(b, g, silent, why+"; then no write of the later call arrived")
		}
		t.release(b, t.intact(b, g, why))
	})
}

func manyUnknownRenewalsDoNotEndTheTerm(t *trial) {
	t.needFaults()
	b, g := t.term("job")
	for i := range 40 {
		g = t.renewUnsettled(b, g, blind(1, unsettled[i%len(unsettled)].Fault), "a long failure")
	}
	g = t.intact(b, g, "a long failure")
	t.isRecord(g, "a long failure")
}

func anUnknownReleaseIsResolvedByTheNext(t *trial) {
	t.eachUnsettled(t.Budget.Done, func(name, why string, s Schedule) {
		b, g := t.term(name)
		g.Done = "all"
		t.during(s, func() { t.open(b.Release(t.Context(), g), why) })
		require.NoError(t, b.Release(t.Context(), g), why)
		r := t.look(name)
		require.Equal(t, backends.Free, r.State, why)
		require.Equal(t, "all", r.Done, why)
		require.NoError(t, b.Release(t.Context(), g), "%s; and once more", why)
	})
}

// The record is another than the holder wrote last, but its own.
func aRefusedReleaseIsResolved(t *trial) {
	b, g := t.term("job")
	t.annotate("job")
	g.Done = "all"
	t.release(b, g)
	r := t.look("job")
	require.Equal(t, backends.Free, r.State)
	require.Equal(t, "all", r.Done)
	t.needFaults()

	g = t.acquire(b, "job")
	t.annotate("job")
	t.during(nthWrite(1, LostBefore()), func() { t.release(b, g) })
	require.Equal(t, backends.Free, t.look("job").State)
}

// Its release was applied, and before it learns of that, another term begins.
func aReleaseThatWasOvertakenIsDone(t *trial) {
	t.needFaults()
	b, g := t.term("job")
	t.during(blind(t.Budget.Release.Writes, LostAfter()), func() {
		t.open(b.Release(t.Context(), g), "it has no answer")
	})
	other := t.New()
	next := t.acquire(other, "job")
	// It cannot tell any more whether its release was the last word.
	if err := b.Release(t.Context(), g); err != nil {
		require.ErrorIs(t, err, backends.ErrLost)
	}
	t.intact(other, next, "an old release was repeated")
}
