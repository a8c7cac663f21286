package leader

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var two = time.Date(2026, 10, 12, 2, 0, 0, 0, time.UTC)

// The stored form is frozen: what this test writes must not change, and what is in the
// file must always be read. Add lines, change none.
func TestTheStoredFormOfSlotsIsGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/marks.golden")
	require.NoError(t, err)
	var l ledger
	var lines []string
	for _, s := range []Slot{
		SlotAt(two),
		SlotAt(two.Add(24*time.Hour + time.Nanosecond).In(time.FixedZone("CEST", 2*3600))),
		SlotID("evt_1"),
		SlotID("evt_2"),
		resolve(t, Every(24*time.Hour, 2*time.Hour), two.Add(-5*time.Minute), 10*time.Minute),
		resolve(t, Every(time.Hour, 0), two.Add(25*time.Hour), 0),
		SlotID("größe; a=b, c"),
		SlotAt(time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC).AddDate(9998, 0, 0)),
	} {
		l = l.with(s)
		lines = append(lines, l.mark())
		again, err := ledgerOf(l.mark())
		require.NoError(t, err)
		require.Equal(t, l, again)
		require.True(t, again.has(s), s)
	}
	require.Equal(t, strings.TrimSpace(string(golden)), strings.Join(lines, "\n"))
}

func resolve(t *testing.T, s Slot, now time.Time, grace time.Duration) Slot {
	t.Helper()
	require.NoError(t, s.err)
	r, err := s.resolved(now, grace)
	require.NoError(t, err)
	return r
}

func TestAnOlderInstantIsDoneToo(t *testing.T) {
	l := ledger(nil).with(SlotAt(two))
	require.True(t, l.has(SlotAt(two)))
	require.True(t, l.has(SlotAt(two.In(time.Local))))
	require.True(t, l.has(SlotAt(two.Add(-time.Nanosecond))))
	require.True(t, l.has(SlotAt(two.AddDate(-1000, 0, 0))))
	require.False(t, l.has(SlotAt(two.Add(time.Nanosecond))))
	require.False(t, l.has(SlotAt(two.AddDate(1000, 0, 0))))
}

func TestOfIDsTheLast32AreKnown(t *testing.T) {
	var l ledger
	for i := range 100 {
		s := SlotID(fmt.Sprint("event ", i))
		require.False(t, l.has(s))
		l = l.with(s)
	}
	for i := range 100 {
		require.Equal(t, i >= 68, l.has(SlotID(fmt.Sprint("event ", i))), i)
	}
}

func TestTheLongestMarkFits(t *testing.T) {
	l := ledger{}.with(SlotAt(two)).with(resolve(t, Every(time.Hour, 0), two, 0))
	for i := range 100 {
		l = l.with(SlotID(fmt.Sprint(i)))
	}
	require.NoError(t, backends.CheckDone(l.mark()))
	require.Greater(t, backends.MaxDone-len(l.mark()), 200, "room for kinds to come")
}

func TestKindsNeverMix(t *testing.T) {
	every := resolve(t, Every(24*time.Hour, 2*time.Hour), two, 0)
	require.Equal(t, two, every.at)
	all := []Slot{SlotAt(two), SlotID(stored(two)), every}
	for i, s := range all {
		l := ledger(nil).with(s)
		for k, other := range all {
			require.Equal(t, i == k, l.has(other), "%v, when %v is done", other, s)
		}
	}
	l := ledger(nil).with(all[0]).with(all[1]).with(all[2])
	for _, s := range all {
		require.True(t, l.has(s), s)
	}
}

func TestEntriesOfLaterVersionsAreCarriedAlong(t *testing.T) {
	l, err := ledgerOf("week=2026-W42;at=" + stored(two))
	require.NoError(t, err)
	l = l.with(SlotID("x")).with(SlotAt(two.Add(time.Hour)))
	require.Equal(t, "week=2026-W42;at="+stored(two.Add(time.Hour))+";id="+SlotID("x").id, l.mark())
}

func TestAMarkOfSomebodyElseIsForeign(t *testing.T) {
	for _, mark := range []string{
		"done", "all done", "at", "at=", "=x", "at=2026-10-12", "at=2026-10-12T02:00:00Z", "at=2026-13-12T02:00:00.000000000Z",
		"every=x", ";", "id=a;", "id=a;id=b", ";id=a", "at=2026-10-12T02:00:00.000000000+02:00",
	} {
		_, err := ledgerOf(mark)
		require.ErrorIs(t, err, backends.ErrForeign, mark)
		require.ErrorContains(t, err, "leader.Once")
	}
}

// Slot is floor((now + grace − offset) / period), by the store's clock.
func TestEveryIsTheSlotOfThePeriodByTheStoresClock(t *testing.T) {
	const day, grace = 24 * time.Hour, 10 * time.Minute
	s := Every(day, 2*time.Hour)
	for off, want := range map[time.Duration]time.Time{
		0:                        two,
		-5 * time.Minute:         two,
		-grace:                   two,
		-grace - 1:               two.Add(-day),
		time.Hour:                two,
		day - grace - 1:          two,
		day - grace:              two.Add(day),
		-day:                     two.Add(-day),
		10*day + 5*time.Second:   two.Add(10 * day),
		-100000 * day:            two.Add(-100000 * day), // before 1970
		-100000*day - grace - 1:  two.Add(-100001 * day),
		-100000*day + 23*grace/2: two.Add(-100000 * day),
	} {
		require.Equal(t, want, resolve(t, s, two.Add(off), grace).at, off)
	}
	require.Equal(t, two.Add(12*time.Second), resolve(t, Every(12*time.Second, 0), two.Add(23*time.Second), 0).at)
}

