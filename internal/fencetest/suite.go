package fencetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/fence"
)

const lock = "nightly/reminders"

// Run runs the table on a fence.
func Run(t *testing.T, h Harness) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) { b.check(t, &subject{h.New(t), h}) })
	}
}

type behaviour struct {
	name  string
	check func(*testing.T, *subject)
}

var behaviours = []behaviour{
	{"TheFirstTokenIsGood", firstToken},
	{"TheSameTokenIsGoodAgain", sameToken},
	{"AHigherTokenIsGood", higherToken},
	{"AnOlderTokenIsRefusedAndBothAreNamed", olderToken},
	{"RaisingShutsOlderOnesOut", raising},
	{"TheNewerWinsWhicheverComesFirst", newerWins},
	{"AnotherLockIsRefusedAndRaisesNothing", otherLock},
	{"LocksAreTheSameIfTheirBytesAre", lockNames},
	{"TheHighestTokenIsKeptExactly", highestToken},
	{"WhatIsNoTokenIsRefused", noTokens},
	{"AContextThatHasEndedWritesNothing", endedContext},
	{"WhatIsNoTokenCannotBeStored", damaged},
	{"EachKeyIsAcceptedOnce", keys},
	{"AKeyWhoseEffectWasRefusedIsFree", refusedKeys},
	{"OldAndNewWritersRace", race},
}

// A subject is a resource, with what tests say of it.
type subject struct {
	Resource
	harness Harness
}

func (s *subject) writes(t *testing.T, token fence.Token, text string) {
	t.Helper()
	require.NoError(t, s.Write(t.Context(), lock, token, text))
}

func (s *subject) refuses(t *testing.T, token, highest fence.Token) {
	t.Helper()
	for doing, err := range map[string]error{
		"write": s.Write(t.Context(), lock, token, "refused"),
		"raise": s.Raise(t.Context(), lock, token),
	} {
		require.ErrorIs(t, err, fence.ErrStale, doing)
		stale, is := errors.AsType[*fence.StaleError](err)
		require.True(t, is, doing)
		assert.Equal(t, fence.StaleError{Lock: lock, Token: token, Highest: highest}, *stale, doing)
		assert.NotContains(t, err.Error(), "\n", doing)
	}
}

func (s *subject) has(t *testing.T, want ...Effect) {
	t.Helper()
	got, err := s.Journal(t.Context())
	require.NoError(t, err)
	if len(want) > 0 || len(got) > 0 {
		require.Equal(t, want, got)
	}
}

func firstToken(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	s.has(t, Effect{7, "a"})
}

func sameToken(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	s.writes(t, 7, "a") // the same bytes, too
	require.NoError(t, s.Raise(t.Context(), lock, 7))
	require.NoError(t, s.Raise(t.Context(), lock, 7))
	s.writes(t, 7, "b")
	s.has(t, Effect{7, "a"}, Effect{7, "a"}, Effect{7, "b"})
}

func higherToken(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	s.writes(t, 8, "b")
	s.writes(t, 1<<40, "c")
	s.has(t, Effect{7, "a"}, Effect{8, "b"}, Effect{1 << 40, "c"})
}

func olderToken(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	s.refuses(t, 6, 7)
	s.refuses(t, 6, 7)
	s.refuses(t, 1, 7)
	s.writes(t, 7, "b")
	s.has(t, Effect{7, "a"}, Effect{7, "b"})
	assert.ErrorContains(t, s.Write(t.Context(), lock, 6, "c"), "token 6 is older than 7")
}

func raising(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	require.NoError(t, s.Raise(t.Context(), lock, 8))
	s.has(t, Effect{7, "a"})
	s.refuses(t, 7, 8)
	s.writes(t, 8, "b")
	s.has(t, Effect{7, "a"}, Effect{8, "b"})
}

func newerWins(t *testing.T, s *subject) {
	s.writes(t, 8, "newer")
	s.refuses(t, 7, 8)
	s.has(t, Effect{8, "newer"})

	other := &subject{s.harness.New(t), s.harness}
	other.writes(t, 7, "older")
	other.writes(t, 8, "newer")
	other.has(t, Effect{7, "older"}, Effect{8, "newer"})
}

func otherLock(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	for _, token := range []fence.Token{6, 7, 8, backends.MaxToken} {
		for doing, err := range map[string]error{
			"write": s.Write(t.Context(), "another", token, "refused"),
			"raise": s.Raise(t.Context(), "another", token),
		} {
			require.ErrorIs(t, err, fence.ErrOtherLock, doing)
			other, is := errors.AsType[*fence.OtherLockError](err)
			require.True(t, is, doing)
			assert.Equal(t, fence.OtherLockError{Lock: "another", Owner: lock}, *other, doing)
			assert.NotContains(t, err.Error(), "\n", doing)
		}
	}
	s.writes(t, 7, "b")
	s.has(t, Effect{7, "a"}, Effect{7, "b"})
}

