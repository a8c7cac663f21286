package backendtest

import (
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var markChecks = []check{
	{"DoneIsRecordedAndCarriedForward", doneIsRecordedAndCarriedForward},
	{"ARefusedReleaseRecordsNothing", aRefusedReleaseRecordsNothing},
	{"MetaIsShownForTheWholeTerm", metaIsShownForTheWholeTerm},
	{"MetaIsTheBackendsOwnCopy", metaIsTheBackendsOwnCopy},
	{"UnknownFieldsAreCarriedForward", unknownFieldsAreCarriedForward},
	{"AForeignEditDoesNotEndTheTerm", aForeignEditDoesNotEndTheTerm},
}

func doneIsRecordedAndCarriedForward(t *trial) {
	b, g := t.term("job")
	require.Empty(t, g.Done)
	require.Empty(t, t.look("job").Done)
	g.Done = "2026-10-12 märz & <co>"
	mark := g.Done
	t.release(b, g)
	require.Equal(t, mark, t.look("job").Done)

	c := t.New()
	g = t.acquire(c, "job")
	require.Equal(t, mark, g.Done, "the grant tells what is done")
	require.Equal(t, mark, t.look("job").Done)
	g = t.renew(c, g)
	require.Equal(t, mark, t.look("job").Done, "over a renewal")
	g = t.renew(c, g)
	g.Done = ""
	t.release(c, g)
	require.Equal(t, mark, t.look("job").Done, "over a release that has no mark of its own")

	t.acquire(b, "job")
	g = t.expire(c, "job")
	require.Equal(t, mark, g.Done, "over a takeover")
	g.Done = strings.Repeat("x", backends.MaxDone)
	t.release(c, g)
	require.Equal(t, g.Done, t.look("job").Done, "a new mark replaces the old one")

	if breaker, ok := c.(backends.Breaker); ok {
		t.acquire(b, "job")
		require.NoError(t, breaker.Break(t.Context(), "job", ""))
		require.Equal(t, g.Done, t.look("job").Done, "over a break")
	}
}

func aRefusedReleaseRecordsNothing(t *trial) {
	b, g := t.term("job")
	c := t.New()
	next := t.expire(c, "job")
	g.Done = "not in its own term"
	require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
	require.Empty(t, t.look("job").Done)
	t.release(c, next)
	require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
	require.Empty(t, t.look("job").Done)
}

func metaIsShownForTheWholeTerm(t *trial) {
	b := t.New()
	c := t.claim("holder")
	c.Meta = map[string]string{"address": "10.0.0.1:80", "größe": "<&> \"\\", "empty": ""}
	g := t.acquireAs(b, "job", c)
	require.Equal(t, c.Meta, t.look("job").Meta)
	g = t.renew(b, g)
	g = t.renew(b, g)
	require.Equal(t, c.Meta, t.look("job").Meta, "over renewals")
	t.release(b, g)

	other := t.claim("holder")
	other.Meta = map[string]string{"address": "10.0.0.2:80"}
	g = t.acquireAs(b, "job", other)
	require.Equal(t, other.Meta, t.look("job").Meta, "it is this term's")
	t.release(b, g)
	t.acquire(t.New(), "job")
	require.Empty(t, t.look("job").Meta)
}

func metaIsTheBackendsOwnCopy(t *trial) {
	b := t.New()
	c := t.claim("holder")
	c.Meta = map[string]string{"zone": "a"}
	g := t.acquireAs(b, "job", c)
	c.Meta["zone"] = "b"
	t.observe(b, "job").Meta["zone"] = "c"
	t.held(b, "job", "it has just begun").Meta["zone"] = "d"
	t.renew(b, g)
	require.Equal(t, map[string]string{"zone": "a"}, t.look("job").Meta)
}

func (t *trial) annotate(name string) {
	t.Helper()
	t.need(t.Annotate != nil, "Annotate")
	t.allow(t.Annotate(name, "by a later version"))
	t.annotated(name, "the harness has not annotated it")
}

func (t *trial) annotated(name, why string) {
	t.Helper()
	require.Equal(t, "by a later version", t.Annotation(name), why)
}

func unknownFieldsAreCarriedForward(t *trial) {
	b, g := t.term("job")
	t.annotate("job")
	g = t.renew(b, g)
	t.annotated("job", "over a renewal")
	t.release(b, g)
	t.annotated("job", "over a release")
	c := t.New()
	g = t.acquire(c, "job")
	t.annotated("job", "over the beginning of a term")
	g.Done = "all"
	t.release(c, g)
	t.annotated("job", "over a mark")
	t.acquire(b, "job")
	t.expire(c, "job")
	t.annotated("job", "over a takeover")
	if breaker, ok := c.(backends.Breaker); ok {
		require.NoError(t, breaker.Break(t.Context(), "job", ""))
		t.annotated("job", "over a break")
	}
}

func aForeignEditDoesNotEndTheTerm(t *trial) {
	b := t.New()
	c := t.claim("holder")
	c.Meta = map[string]string{"zone": "a"}
	g := t.acquireAs(b, "job", c)
	g.Done = "once"
	t.release(b, g)
	g = t.acquireAs(b, "job", c)
	t.annotate("job")
	t.held(t.New(), "job", "the edit has not ended it")
	next := t.renew(b, g)
	require.Equal(t, g.ID, next.ID)
	t.annotate("job")
	r := t.look("job")
	require.Equal(t, "once", r.Done)
	require.Equal(t, c.Meta, r.Meta)
	t.release(b, next)
	require.Equal(t, backends.Free, t.look("job").State)
	require.Equal(t, "once", t.look("job").Done)

	t.annotate("job")
	g = t.acquire(b, "job") // which remembers the record from before the edit
	require.Greater(t, g.Token, next.Token)
	t.annotated("job", "the old record was remembered, and the edit lost")
}
