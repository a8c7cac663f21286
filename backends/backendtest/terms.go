package backendtest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var termChecks = []check{
	{"ATermIsAcquiredRenewedAndReleased", aTermIsAcquiredRenewedAndReleased},
	{"TheGrantTellsOfTheTerm", theGrantTellsOfTheTerm},
	{"TheTermIsConstantOverRenewals", theTermIsConstantOverRenewals},
	{"WhatIsHeldIsNotGranted", whatIsHeldIsNotGranted},
	{"TheHoldersNameProvesNothing", theHoldersNameProvesNothing},
	{"AGrantWithoutProofIsRefused", aGrantWithoutProofIsRefused},
	{"TheTermIsOverAfterATakeover", theTermIsOverAfterATakeover},
	{"TheTermIsOverAfterItsRelease", theTermIsOverAfterItsRelease},
	{"ReleasingTwiceIsReleasingOnce", releasingTwiceIsReleasingOnce},
	{"ALateRenewalGoesForEverybodyOrNobody", aLateRenewalGoesForEverybodyOrNobody},
	{"TheTermIsOverWhenTheRecordIsDeleted", theTermIsOverWhenTheRecordIsDeleted},
	{"NamesThatDifferAreDifferentLeases", namesThatDifferAreDifferentLeases},
}

func aTermIsAcquiredRenewedAndReleased(t *trial) {
	b, g := t.term("job")
	require.Equal(t, backends.Held, t.look("job").State)
	g = t.renew(b, g)
	g = t.renew(b, g)
	require.Equal(t, backends.Held, t.look("job").State)
	t.release(b, g)
	require.Equal(t, backends.Free, t.look("job").State)
	other := t.acquire(t.New(), "job")
	require.NotEqual(t, g.ID, other.ID)
}

func theGrantTellsOfTheTerm(t *trial) {
	c := t.claim("somebody")
	g := t.acquireAs(t.New(), "job", c)
	require.Equal(t, "job", g.Name)
	require.Equal(t, c.Holder, g.Holder)
	require.Equal(t, c.TTL, g.TTL)
	require.NotEmpty(t, g.ID)
	require.NotEmpty(t, g.Version)
	require.NotNil(t, g.Proof)
	require.LessOrEqual(t, g.Token, backends.MaxToken)
}

func theTermIsConstantOverRenewals(t *trial) {
	b, first := t.term("job")
	g := first
	for range 50 {
		g = t.renew(b, g)
		require.Equal(t, first.ID, g.ID)
		require.Equal(t, first.TTL, g.TTL)
		require.Equal(t, first.Holder, g.Holder)
	}
	r := t.look("job")
	require.Equal(t, first.ID, r.ID)
	require.Equal(t, first.Token, r.Token)
	require.Equal(t, first.TTL, r.TTL)
	require.Equal(t, g.Version, r.Version, "the newest grant names the condition of the next write")
}

func whatIsHeldIsNotGranted(t *trial) {
	b := t.New()
	c := t.claim("somebody")
	c.Meta = map[string]string{"address": "10.0.0.1"}
	g := t.acquireAs(b, "job", c)
	for _, contender := range []backends.Backend{b, t.New()} {
		r := t.held(contender, "job", "another term is in force")
		require.Equal(t, backends.Held, r.State)
		require.Equal(t, "somebody", r.Holder)
		require.Equal(t, g.Token, r.Token)
		require.Equal(t, g.ID, r.ID)
		require.Equal(t, g.Version, r.Version)
		require.Equal(t, c.TTL, r.TTL)
		require.Equal(t, c.Meta, r.Meta)
	}
	t.intact(b, g, "a refused contender has changed nothing")
}

func theHoldersNameProvesNothing(t *trial) {
	b, g := t.term("job")
	for _, contender := range []backends.Backend{b, t.New()} {
		t.heldFor(contender, "job", t.claim(g.Holder), "the record is of somebody with the same name")
	}
}

func aGrantWithoutProofIsRefused(t *trial) {
	b, g := t.term("job")
	forged := g
	forged.Proof = nil
	empty := t.cost(func() {
		for _, f := range []backends.Grant{{}, {Name: "job"}, forged} {
			_, err := t.New().Renew(t.Context(), f)
			require.Error(t, err)
			require.Error(t, t.New().Release(t.Context(), f))
		}
	})
	require.Zero(t, empty.Writes)
	t.intact(b, g, "somebody knew all of it but the proof")
}

func theTermIsOverAfterATakeover(t *trial) {
	b, old := t.term("job")
	c := t.New()
	g := t.expire(c, "job")
	t.over(b, old, "another term has begun")
	g = t.intact(c, g, "the old holder has tried to go on")
	t.release(c, g)
	t.over(b, old, "another term has been")
}

