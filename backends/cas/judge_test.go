package cas

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// sees lets a new engine look at name.
func sees(t *testing.T, s Store, d Dates) (*Engine, *sighting) {
	t.Helper()
	e := New(s, Options{Dates: d})
	at, err := e.look(t.Context(), "job")
	require.NoError(t, err)
	return e, at
}

func held(t *testing.T, s Store, ttl time.Duration) backends.Grant {
	t.Helper()
	g, err := New(s, Options{}).Acquire(t.Context(), "job", backends.Claim{Holder: "dead", TTL: ttl})
	require.NoError(t, err)
	return g
}

func TestTheStopwatchIsExact(t *testing.T) {
	for _, c := range []struct{ record, own, wait time.Duration }{
		{30 * time.Second, 30 * time.Second, 30300 * time.Millisecond},
		{30 * time.Second, time.Second, 30300 * time.Millisecond},
		{time.Second, 30 * time.Second, 30300 * time.Millisecond},
		{time.Second, time.Second, 1010 * time.Millisecond},
		{24 * time.Hour, 24 * time.Hour, 24*time.Hour + 864*time.Second},
		{1001 * time.Millisecond, time.Second, 1001*time.Millisecond + 10010*time.Microsecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newTable()
			held(t, s, c.record)
			time.Sleep(time.Hour) // nobody watched
			e, at := sees(t, s, Dates{})
			require.Equal(t, c.wait, e.wait(at, c.own))
			time.Sleep(c.wait - 1)
			at, err := e.look(t.Context(), "job")
			require.NoError(t, err)
			require.Equal(t, time.Duration(1), e.wait(at, c.own))
			time.Sleep(time.Nanosecond)
			require.Zero(t, e.wait(at, c.own))
			time.Sleep(time.Hour)
			require.Zero(t, e.wait(at, c.own))
		})
	}
}

func TestTheDateIsExact(t *testing.T) {
	for _, c := range []struct {
		Dates
		wait time.Duration
	}{
		{Dates{Trusted: true}, 30600 * time.Millisecond},
		{Dates{Trusted: true, Granularity: time.Second, Skew: 2 * time.Second}, 33600 * time.Millisecond},
		{Dates{Trusted: true, Own: true}, 30600 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newTable()
			held(t, s, 30*time.Second)
			s.datesAre(time.Now())
			time.Sleep(c.wait - 1)
			e, at := sees(t, s, c.Dates)
			require.Equal(t, time.Duration(1), e.wait(at, time.Second))
			time.Sleep(time.Nanosecond)
			e, at = sees(t, s, c.Dates)
			require.Zero(t, e.wait(at, time.Second))
			require.Equal(t, 30600*time.Millisecond, e.wait(at, 60*time.Second), "a contender with twice the TTL")
			e, at = sees(t, s, Dates{Granularity: c.Granularity, Skew: c.Skew})
			require.Equal(t, 30300*time.Millisecond, e.wait(at, time.Second), "dates that are not trusted")
		})
	}
}

func TestWhatIsFreeNeedsNoWait(t *testing.T) {
	s := newTable()
	e, at := sees(t, s, Dates{})
	require.Zero(t, e.wait(at, time.Hour))
	g := acquire(t, e, "job")
	require.NoError(t, e.Release(t.Context(), g))
	e, at = sees(t, s, Dates{})
	require.Zero(t, e.wait(at, time.Hour))
}

// seconds is a moment of the store's clock.
func seconds(s float64) time.Time {
	return time.Unix(1e9, 0).Add(time.Duration(s * float64(time.Second)))
}

// looked is a sighting of version at that second of the own clock, which took no
// time, when the store's clock showed now, and the record was written at modified.
func looked(version string, at, now, modified float64) *sighting {
	s := &sighting{exists: true, version: version, now: seconds(now), dated: true}
	s.sent = time.Duration(at * float64(time.Second))
	s.at, s.age, s.first = s.sent, s.now.Sub(seconds(modified)), s
	return s
}

