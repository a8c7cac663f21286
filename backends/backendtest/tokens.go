package backendtest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

var tokenChecks = []check{
	{"TokensGrowOverReleases", tokensGrowOverReleases},
	{"TokensGrowOverExpiries", tokensGrowOverExpiries},
	{"TokensGrowWhenTheRecordWasDeleted", tokensGrowWhenTheRecordWasDeleted},
	{"TokensGrowWhenAnOldRecordWasRestored", tokensGrowWhenAnOldRecordWasRestored},
	{"TokensAreNotBelowTheFloor", tokensAreNotBelowTheFloor},
	{"TokensDoNotWrapAround", tokensDoNotWrapAround},
}

// lifetime is longer than the second within which the store's clock cannot tell
// two lives of a record apart.
const lifetime = 2100 * time.Millisecond

func tokensGrowOverReleases(t *trial) {
	clients := []backends.Backend{t.New(), t.New(), t.New()}
	var highest backends.Token
	for i := range 30 {
		b := clients[i*i%len(clients)]
		g := t.acquire(b, "job")
		require.Greater(t, g.Token, highest)
		require.Equal(t, g.Token, t.look("job").Token)
		highest = g.Token
		t.release(b, g)
		require.Equal(t, g.Token, t.look("job").Token, "a free record keeps the last token")
	}
}

func tokensGrowOverExpiries(t *trial) {
	clients := []backends.Backend{t.New(), t.New()}
	highest := t.acquire(clients[0], "job").Token
	for i := range 3 {
		g := t.expire(clients[(i+1)%2], "job")
		require.Greater(t, g.Token, highest)
		highest = g.Token
	}
}

func tokensGrowWhenTheRecordWasDeleted(t *trial) {
	t.need(t.Delete != nil, "Delete")
	b, observer := t.New(), t.New()
	high := t.claim("holder")
	high.Floor = t.used(b, "job") + 1<<30 // above what the store's clock would give
	g := t.acquireAs(b, "job", high)
	t.release(b, g)
	t.observe(observer, "job")
	for _, client := range []backends.Backend{b, observer} {
		t.allow(t.Delete("job"))
		if client == observer {
			t.observe(client, "job")
		}
		next := t.acquire(client, "job")
		require.Greater(t, next.Token, g.Token, "this client has seen the record that was deleted")
		t.release(client, next)
	}

	t.need(!t.Timeless, "clock in its store")
	require.False(t, t.observe(b, "job").Now.IsZero(), "Record.Now is the store's clock; say so if it has none")
	g = t.acquire(b, "timed")
	t.release(b, g)
	t.allow(t.Delete("timed"))
	time.Sleep(lifetime)
	require.Greater(t, t.acquire(t.New(), "timed").Token, g.Token, "this client has not")

	t.observe(observer, "twice")
	time.Sleep(lifetime)
	g = t.acquire(b, "twice")
	t.release(b, g)
	t.allow(t.Delete("twice"))
	time.Sleep(lifetime)
	require.Greater(t, t.acquire(observer, "twice").Token, g.Token, "this client knows only that there was nothing, long ago")
}

// used is the last token of a lease that was held a few times.
func (t *trial) used(b backends.Backend, name string) (last backends.Token) {
	t.Helper()
	for range 5 {
		g := t.acquire(b, name)
		t.release(b, g)
		last = g.Token
	}
	return last
}

func tokensGrowWhenAnOldRecordWasRestored(t *trial) {
	t.needRead()
	b := t.New()
	t.used(b, "job")
	backup := t.Read("job")
	highest := t.used(b, "job")
	t.allow(t.Overwrite("job", backup))
	g := t.acquire(b, "job")
	require.Greater(t, g.Token, highest, "this client has seen what the backup does not know")
	t.release(b, g)

	t.need(!t.Timeless, "clock in its store")
	t.allow(t.Overwrite("job", backup))
	time.Sleep(lifetime)
	require.Greater(t, t.acquire(t.New(), "job").Token, g.Token, "this client has not")
}

func tokensAreNotBelowTheFloor(t *trial) {
	b := t.New()
	g := t.acquire(b, "job")
	t.release(b, g)
	c := t.claim("holder")
	c.Floor = g.Token + 1<<40
	raised := t.acquireAs(b, "job", c)
	require.GreaterOrEqual(t, raised.Token, c.Floor)
	t.release(b, raised)
	require.Greater(t, t.acquire(t.New(), "job").Token, raised.Token, "a lower floor, or none, lowers nothing")

	fresh := c
	fresh.Floor = g.Token + 1<<41
	require.GreaterOrEqual(t, t.acquireAs(t.New(), "new", fresh).Token, fresh.Floor, "of a name never used")
}

func tokensDoNotWrapAround(t *trial) {
	b := t.New()
	c := t.claim("holder")
	c.Floor = backends.MaxToken
	g := t.acquireAs(b, "job", c)
	require.Equal(t, backends.MaxToken, g.Token)
	g = t.renew(b, g)
	t.release(b, g)
	before := t.stored("job")
	for _, contender := range []backends.Backend{b, t.New()} {
		_, err := contender.Acquire(t.Context(), "job", t.claim("holder"))
		t.open(err, "there is no higher token")
	}
	require.Equal(t, before, t.stored("job"))
}
