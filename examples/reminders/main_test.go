//go:build unix

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/contrib/fencesql/dbserver"
	"github.com/bloblease/bloblease/mutex"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		main()
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("20") // what waits for a lease to run out waits together
	}
	goleak.VerifyTestMain(m)
}

// places are where the reminders can be.
var places = map[string]func(testing.TB) string{
	"SQLite":     func(t testing.TB) string { return filepath.Join(t.TempDir(), "books.db") },
	"PostgreSQL": dbserver.PostgreSQL,
}

func TestTheStory(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			s := settings{DB: place(t), Night: "a night", Customers: 12}
			require.NoError(t, tell(t.Context(), s, &out), out.String())
			assert.Regexp(t, `A customer 6: hangs[^!]*B goes on at customer 6\n[^!]*A customer 6: REFUSED: check at fence "reminders": token \d+ is older than \d+`, out.String())
			assert.NotContains(t, out.String(), "BROKEN")
			assert.Len(t, regexp.MustCompile(`(?m)  ok  .*$`).FindAllString(out.String(), -1), 4)
		})
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), []string{"-customers", "9"}), "too few")
	require.ErrorContains(t, run(t.Context(), []string{"surplus"}), `argument "surplus" is not expected`)
	require.ErrorContains(t, run(t.Context(), []string{"-store", filepath.Join(t.TempDir(), "nowhere")}), "no such container")
	require.ErrorContains(t, run(t.Context(), []string{"-store", "s3://x"}), "-store takes a directory, or the https URL of an Azure container, and this is neither")
	require.ErrorContains(t, run(t.Context(), []string{"-store", t.TempDir(), "-db", filepath.Join(t.TempDir(), "no", "db")}), "open the database")
}

func TestAWorkerEndsForAWrongSetUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s := settings{DB: places["SQLite"](t), Store: t.TempDir(), Night: "a night", Customers: 12, TTL: time.Second}
	store, err := openStore(s.Store)
	require.NoError(t, err)
	m, err := mutex.New(store, "nightly/reminders", nil)
	require.NoError(t, err)
	require.NoError(t, m.Do(ctx, func(_ context.Context, l *mutex.Lease) error { return l.SetMark("not of Once") }))
	require.ErrorIs(t, work(ctx, s), backends.ErrForeign)
}

// Nobody knows when processes die or hang. Whenever it is, each customer gets one
// reminder, and no leader's comes after a newer one's.
func TestWheneverWorkersDieOrHang(t *testing.T) {
	runs := 10 // on each database
	if os.Getenv("BLOBLEASE_PROVE") != "" {
		runs = 100
	}
	for name, place := range places {
		for seed := range runs {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				disturbed(t, place(t), rand.New(rand.NewPCG(uint64(seed), uint64(len(name)))))
			})
		}
	}
}

// disturbed is a night in which workers are killed, and stopped for a while. Two are
// there all the time.
func disturbed(t *testing.T, db string, random *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	s := settings{DB: db, Store: t.TempDir(), Night: "a night", Customers: 150, TTL: time.Second}
	b, err := openBooks(ctx, s.DB, s.Night)
	require.NoError(t, err)
	defer b.db.Close()
	require.NoError(t, b.create(ctx))
	c := &crew{settings: s, out: io.Writer(&out), start: time.Now()}
	defer func() {
		if t.Failed() {
			t.Log(out.String())
		}
	}()
	members := map[string]*member{}
	for _, name := range []string{"A", "B"} {
		members[name], err = c.hire(ctx, name, 0)
		require.NoError(t, err)
	}
	for range 4 {
		time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
		name := []string{"A", "B"}[random.IntN(2)]
		if random.IntN(2) == 0 {
			_ = members[name].cmd.Process.Kill() // it may have ended
			c.tell("  %s is killed (%v), and started again", name, <-members[name].ended)
			members[name], err = c.hire(ctx, name, 0)
			require.NoError(t, err)
			continue
		}
		c.tell("  %s is stopped", name)
		process := members[name].cmd.Process
		_ = pause(process) // it may have ended
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
		c.tell("  %s is woken", name)
		_ = wake(process)
	}
	for _, m := range members {
		require.NoError(t, m.leave(ctx))
	}
	all, err := b.reminders(ctx)
	require.NoError(t, err)
	require.NoError(t, eachHasOne(all, s.Customers))
}
