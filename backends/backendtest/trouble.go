package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

// What a store says that will not, or not now.
var troubleChecks = []check{
	{"ThrottlingPassesThrough", throttlingPassesThrough},
	{"AThrottledWriteThatWasAppliedIsFound", aThrottledWriteThatWasAppliedIsFound},
	{"RefusalsPassThroughAndEndNothing", refusalsPassThroughAndEndNothing},
}

const asked = 7 * time.Second

func throttlingPassesThrough(t *trial) {
	t.needFaults()
	throttled := func(err error, why string) {
		t.Helper()
		t.open(err, why)
		after, ok := retryAfter(err)
		require.True(t, ok, "%s: %v", why, err)
		require.Equal(t, asked, after, why)
	}
	b, g := t.term("job")
	free := t.acquire(b, "free")
	t.release(b, free)
	before := t.stored("job")
	cost := t.cost(func() {
		t.during(Always(Refused(Busy(asked))), func() {
			for _, name := range []string{"free", "new", "job"} {
				_, err := b.Acquire(t.Context(), name, t.claim("holder"))
				throttled(err, "acquire "+name)
			}
			_, err := b.Observe(t.Context(), "job")
			throttled(err, "observe")
			g, err = b.Renew(t.Context(), g)
			throttled(err, "renew")
			throttled(b.Release(t.Context(), g), "release")
		})
	})
	require.LessOrEqual(t, cost.Reads+cost.Writes, 6, "who is asked to wait does not ask again at once")
	require.Equal(t, before, t.stored("job"))
	g = t.intact(b, g, "nothing was decided")
	t.release(b, g)
	for _, name := range []string{"free", "new", "job"} {
		t.acquire(b, name)
	}
}

func aThrottledWriteThatWasAppliedIsFound(t *trial) {
	t.needFaults()
	b := t.New()
	busy := RefusedAfter(Busy(asked))
	abandoned := t.abandon(b, "job", "throttled", nthWrite(t.Budget.First.Writes, busy))
	g := t.acquire(b, "job")
	require.Greater(t, g.Token, abandoned.Token)
	t.during(nthWrite(1, busy), func() {
		next, err := b.Renew(t.Context(), g)
		t.open(err, "throttled")
		g = next
	})
	g = t.intact(b, g, "throttled, and applied all the same")
	t.during(nthWrite(t.Budget.Release.Writes, busy), func() { t.open(b.Release(t.Context(), g), "throttled") })
	t.release(b, g)
	require.Equal(t, backends.Free, t.look("job").State)
}

func refusalsPassThroughAndEndNothing(t *trial) {
	t.needFaults()
	b, g := t.term("job")
	for _, refusal := range []error{backends.ErrDenied, backends.ErrNoContainer} {
		before := t.stored("job")
		t.during(Always(Refused(refusal)), func() {
			for _, name := range []string{"new", "job"} {
				_, err := b.Acquire(t.Context(), name, t.claim("holder"))
				require.ErrorIs(t, err, refusal, "acquire")
			}
			_, err := b.Observe(t.Context(), "job")
			require.ErrorIs(t, err, refusal, "observe")
			g, err = b.Renew(t.Context(), g)
			require.ErrorIs(t, err, refusal, "renew")
			require.NotErrorIs(t, err, backends.ErrLost, "renew")
			require.ErrorIs(t, b.Release(t.Context(), g), refusal, "release")
		})
		require.Equal(t, before, t.stored("job"))
		g = t.intact(b, g, "what is refused has no effect")
	}
	t.during(Always(Refused(backends.ErrUnsupported)).Where(Request.Writes), func() {
		_, err := b.Acquire(t.Context(), "other", t.claim("holder"))
		require.ErrorIs(t, err, backends.ErrUnsupported, "a condition that the store does not know")
		_, err = b.Renew(t.Context(), g)
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.NotErrorIs(t, err, backends.ErrLost)
	})
	t.acquire(b, "other")
}