func theTermIsOverAfterItsRelease(t *trial) {
	b, g := t.term("job")
	t.release(b, g)
	_, err := b.Renew(t.Context(), g)
	require.ErrorIs(t, err, backends.ErrLost, "renew what was released")
	require.Equal(t, backends.Free, t.look("job").State)
	next := t.acquire(t.New(), "job")
	t.over(b, g, "it was released")
	require.Equal(t, next.Token, t.look("job").Token)
}

func releasingTwiceIsReleasingOnce(t *trial) {
	b, g := t.term("job")
	t.release(b, g)
	before := t.stored("job")
	t.release(b, g)
	require.Equal(t, before, t.stored("job"))
	require.Equal(t, backends.Free, t.look("job").State)
}

// Nobody has taken it over, but somebody has seen that it was free.
func aLateRenewalGoesForEverybodyOrNobody(t *trial) {
	b, g := t.term("job")
	c := t.New()
	t.held(c, "job", "it has just begun")
	time.Sleep(t.patience(t.ttl()))
	require.Equal(t, backends.Free, t.observe(c, "job").State)
	renewed, err := b.Renew(t.Context(), g)
	if err != nil { // a store that judges itself
		require.ErrorIs(t, err, backends.ErrLost)
		t.acquire(c, "job")
		return
	}
	// Otherwise the renewal is a compare-and-swap on the version that everybody
	// has seen: it goes on for all of them, and for the whole TTL.
	require.Equal(t, g.Token, renewed.Token)
	t.held(c, "job", "the renewal has changed the version that was watched")
}

func theTermIsOverWhenTheRecordIsDeleted(t *trial) {
	t.need(t.Delete != nil, "Delete")
	t.needRead()
	b, g := t.term("job")
	t.allow(t.Delete("job"))
	require.Nil(t, t.Read("job"), "the harness has not deleted it")
	_, err := b.Renew(t.Context(), g)
	require.ErrorIs(t, err, backends.ErrLost, "renew")
	require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost, "release")
	require.Nil(t, t.Read("job"), "the term that lost it must not create it again")
	t.acquire(t.New(), "job")
}

// names are such that a store might take two of them for one, or one for a path.
var names = []string{
	"a", "A", "a ", " a", "a.", ".a", ".", "..", "...", "a/b", "a//b", "/a", "a/", "a/.", "a/..", "../a",
	"a\\b", "a%2Fb", "a%2fb", "a%b", "a+b", "a b", "a?b", "a#b", "a:b", "a*b", "a\"b", "a<b>", "a|b", "~a", "-a", "a~",
	"job", "job/x", "job.lock", "job.lease", "job.lease.lock", "job.lease.tmp", "job.json", "Job",
	"é", "e\u0301", "É", "日本", "\U0001F512", "con", "nul", "a\u200b", "a\u00a0",
	strings.Repeat("x", backends.MaxName), strings.Repeat("x", backends.MaxName-1), strings.Repeat("x", backends.MaxName-1) + "y",
	"y" + strings.Repeat("x", backends.MaxName-1), strings.Repeat("é", backends.MaxName/2),
	strings.Repeat("x/", backends.MaxName/2), strings.Repeat("x", 255), strings.Repeat("x", 256),
}

func namesThatDifferAreDifferentLeases(t *trial) {
	b := t.New()
	checker, _ := b.(backends.NameChecker)
	grants := map[string]backends.Grant{}
	for _, name := range names {
		if checker != nil && checker.CheckName(name) != nil {
			t.Logf("refused by CheckName: %v", checker.CheckName(name))
			_, err := b.Acquire(t.Context(), name, t.claim("holder"))
			require.Error(t, err, "Acquire has to refuse what CheckName refuses")
			continue
		}
		grants[name] = t.acquireAs(b, name, t.claim(holderOf(name)))
	}
	require.NotEmpty(t, grants)
	for name, g := range grants {
		r := t.look(name)
		require.Equal(t, g.ID, r.ID, "%q", name)
		require.Equal(t, holderOf(name), r.Holder, "%q", name)
	}
	for name, g := range grants {
		t.release(b, g)
		delete(grants, name)
		for other := range grants { // one is enough, and which does not matter
			require.Equal(t, backends.Held, t.look(other).State, "released %q, looked at %q", name, other)
			break
		}
	}
}

func holderOf(name string) string {
	if len(name) > 100 {
		return name[:50] + name[len(name)-50:]
	}
	return "holder of " + name
}
