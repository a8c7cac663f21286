package backendtest

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var inputChecks = []check{
	{"TheLimitsMakeSense", theLimitsMakeSense},
	{"ABadNameIsRefusedBeforeAnyRequest", aBadNameIsRefusedBeforeAnyRequest},
	{"ABadClaimIsRefusedBeforeAnyRequest", aBadClaimIsRefusedBeforeAnyRequest},
	{"ABadMarkIsRefusedBeforeAnyRequest", aBadMarkIsRefusedBeforeAnyRequest},
	{"TheGreatestClaimFits", theGreatestClaimFits},
	{"AContextThatHasEndedWritesNothing", aContextThatHasEndedWritesNothing},
}

func theLimitsMakeSense(t *trial) {
	b := t.New()
	l := b.Limits()
	require.Positive(t, l.MinTTL)
	require.GreaterOrEqual(t, l.MaxTTL, l.MinTTL)
	require.Positive(t, l.MinPoll)
	require.GreaterOrEqual(t, l.Step, time.Duration(0))
	require.NoError(t, l.CheckTTL(l.MinTTL))
	require.NoError(t, l.CheckTTL(l.MaxTTL))
	t.acquire(b, "job")
	require.Equal(t, l, b.Limits(), "they are constant")
	require.Equal(t, l, t.New().Limits(), "they are constant")
}

// free makes sure that f costs no request.
func (t *trial) free(why string, f func()) {
	t.Helper()
	require.Zero(t, t.cost(f), "%s: there was a request", why)
}

func (t *trial) refused(err error, why string) {
	t.Helper()
	t.open(err, why) // it tells nothing of the lease
	require.NotErrorIs(t, err, backends.ErrForeign, why)
	require.NotContains(t, err.Error(), "\n", "an error is one line")
}

func aBadNameIsRefusedBeforeAnyRequest(t *trial) {
	b := t.New()
	breaker, _ := b.(backends.Breaker)
	for _, name := range []string{
		"", strings.Repeat("x", backends.MaxName+1), strings.Repeat("é", backends.MaxName/2) + "x",
		"a\x00b", "a\nb", "\t", "a\x7f", "a\u0085b", "a\xff", "\xc3",
	} {
		why := fmt.Sprintf("name %.20q", name)
		t.free(why, func() {
			_, err := b.Acquire(t.Context(), name, t.claim("holder"))
			t.refused(err, why)
			_, err = b.Observe(t.Context(), name)
			t.refused(err, why)
			if breaker != nil {
				t.refused(breaker.Break(t.Context(), name, ""), why)
			}
		})
	}
}

func aBadClaimIsRefusedBeforeAnyRequest(t *trial) {
	b := t.New()
	for why, spoil := range t.badClaims() {
		c := t.claim("holder")
		spoil(&c)
		t.free(why, func() {
			_, err := b.Acquire(t.Context(), "job", c)
			t.refused(err, why)
		})
	}
	t.acquire(t.New(), "job")
}

func (t *trial) badClaims() map[string]func(*backends.Claim) {
	l := t.limits
	ttls := map[string]time.Duration{
		"zero TTL": 0, "negative TTL": -1, "TTL below the minimum": l.MinTTL - max(l.Step, 1),
		"TTL above the maximum": l.MaxTTL + max(l.Step, 1), "the longest TTL": 1<<63 - 1,
	}
	if l.Step > 1 {
		ttls["TTL off the step"] = l.MinTTL + 1
	}
	bad := map[string]func(*backends.Claim){
		"long holder":          func(c *backends.Claim) { c.Holder = strings.Repeat("x", backends.MaxHolder+1) },
		"holder with newline":  func(c *backends.Claim) { c.Holder = "a\nb" },
		"holder with NUL":      func(c *backends.Claim) { c.Holder = "a\x00" },
		"holder not in UTF-8":  func(c *backends.Claim) { c.Holder = "a\xff" },
		"floor above the last": func(c *backends.Claim) { c.Floor = backends.MaxToken + 1 },
		"much meta":            func(c *backends.Claim) { c.Meta = greatMeta(backends.MaxMeta + 1) },
		"meta without key":     func(c *backends.Claim) { c.Meta = map[string]string{"": "x"} },
		"meta not in UTF-8":    func(c *backends.Claim) { c.Meta = map[string]string{"x": "\xff"} },
	}
	for why, ttl := range ttls {
		bad[why] = func(c *backends.Claim) { c.TTL = ttl }
	}
	return bad
}

// greatMeta has size bytes of keys and values.
func greatMeta(size int) map[string]string {
	return map[string]string{"a": strings.Repeat("<", size/2-1), "b": strings.Repeat("\"", size-size/2-1)}
}

func aBadMarkIsRefusedBeforeAnyRequest(t *trial) {
	b, g := t.term("job")
	for _, mark := range []string{strings.Repeat("x", backends.MaxDone+1), "a\xff"} {
		bad := g
		bad.Done = mark
		why := fmt.Sprintf("mark %.20q", mark)
		t.free(why, func() { t.refused(b.Release(t.Context(), bad), why) })
	}
	t.intact(b, g, "nothing was released")
}

func theGreatestClaimFits(t *trial) {
	b := t.New()
	l := b.Limits()
	name := strings.Repeat("x", backends.MaxName)
	if c, ok := b.(backends.NameChecker); ok && c.CheckName(name) != nil {
		name = "job"
	}
	for _, ttl := range []time.Duration{l.MinTTL, l.MaxTTL} {
		c := backends.Claim{Holder: strings.Repeat("x", backends.MaxHolder), TTL: ttl, Meta: greatMeta(backends.MaxMeta)}
		g := t.acquireAs(b, name, c)
		r := t.look(name)
		require.Equal(t, c.Holder, r.Holder)
		require.Equal(t, c.TTL, r.TTL)
		require.True(t, maps.Equal(c.Meta, r.Meta))
		g = t.renew(b, g)
		g.Done = strings.Repeat("\u2028", backends.MaxDone/3)
		t.release(b, g)
		require.Equal(t, g.Done, t.look(name).Done)
	}
}

func aContextThatHasEndedWritesNothing(t *trial) {
	b, g := t.term("job")
	free := t.acquire(b, "free")
	t.release(b, free)
	before := t.stored("job")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cost := t.cost(func() {
		for _, name := range []string{"job", "free", "never used"} {
			_, err := b.Acquire(ended, name, t.claim("contender"))
			require.Error(t, err)
			_, err = b.Observe(ended, name)
			require.Error(t, err)
		}
		next, err := b.Renew(ended, g)
		t.open(err, "renew")
		g = next
		t.open(b.Release(ended, g), "release")
	})
	require.Zero(t, cost.Writes)
	require.Equal(t, before, t.stored("job"))
	g = t.intact(b, g, "nothing was asked for")
	t.release(b, g)
	for _, name := range []string{"job", "free", "never used"} {
		require.Equal(t, backends.Free, t.look(name).State)
	}
}
