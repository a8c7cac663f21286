package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// When a lease may be taken over.
var takeoverChecks = []check{
	{"ADeadHoldersLeaseIsTakenOverAtTheFirstLook", aDeadHoldersLeaseIsTakenOverAtTheFirstLook},
	{"ADeadHoldersLeaseIsTakenOverByWatching", aDeadHoldersLeaseIsTakenOverByWatching},
	{"AFirstLookThatProvesNothingTakesNothingOver", aFirstLookThatProvesNothingTakesNothingOver},
	{"TheStopwatchCountsFromTheAnswer", theStopwatchCountsFromTheAnswer},
	{"ARenewalRestartsTheStopwatch", aRenewalRestartsTheStopwatch},
	{"AForeignEditRestartsTheStopwatch", aForeignEditRestartsTheStopwatch},
	{"TheRecordsLongerTTLIsHonoured", theRecordsLongerTTLIsHonoured},
	{"TheContendersLongerTTLIsHonoured", theContendersLongerTTLIsHonoured},
	{"ARenewingHolderIsNeverTakenOver", aRenewingHolderIsNeverTakenOver},
}

// dead is a term whose holder does nothing more, and when it was written.
func (t *trial) dead(name string, ttl time.Duration) (g backends.Grant, written span) {
	t.Helper()
	written = timed(func() {
		g = t.acquireAs(t.New(), name, backends.Claim{Holder: "dead", TTL: ttl})
	})
	return g, written
}

// watch is the first look of b at name, which is held.
func (t *trial) watch(b backends.Backend, name string, c backends.Claim) span {
	t.Helper()
	return timed(func() { t.heldFor(b, name, c, "its time is not up") })
}

func aDeadHoldersLeaseIsTakenOverAtTheFirstLook(t *trial) {
	t.need(t.FirstLook != nil, "FirstLook")
	g, written := t.dead("job", t.ttl())
	w, _ := t.takeover(t.ttl(), t.ttl(), written, span{})
	t.until(w.from.Add(-t.grain()))
	t.held(t.New(), "job", "it is too early to take over")
	t.until(w.to.Add(t.grain()))
	require.Greater(t, t.acquire(t.New(), "job").Token, g.Token)
}

func aDeadHoldersLeaseIsTakenOverByWatching(t *trial) {
	t.need(t.Watching != nil, "Watching")
	g, written := t.dead("job", t.ttl())
	time.Sleep(t.ttl() / 3)
	c := t.New()
	seen := t.watch(c, "job", t.claim("contender"))
	w, _ := t.takeover(t.ttl(), t.ttl(), written, seen)
	next := t.takenOver(c, "job", t.claim("contender"), w)
	require.Greater(t, next.Token, g.Token)
}

func aFirstLookThatProvesNothingTakesNothingOver(t *trial) {
	t.dead("job", t.ttl())
	if t.FirstLook != nil {
		t.undated()
	}
	for range 3 {
		time.Sleep(t.ttl())
		t.held(t.New(), "job", "who looks for the first time cannot know")
	}
}

// undated makes the store give no dates, so that only watching counts.
func (t *trial) undated() {
	t.Helper()
	t.need(t.Redate != nil, "Redate")
	t.Redate(func(string, time.Time, time.Time) (modified, now time.Time) { return })
	t.FirstLook = nil
}

func theStopwatchCountsFromTheAnswer(t *trial) {
	t.need(t.Watching != nil, "Watching")
	t.needFaults()
	if t.FirstLook != nil {
		t.undated()
	}
	_, written := t.dead("job", t.ttl())
	c := t.New()
	var seen span
	t.during(Always(DelayedAfter(t.ttl()/2)), func() {
		seen = t.watch(c, "job", t.claim("contender"))
	})
	seen.from = seen.to.Add(-t.grain())
	w, _ := t.takeover(t.ttl(), t.ttl(), written, seen)
	t.takenOver(c, "job", t.claim("contender"), w)
}

func aRenewalRestartsTheStopwatch(t *trial) {
	b := t.New()
	t.restarts(b, t.acquire(b, "job"), func(g backends.Grant) { t.renew(b, g) })
}

func aForeignEditRestartsTheStopwatch(t *trial) {
	t.need(t.Watching != nil, "Watching")
	b := t.New()
	t.restarts(b, t.acquire(b, "job"), func(backends.Grant) { t.annotate("job") })
}

// restarts makes sure that a contender waits anew after a change, even one that
// it learns of late.
func (t *trial) restarts(b backends.Backend, g backends.Grant, change func(backends.Grant)) {
	t.Helper()
	contender := t.New()
	start := t.watch(contender, "job", t.claim("contender"))
	time.Sleep(t.ttl() / 2)
	written := timed(func() { change(g) })
	t.until(start.to.Add(t.patience(t.ttl()) - t.ttl()/4))
	if t.FirstLook != nil {
		t.until(written.from.Add(t.FirstLook(t.ttl(), t.ttl()).NotBefore - t.ttl()/10))
	}
	seen := t.watch(contender, "job", t.claim("contender"))
	w, _ := t.takeover(t.ttl(), t.ttl(), written, seen)
	t.takenOver(contender, "job", t.claim("contender"), w)
	t.over(b, g, "it was taken over")
}

func theRecordsLongerTTLIsHonoured(t *trial) {
	t.differing(t.longer(), t.ttl())
}

func theContendersLongerTTLIsHonoured(t *trial) {
	t.differing(t.ttl(), t.longer())
}

func (t *trial) differing(record, own time.Duration) {
	t.Helper()
	require.NotEqual(t, record, own)
	_, written := t.dead("job", record)
	c := t.New()
	claim := backends.Claim{Holder: "contender", TTL: own}
	seen := t.watch(c, "job", claim)
	w, ok := t.takeover(record, own, written, seen)
	require.True(t, ok)
	g := t.takenOver(c, "job", claim, w)
	require.Equal(t, own, g.TTL)
	require.Equal(t, own, t.look("job").TTL)
}

func aRenewingHolderIsNeverTakenOver(t *trial) {
	b, g := t.term("job")
	watcher := t.New()
	for range 30 {
		time.Sleep(t.ttl() * 9 / 10)
		t.held(watcher, "job", "it was written less than a TTL ago")
		t.held(t.New(), "job", "it was written less than a TTL ago")
		g = t.renew(b, g)
	}
}
