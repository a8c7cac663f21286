package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// What becomes of an acquisition whose outcome nobody learnt.
var abandonedChecks = []check{
	{"AnUnknownAcquisitionIsNoSuccess", anUnknownAcquisitionIsNoSuccess},
	{"AnAbandonedAcquisitionIsTakenOverAtOnceByItsClient", anAbandonedAcquisitionIsTakenOverAtOnceByItsClient},
	{"AnAbandonedAcquisitionHoldsOffOthers", anAbandonedAcquisitionHoldsOffOthers},
	{"AnAbandonedAcquisitionIsOnlyACondition", anAbandonedAcquisitionIsOnlyACondition},
	{"AnUnconfirmedGrantIsNoTitle", anUnconfirmedGrantIsNoTitle},
	{"ReleasingAnUnconfirmedGrantFreesWhatWasWritten", releasingAnUnconfirmedGrantFreesWhatWasWritten},
	{"ReleasingAnUnconfirmedGrantStopsWhatIsUnderWay", releasingAnUnconfirmedGrantStopsWhatIsUnderWay},
	{"ReleasingAnUnconfirmedGrantLeavesOthersAlone", releasingAnUnconfirmedGrantLeavesOthersAlone},
}

// eachAbandoned calls f for every fate of an acquisition, of a new name and of
// a free one.
func (t *trial) eachAbandoned(f func(name, why string, s Schedule)) {
	t.Helper()
	t.eachUnsettled(t.Budget.First, f)
	t.eachUnsettled(t.Budget.Cold, func(name, why string, s Schedule) {
		name = "free-" + name
		b, g := t.term(name)
		t.release(b, g)
		f(name, why+", of a free record", s)
	})
}

// abandon acquires name without learning what came of it.
func (t *trial) abandon(b backends.Backend, name, why string, s Schedule) (g backends.Grant) {
	t.Helper()
	t.during(s, func() {
		var err error
		g, err = b.Acquire(t.Context(), name, t.claim("abandoned"))
		t.open(err, why)
		require.NotNil(t, g.Proof, "%s: the grant says what may have been written", why)
		require.Equal(t, name, g.Name, why)
	})
	return g
}

func anUnknownAcquisitionIsNoSuccess(t *trial) {
	t.eachAbandoned(func(name, why string, s Schedule) { t.abandon(t.New(), name, why, s) })
}

func anAbandonedAcquisitionIsTakenOverAtOnceByItsClient(t *trial) {
	t.eachAbandoned(func(name, why string, s Schedule) {
		b := t.New()
		old := t.abandon(b, name, why, s)
		older := t.abandon(b, name, why, blind(1, LostAfter()))
		g, err := b.Acquire(t.Context(), name, t.claim("holder"))
		require.NoError(t, err, why)
		require.NotEqual(t, old.ID, g.ID, why)
		require.NotEqual(t, older.ID, g.ID, why)
		require.Greater(t, g.Token, old.Token, why)
		require.Greater(t, g.Token, older.Token, why)
		t.isRecord(g, why)
		t.held(b, name, "this term was granted")
	})
}

func anAbandonedAcquisitionHoldsOffOthers(t *trial) {
	t.needFaults()
	b, other := t.New(), t.New()
	old := t.abandon(b, "job", "applied, no answer", blind(t.Budget.First.Writes, LostAfter()))
	t.held(other, "job", "it cannot know that nobody was granted this term")
	time.Sleep(t.patience(t.ttl()))
	g := t.acquire(other, "job")
	require.Greater(t, g.Token, old.Token)
	t.held(b, "job", "what it abandoned is gone")
	t.intact(other, g, "it was taken over")
}

// It may have been sent long ago: a deadline that counts from the later call
// would be too late.
func anAbandonedAcquisitionIsOnlyACondition(t *trial) {
	t.eachAbandoned(func(name, why string, s Schedule) {
		b := t.New()
		t.abandon(b, name, why, s)
		silent := Always(LostBefore()).Where(Request.Writes)
		t.abandon(b, name, why+"; then no write of the later call arrived", silent)
		t.isRecord(t.acquire(b, name), why)
	})
}

func anUnconfirmedGrantIsNoTitle(t *trial) {
	t.eachAbandoned(func(name, why string, s Schedule) {
		b := t.New()
		g := t.abandon(b, name, why, s)
		_, err := b.Renew(t.Context(), g)
		require.Error(t, err, why)
	})
}

func releasingAnUnconfirmedGrantFreesWhatWasWritten(t *trial) {
	t.eachAbandoned(func(name, why string, s Schedule) {
		b := t.New()
		g := t.abandon(b, name, why, s)
		t.release(b, g)
		require.Equal(t, backends.Free, t.look(name).State, why)
		t.release(b, g)
		next := t.acquire(t.New(), name)
		require.Greater(t, next.Token, g.Token, why)
	})
}

func releasingAnUnconfirmedGrantStopsWhatIsUnderWay(t *trial) {
	t.eachLate(func(name string, n int) {
		b := t.New()
		g := t.delayed(b, name, n, t.ttl())
		t.release(b, g)
		require.Equal(t, backends.Free, t.look(name).State)
		time.Sleep(t.ttl() + t.grain())
		require.Equal(t, backends.Free, t.look(name).State, "it arrived after its release")
		require.Greater(t, t.acquire(t.New(), name).Token, g.Token)
	})
}

func releasingAnUnconfirmedGrantLeavesOthersAlone(t *trial) {
	t.eachLate(func(name string, n int) {
		b := t.New()
		g := t.delayed(b, name, n, t.ttl()/3)
		other := t.New()
		next, err := other.Acquire(t.Context(), name, t.claim("other"))
		if err != nil { // a write before the delayed one has already kept others out
			require.ErrorIs(t, err, backends.ErrHeld)
			require.Greater(t, n, 1)
			return
		}
		require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
		t.isRecord(next, "somebody else has released")
		time.Sleep(t.ttl()/3 + t.grain())
		t.intact(other, next, "the late acquisition has arrived")
	})
}
