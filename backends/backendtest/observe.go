package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var observeChecks = []check{
	{"ANameNeverUsedIsFree", aNameNeverUsedIsFree},
	{"ObservingTellsOfTheTerm", observingTellsOfTheTerm},
	{"ObservingNeverWrites", observingNeverWrites},
	{"ObservingNeverContends", observingNeverContends},
	{"AnExpiredTermIsObservedAsFree", anExpiredTermIsObservedAsFree},
	{"TheAgeCountsFromTheLastWrite", theAgeCountsFromTheLastWrite},
	{"LeftIsHowLongToWait", leftIsHowLongToWait},
	{"ObservingTellsTheStoresTime", observingTellsTheStoresTime},
}

func aNameNeverUsedIsFree(t *trial) {
	r := t.look("job")
	require.Equal(t, backends.Free, r.State)
	require.Zero(t, r.Token)
	require.Empty(t, r.Holder)
	require.Empty(t, r.Version)
	require.Zero(t, r.Left)
	if t.Read != nil {
		require.Nil(t, t.Read("job"), "looking has created it")
	}
}

func observingTellsOfTheTerm(t *trial) {
	b := t.New()
	c := t.claim("somebody")
	c.Meta = map[string]string{"zone": "a"}
	g := t.acquireAs(b, "job", c)
	for _, observer := range []backends.Backend{b, t.New()} {
		r := t.observe(observer, "job")
		require.Equal(t, backends.Held, r.State)
		require.Equal(t, "somebody", r.Holder)
		require.Equal(t, g.ID, r.ID)
		require.Equal(t, g.Token, r.Token)
		require.Equal(t, g.TTL, r.TTL)
		require.Equal(t, g.Version, r.Version)
		require.Equal(t, c.Meta, r.Meta)
	}
	t.release(b, g)
	r := t.look("job")
	require.Equal(t, backends.Free, r.State)
	require.Equal(t, "somebody", r.Holder, "the last holder")
	require.Equal(t, g.Token, r.Token)
	require.Zero(t, r.Left)
}

// states brings a lease into each of its states, and calls f in it.
func (t *trial) states(f func(state string)) {
	f("never used")
	b, g := t.term("job")
	f("held")
	t.release(b, g)
	f("free")
	t.acquire(b, "job")
	time.Sleep(2 * t.patience(t.ttl()))
	f("expired")
}

func observingNeverWrites(t *trial) {
	observer := t.New()
	t.states(func(state string) {
		before := t.stored("job")
		for _, b := range []backends.Backend{observer, t.New()} {
			cost := t.cost(func() {
				t.observe(b, "job")
				t.observe(b, "job")
			})
			require.Zero(t, cost.Writes, "observing what is %s", state)
		}
		require.Equal(t, before, t.stored("job"), "observing what is %s", state)
	})
}

func observingNeverContends(t *trial) {
	b, g := t.term("job")
	observer := t.New()
	for range 20 {
		time.Sleep(t.ttl() / 4)
		t.observe(observer, "job")
		g = t.renew(b, g)
	}
	t.observe(observer, "job")
	time.Sleep(t.patience(t.ttl()))
	t.observe(observer, "job")
	t.release(b, g) // it was free for the observer, but not taken
}

func anExpiredTermIsObservedAsFree(t *trial) {
	_, g := t.term("job")
	observer := t.New()
	require.Equal(t, backends.Held, t.observe(observer, "job").State)
	time.Sleep(t.patience(t.ttl()))
	r := t.observe(observer, "job")
	require.Equal(t, backends.Free, r.State, "a contender may take it now")
	require.Equal(t, g.Token, r.Token)
	t.acquire(observer, "job")
}

func theAgeCountsFromTheLastWrite(t *trial) {
	b := t.New()
	var g backends.Grant
	written := timed(func() { g = t.acquire(b, "job") })
	for range 3 {
		time.Sleep(t.ttl() / 4)
		t.aged(b, written)
		written = timed(func() { g = t.renew(b, g) })
		t.aged(b, written)
	}
}

// aged makes sure of the age of the lease, as b has it, who has seen all of it.
// Dates may have whole seconds only.
func (t *trial) aged(b backends.Backend, written span) {
	t.Helper()
	var age time.Duration
	asked := timed(func() { age = t.observe(b, "job").Age })
	require.GreaterOrEqual(t, age, asked.from.Sub(written.to)-time.Second)
	require.LessOrEqual(t, age, asked.to.Sub(written.from)+time.Second)
}

// Slots of leader.Every stand on it, for a name that was never used too. HTTP dates
// have whole seconds, and a store in real time is not held to more than minutes.
func observingTellsTheStoresTime(t *trial) {
	t.need(!t.Timeless, "store that tells the time")
	off := time.Second
	if !t.bubble {
		off = 5 * time.Minute
	}
	t.states(func(state string) {
		r := t.look("job")
		require.WithinDuration(t, time.Now(), r.Now, off, state)
	})
}

func leftIsHowLongToWait(t *trial) {
	t.term("job")
	contender := t.New()
	for range 3 { // it is told anew at each look
		r := t.held(contender, "job", "it has just begun")
		o := t.observe(contender, "job")
		if r.Left == 0 && o.Left == 0 {
			t.Log("this backend does not know")
			return
		}
		require.LessOrEqual(t, r.Left, t.patience(t.ttl()))
		require.InDelta(t, r.Left, o.Left, float64(t.grain()))
		time.Sleep(r.Left / 2)
	}
	left := t.held(contender, "job", "its time is not up").Left
	time.Sleep(left - t.grain() - t.blur())
	t.held(contender, "job", "it said that it would take longer")
	time.Sleep(2 * (t.grain() + t.blur()))
	t.acquire(contender, "job")
}

// blur is how far the dates of the store may be off.
func (t *trial) blur() time.Duration {
	if t.FirstLook == nil {
		return 0
	}
	w := t.FirstLook(t.ttl(), t.ttl())
	return w.By - w.NotBefore
}
