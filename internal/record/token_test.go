package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
)

var never time.Time // of a store that does not tell the time

func TestATokenIsHigherThanTheLastAndNotBelowTheFloor(t *testing.T) {
	for _, c := range []struct{ prev, floor, want backends.Token }{
		{0, 0, 1}, {0, 1, 1}, {7, 0, 8}, {7, 8, 8}, {7, 7, 8}, {7, 100, 100},
		{backends.MaxToken - 1, 0, backends.MaxToken}, {0, backends.MaxToken, backends.MaxToken},
		{backends.MaxToken, 0, 0}, {0, backends.MaxToken + 1, 0}, {backends.MaxToken, backends.MaxToken + 1, 0},
		{1<<64 - 2, 0, 0}, {0, 1<<64 - 1, 0},
	} {
		require.Equal(t, c.want, NextToken(clock.System, c.prev, c.floor, never), "after %d, from %d", c.prev, c.floor)
	}
}

func TestATokenFollowsTheStoresClock(t *testing.T) {
	const second = 1791763200
	now := time.Unix(second, 999_999_999)
	token := NextToken(clock.System, 0, 0, now)
	require.Equal(t, backends.Token(second), token>>20)
	require.Equal(t, backends.Token(second), NextToken(clock.System, token-1, 0, now)>>20)
	require.Greater(t, NextToken(clock.System, 0, 0, now.Add(time.Second)), token, "whatever the random bits are")

	high := token + 1<<30
	require.Equal(t, high+1, NextToken(clock.System, high, 0, now), "the clock raises a token, and never lowers it")
	require.Equal(t, high, NextToken(clock.System, 0, high, now))

	bits := map[backends.Token]bool{}
	for range 100 {
		bits[NextToken(clock.System, 0, 0, now)] = true
	}
	require.Greater(t, len(bits), 50, "two lives within one second are told apart by chance only")
}

func TestASillyDateIsNoToken(t *testing.T) {
	last := time.Unix(int64(backends.MaxToken>>20), 0)
	require.Equal(t, backends.MaxToken>>20, NextToken(clock.System, 0, 0, last)>>20, "the last second that has tokens")
	for _, now := range []time.Time{
		never, time.Unix(0, 0), time.Unix(-1, 0), last.Add(time.Second), time.Unix(1<<60, 0), time.Unix(1<<62, 0), time.Unix(-1<<62, 0),
		time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC), time.Date(-9999, time.January, 1, 0, 0, 0, 0, time.UTC),
	} {
		require.Equal(t, backends.Token(8), NextToken(clock.System, 7, 0, now), "%v", now)
	}
}

func TestNoncesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		n := NewNonce()
		require.Len(t, n, 32)
		require.False(t, seen[n])
		seen[n] = true
	}
}

func TestATokenIsBehindWhenItIsOlderThanASecond(t *testing.T) {
	now := time.Unix(1791763200, 0)
	token := NextToken(clock.System, 0, 0, now)
	for d, want := range map[time.Duration]bool{
		-time.Hour: false, 0: false, 1999 * time.Millisecond: false, 2 * time.Second: true, time.Hour: true,
	} {
		require.Equal(t, want, Behind(token, now.Add(d)), "%v later", d)
	}
	for _, silly := range []time.Time{never, time.Unix(0, 0), time.Unix(-1<<62, 0), time.Unix(1<<62, 0), time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)} {
		require.False(t, Behind(token, silly), "%v", silly)
	}
}