func TestAWeekOfEveryBeginsOnThursday(t *testing.T) {
	at := resolve(t, Every(7*24*time.Hour, 0), two, 0).at
	require.Equal(t, time.Thursday, at.Weekday())
}

func TestSlotsTellWhatTheyAre(t *testing.T) {
	require.Equal(t, "no slot", Slot{}.String())
	require.Equal(t, "at 2026-10-12T02:00:00.000000000Z", SlotAt(two).String())
	require.Equal(t, "every 24h0m0s, at 2h0m0s", Every(24*time.Hour, 2*time.Hour).String())
	require.Equal(t, "every 2026-10-12T02:00:00.000000000Z", resolve(t, Every(24*time.Hour, 2*time.Hour), two, 0).String())
	require.NotContains(t, SlotID("secret").String(), "secret")
}

func TestOnceOptionsAreFilledAndChecked(t *testing.T) {
	filled := func(s Slot, o OnceOptions) OnceOptions {
		f, err := o.filled(s)
		require.NoError(t, err, "%v %+v", s, o)
		return f
	}
	day := Every(24*time.Hour, 0)
	f := filled(day, OnceOptions{})
	require.Equal(t, []time.Duration{5 * time.Minute, 10 * time.Minute, 30 * time.Second}, []time.Duration{f.Skew, f.Grace, f.StopTimeout})
	f = filled(Every(8*time.Minute, 0), OnceOptions{})
	require.Equal(t, []time.Duration{time.Minute, 2 * time.Minute}, []time.Duration{f.Skew, f.Grace})
	f = filled(day, OnceOptions{Skew: time.Hour})
	require.Equal(t, 2*time.Hour, f.Grace)
	f = filled(day, OnceOptions{Grace: time.Minute})
	require.Equal(t, 30*time.Second, f.Skew)
	filled(Every(10*time.Second, 0), OnceOptions{})
	filled(day, OnceOptions{Skew: 6*time.Hour - 1})
	filled(day, OnceOptions{Grace: 12*time.Hour - 1})
	filled(Slot{}, OnceOptions{MinHold: 1})

	for why, c := range map[string]struct {
		slot Slot
		o    OnceOptions
	}{
		"period 9.999s is below the minimum of 10s":                              {slot: Every(9999*time.Millisecond, 0)},
		"period 0s is below":                                                     {slot: Every(0, 0)},
		"period -1h0m0s is below":                                                {slot: Every(-time.Hour, 0)},
		"offset -1ns is not between 0 and the period of 1h0m0s":                  {slot: Every(time.Hour, -1)},
		"offset 1h0m0s is not between 0 and the period":                          {slot: Every(time.Hour, time.Hour)},
		"the Grace of 30m0s is not below half of the period of 1h0m0s":           {day1h, OnceOptions{Grace: 30 * time.Minute}},
		"the Grace of 40m0s is not below half":                                   {day1h, OnceOptions{Skew: 20 * time.Minute}},
		"the Grace of 10m0s is not above the Skew of 10m0s":                      {day1h, OnceOptions{Skew: 10 * time.Minute, Grace: 10 * time.Minute}},
		"the Grace of -2ns is not above the Skew of -1ns, which is not negative": {day1h, OnceOptions{Skew: -1}},
		"the Grace of -5ns is not above the Skew":                                {day1h, OnceOptions{Grace: -5}},
		"only Every takes Skew and Grace":                                        {SlotAt(two), OnceOptions{Grace: time.Minute}},
		"the slot is missing":                                                    {},
		"MinHold -1ns is negative":                                               {Slot{}, OnceOptions{MinHold: -1}},
		"MinHold 1s is for a job without a slot":                                 {SlotAt(two), OnceOptions{MinHold: time.Second}},
		"slot at 0001-01-01 00:00:00 +0000 UTC":                                  {slot: SlotAt(time.Time{})},
		"slot at 12026-":                                                         {slot: SlotAt(two.AddDate(10000, 0, 0))},
		`slot ""`:                                                                {slot: SlotID("")},
		"StopTimeout -1ns is negative":                                           {SlotAt(two), OnceOptions{StopTimeout: -1}},
		"Liveness 1ms is below":                                                  {SlotAt(two), OnceOptions{Liveness: time.Millisecond}},
	} {
		_, err := c.o.filled(c.slot)
		require.ErrorContains(t, err, why)
		require.NotContains(t, err.Error(), "\n")
	}
}

var day1h = Every(time.Hour, 0)

func TestSlotTimeIsNoneElsewhere(t *testing.T) {
	_, ok := SlotTime(context.Background())
	require.False(t, ok)
}

// Whatever is in the record: it is refused as foreign, or kept as it is.
func FuzzMarks(f *testing.F) {
	for _, mark := range []string{"", "at=2026-10-12T02:00:00.000000000Z", "id=a,b;week=7", "id=,", "=", ";;", "every=x", "at=0000-01-01T00:00:00.000000000Z"} {
		f.Add(mark)
	}
	f.Fuzz(func(t *testing.T, mark string) {
		l, err := ledgerOf(mark)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrForeign)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.Equal(t, mark, l.mark())
		for _, s := range []Slot{SlotID("new"), SlotAt(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC))} {
			if l.has(s) {
				continue
			}
			next, err := ledgerOf(l.with(s).mark())
			require.NoError(t, err)
			require.True(t, next.has(s))
			require.Equal(t, mark, l.mark(), "the old one is not changed")
		}
	})
}