func TestDatesThatContradictTheOwnClockLie(t *testing.T) {
	exact, rough := Dates{}, Dates{Granularity: time.Second, Skew: 2 * time.Second}
	again := func(first *sighting, at, now, modified float64) *sighting {
		s := looked(first.version, at, now, modified)
		s.first = first
		return s
	}
	first := looked("1", 0, 100, 95)
	for _, c := range []struct {
		what  string
		dates Dates
		later *sighting
		lie   bool
	}{
		{"the age follows the clock", exact, again(first, 10, 110, 95), false},
		{"within what two clocks may differ", exact, again(first, 10, 110.2, 95), false},
		{"it runs ahead", exact, again(first, 10, 110.200000001, 95), true},
		{"it runs ahead within the slack", rough, again(first, 10, 113.2, 95), false},
		{"it runs ahead of the slack", rough, again(first, 10, 113.200000001, 95), true},
		{"it runs behind, which takes nothing over", exact, again(first, 10, 101, 95), false},
		{"the date of the record moved with the clock", exact, again(first, 10, 110, 109), false},
		{"a new record, written after the first look", exact, looked("2", 10, 110, 105), false},
		{"a new record, written at the first look", exact, looked("2", 10, 110, 100), false},
		{"a new record with an old date", exact, looked("2", 10, 110, 99.999999999), true},
		{"a new record with a date within the slack", rough, looked("2", 10, 110, 97), false},
		{"a new record with a date before the slack", rough, looked("2", 10, 110, 96.999999999), true},
		{"the machine's own dates are not asked", Dates{Own: true}, again(first, 10, 999, 95), false},
	} {
		require.Equal(t, c.lie, c.dates.datesLie(first, c.later), c.what)
	}
}

func TestLooksThatCrossedProveNothing(t *testing.T) {
	first, second := looked("1", 0, 100, 95), looked("2", 10, 110, 90)
	require.True(t, Dates{}.datesLie(first, second))
	first.at = second.sent + 1
	require.False(t, Dates{}.datesLie(first, second), "the second was perhaps answered first")
}

func TestWhatHasNoDateTellsNoLie(t *testing.T) {
	first, second := looked("1", 0, 100, 95), looked("2", 10, 110, 90)
	undated := *second
	undated.dated = false
	require.False(t, Dates{}.datesLie(first, &undated))
	timeless := *first
	timeless.now = time.Time{}
	require.False(t, Dates{}.datesLie(&timeless, second))
}

// Only the object whose dates lied is distrusted, but for good.
func TestAStoreThatLiedIsNotBelievedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTable()
		held(t, s, 30*time.Second)
		written := time.Now()
		s.datesAre(written)
		e, _ := sees(t, s, Dates{Trusted: true})
		s.dated = func(o Object) Object {
			o.Modified, o.Now = written, time.Now().Add(time.Hour)
			return o
		}
		at, err := e.look(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, 30300*time.Millisecond, e.wait(at, time.Second))
		s.datesAre(written.Add(-time.Hour))
		at, err = e.look(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, 30300*time.Millisecond, e.wait(at, time.Second))
	})
}

// The clock that dates objects and the one that dates answers may be apart, by the skew
// at the most. What was written a moment ago is then dated in the future: it is new,
// and dates that run ahead from there are caught all the same.
func TestADateWithinTheSkewOfTheFutureIsADate(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Second, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newTable()
			held(t, s, 30*time.Second)
			modified := time.Now().Add(ahead)
			s.datesAre(modified)
			e, at := sees(t, s, Dates{Trusted: true, Granularity: time.Second, Skew: 2 * time.Second})
			require.True(t, at.dated)
			require.Zero(t, at.age)
			s.dated = func(o Object) Object {
				o.Modified, o.Now = modified, time.Now().Add(time.Hour)
				return o
			}
			at, err := e.look(t.Context(), "job")
			require.NoError(t, err)
			require.Equal(t, 30300*time.Millisecond, e.wait(at, time.Second))
		})
	}
}