func lockNames(t *testing.T, s *subject) {
	for _, pair := range [][2]string{
		{"job", "Job"}, {"job", "job "}, {"job", "jöb"}, {"ss", "ß"}, {"a'b", `a"b`},
		{`a\`, `a\\`}, {"a%_", "a%p"}, {"\u00e9", "e\u0301"}, {"😀", "?"}, {"$1", "?"},
		{strings.Repeat("x", backends.MaxName), strings.Repeat("x", backends.MaxName-1)},
	} {
		r := s.harness.New(t)
		require.NoError(t, r.Raise(t.Context(), pair[0], 7), pair[0])
		require.NoError(t, r.Write(t.Context(), pair[0], 7, "a"), pair[0])
		require.ErrorIs(t, r.Write(t.Context(), pair[1], 8, "b"), fence.ErrOtherLock, pair[1])
		require.NoError(t, r.Write(t.Context(), pair[0], 7, "c"), pair[0])
	}
}

func highestToken(t *testing.T, s *subject) {
	s.writes(t, backends.MaxToken-1, "a")
	s.writes(t, backends.MaxToken, "b")
	s.refuses(t, backends.MaxToken-1, backends.MaxToken)
	s.has(t, Effect{backends.MaxToken - 1, "a"}, Effect{backends.MaxToken, "b"})
}

func noTokens(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	for _, bad := range []struct {
		lock  string
		token fence.Token
		says  string
	}{
		{lock, 0, "token 0"},
		{lock, backends.MaxToken + 1, "token 9007199254740992 is above the highest token, 9007199254740991"},
		{lock, 1<<64 - 1, "token 18446744073709551615 is above"},
		{"", 8, "lease name is empty"},
		{"a\nb", 8, "control character"},
		{"a\xff", 8, "not valid UTF-8"},
		{strings.Repeat("x", backends.MaxName+1), 8, "at most 1024"},
	} {
		for _, err := range []error{
			s.Write(t.Context(), bad.lock, bad.token, "refused"),
			s.Raise(t.Context(), bad.lock, bad.token),
		} {
			require.ErrorContains(t, err, bad.says)
			require.NotErrorIs(t, err, fence.ErrStale)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	s.writes(t, 7, "b")
	s.has(t, Effect{7, "a"}, Effect{7, "b"})
}

func endedContext(t *testing.T, s *subject) {
	s.writes(t, 7, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Write(ctx, lock, 7, "b"); err == nil { // memory asks no context
		s.has(t, Effect{7, "a"}, Effect{7, "b"})
		return
	}
	s.has(t, Effect{7, "a"})
	s.writes(t, 7, "c")
}

func damaged(t *testing.T, s *subject) {
	if s.harness.Plant == nil {
		t.Skip("it stores nothing that could be damaged")
	}
	s.writes(t, 7, "a")
	for _, token := range []int64{-1, -1 << 63, int64(backends.MaxToken) + 1, 1<<63 - 1} {
		require.Error(t, s.harness.Plant(t, s.Resource, token), "%d", token)
	}
	require.NoError(t, s.harness.Plant(t, s.Resource, 9))
	s.refuses(t, 8, 9)
	s.writes(t, 9, "b")
}

func keys(t *testing.T, s *subject) {
	keeper := s.keeper(t)
	for i, key := range []string{"customer 1", "customer 2", "Customer 1", "customer 1 ", "Kunde ä", "Kunde a", strings.Repeat("k", 1024)} {
		first, err := keeper.WriteOnce(t.Context(), lock, fence.Token(7+i), key, "a")
		require.NoError(t, err)
		assert.True(t, first, key)
		for _, later := range []fence.Token{0, 1} {
			first, err = keeper.WriteOnce(t.Context(), lock, fence.Token(7+i)+later, key, "again")
			require.NoError(t, err)
			assert.False(t, first, key)
		}
	}
	for key, says := range map[string]string{"": "key is empty", "a\x00": "control character", "\xff": "not valid UTF-8", strings.Repeat("k", 1025): "at most 1024"} {
		_, err := keeper.WriteOnce(t.Context(), lock, 20, key, "b")
		require.ErrorContains(t, err, says)
	}
	effects, err := s.Journal(t.Context())
	require.NoError(t, err)
	assert.Len(t, effects, 7)
	for _, e := range effects {
		assert.Equal(t, "a", e.Text)
	}
}

func refusedKeys(t *testing.T, s *subject) {
	keeper := s.keeper(t)
	s.writes(t, 7, "a")
	_, err := keeper.WriteOnce(t.Context(), lock, 6, "key", "b")
	require.ErrorIs(t, err, fence.ErrStale)
	first, err := keeper.WriteOnce(t.Context(), lock, 7, "key", "c")
	require.NoError(t, err)
	assert.True(t, first)
	s.has(t, Effect{7, "a"}, Effect{7, "c"})
}

func (s *subject) keeper(t *testing.T) Keeper {
	k, is := s.Resource.(Keeper)
	if !is {
		t.Skip("it keeps no keys")
	}
	return k
}
