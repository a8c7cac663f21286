package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// What a store's dates may do without doing harm: a contender that watches
// finds out.
var dateChecks = []check{
	{"DatesThatRunAheadTakeNothingOver", datesThatRunAheadTakeNothingOver},
	{"DatesThatRunFastTakeNothingOver", datesThatRunFastTakeNothingOver},
	{"DatesThatDoNotMoveTakeNothingOver", datesThatDoNotMoveTakeNothingOver},
	{"MissingDatesTakeNothingOver", missingDatesTakeNothingOver},
	{"DatesFromTheFutureTakeNothingOver", datesFromTheFutureTakeNothingOver},
	{"DatesThatLieTellNoAge", datesThatLieTellNoAge},
	{"SillyDatesDoNotSpoilTokens", sillyDatesDoNotSpoilTokens},
}

// lie changes the dates of all answers from now on.
func (t *trial) lie(f func(modified, now time.Time) (time.Time, time.Time)) {
	t.Helper()
	t.need(t.Redate != nil, "Redate")
	t.Redate(func(_ string, modified, now time.Time) (time.Time, time.Time) {
		if now.IsZero() {
			return modified, now
		}
		return f(modified, now)
	})
}

// distrusted makes sure that c, which has watched since seen, goes by its
// stopwatch, and looks often meanwhile.
func (t *trial) distrusted(c backends.Backend, name string, written, seen span) {
	t.Helper()
	t.need(t.Watching != nil, "Watching")
	t.FirstLook = nil
	w, _ := t.takeover(t.ttl(), t.ttl(), written, seen)
	for range 8 {
		t.held(c, name, "the dates lie")
		t.until(time.Now().Add(time.Until(w.from) / 4))
	}
	t.takenOver(c, name, t.claim("contender"), w)
}

func datesThatRunAheadTakeNothingOver(t *trial) {
	_, written := t.dead("job", t.ttl())
	c := t.New()
	seen := t.watch(c, "job", t.claim("contender"))
	t.lie(func(modified, now time.Time) (time.Time, time.Time) { return modified, now.Add(time.Hour) })
	t.distrusted(c, "job", written, seen)
}

func datesThatRunFastTakeNothingOver(t *trial) {
	start := time.Now()
	t.lie(func(modified, now time.Time) (time.Time, time.Time) { return modified, now.Add(2 * time.Since(start)) })
	_, written := t.dead("job", t.ttl())
	c := t.New()
	seen := t.watch(c, "job", t.claim("contender"))
	t.distrusted(c, "job", written, seen)
}

// They are those of the object's creation, for example.
func datesThatDoNotMoveTakeNothingOver(t *trial) {
	var first time.Time
	t.lie(func(modified, now time.Time) (time.Time, time.Time) {
		if first.IsZero() {
			first = modified
		}
		if modified.IsZero() {
			return modified, now
		}
		return first, now
	})
	b, g := t.term("job")
	c := t.New()
	for range 10 {
		t.held(c, "job", "it is renewed, whatever the date says")
		time.Sleep(t.ttl() / 3)
		t.held(c, "job", "it is renewed, whatever the date says")
		g = t.renew(b, g)
	}
}

func missingDatesTakeNothingOver(t *trial) {
	t.need(t.Watching != nil, "Watching")
	var none time.Time
	for name, lie := range map[string]func(modified, now time.Time) (time.Time, time.Time){
		"both":     func(time.Time, time.Time) (time.Time, time.Time) { return none, none },
		"modified": func(_, now time.Time) (time.Time, time.Time) { return none, now },
		"now":      func(modified, _ time.Time) (time.Time, time.Time) { return modified, none },
	} {
		t.lie(lie)
		_, written := t.dead(name, t.ttl())
		time.Sleep(t.ttl() / 2)
		c := t.New()
		seen := t.watch(c, name, t.claim("contender"))
		t.distrusted(c, name, written, seen)
	}
}

func datesFromTheFutureTakeNothingOver(t *trial) {
	t.lie(func(modified, now time.Time) (time.Time, time.Time) { return modified.Add(time.Hour), now })
	_, written := t.dead("job", t.ttl())
	c := t.New()
	seen := t.watch(c, "job", t.claim("contender"))
	require.GreaterOrEqual(t, t.observe(c, "job").Age, time.Duration(0))
	t.distrusted(c, "job", written, seen)
}

func datesThatLieTellNoAge(t *trial) {
	g, written := t.dead("job", t.ttl())
	c := t.New()
	if t.FirstLook != nil { // at the first look it could not know
		t.observe(c, "job")
	}
	t.lie(func(modified, now time.Time) (time.Time, time.Time) { return modified, now.Add(time.Hour) })
	for range 3 {
		r := t.observe(c, "job")
		require.Equal(t, g.Token, r.Token)
		require.LessOrEqual(t, r.Age, time.Since(written.from))
		time.Sleep(t.ttl() / 4)
	}
}

func sillyDatesDoNotSpoilTokens(t *trial) {
	b := t.New()
	var highest backends.Token
	for _, year := range []int{2200, 2300, 9999, 1970, 1969, 1, -1, 2026} {
		silly := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)
		t.lie(func(modified, now time.Time) (time.Time, time.Time) { return silly.Add(modified.Sub(now)), silly })
		for _, client := range []backends.Backend{b, t.New()} {
			g := t.acquire(client, "job")
			require.Greater(t, g.Token, highest, "in the year %d", year)
			require.Less(t, g.Token, backends.MaxToken, "in the year %d", year)
			highest = g.Token
			t.release(client, g)
		}
	}
}
