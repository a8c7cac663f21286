//go:build unix

package fencesql_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/bloblease/bloblease/fence"
)

const (
	roleVariable = "FENCESQL_LEADER"
	job          = "nightly/reminders"
)

// The steps of a leader's transaction after which it can be killed.
const (
	tokenRaised    = "token raised"
	keyRecorded    = "key recorded"
	effectWritten  = "effect written"
	commitSent     = "commit sent"
	commitAnswered = "commit answered"
)

var steps = []string{tokenRaised, keyRecorded, effectWritten, commitSent, commitAnswered}

// A leader is a process that writes to each customer in turn, until it dies.
type leader struct {
	Database string // its name
	DSN      string
	Resource string
	Token    fence.Token
	Step     string // after which it kills itself, if any
	Customer int    // at whom

	Customers int // how many there are
}

// playLeader is what the child process does.
func playLeader(role string) {
	var l leader
	if err := json.Unmarshal([]byte(role), &l); err != nil {
		panic(err)
	}
	if err := l.lead(context.Background()); err != nil {
		panic(err)
	}
}

func (l *leader) lead(ctx context.Context) error {
	var armed atomic.Bool // the next commit is the last
	db, dialect, err := l.open(&armed)
	if err != nil {
		return err
	}
	row, err := fence.NewRow(dialect, l.Resource, oddRow)
	if err != nil {
		return err
	}
	for c := 1; c <= l.Customers; c++ {
		reach := func(step string) {
			if step == l.Step && c == l.Customer {
				die()
			}
		}
		armed.Store(l.Step == commitSent && c == l.Customer)
		if err := l.serve(ctx, db, row, c, reach); err != nil {
			return err
		}
		fmt.Println("answered", c)
		reach(commitAnswered)
	}
	return nil
}

// serve is one transaction. It is also what takes over do.
func (l *leader) serve(ctx context.Context, db *sql.DB, row *fence.Row, customer int, reach func(step string)) error {
	d := named(l.Database)
	return inTx(ctx, db, nil, func(tx *sql.Tx) error {
		if err := row.Check(ctx, tx, job, l.Token); err != nil {
			return err
		}
		reach(tokenRaised)
		first, err := row.Once(ctx, tx, fmt.Sprint("customer ", customer))
		if err != nil || !first {
			return err
		}
		reach(keyRecorded)
		_, err = tx.ExecContext(ctx, d.q("INSERT INTO journal (resource, token, text) VALUES (?, ?, ?)"), l.Resource, int64(l.Token), fmt.Sprint(customer))
		reach(effectWritten)
		return err
	})
}

// die is kill -9.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func named(name string) database {
	for _, d := range databases {
		if d.name == name {
			return d
		}
	}
	panic(name)
}

// open connects in a way that dies, when it is armed, as soon as a commit has left.
func (l *leader) open(armed *atomic.Bool) (*sql.DB, fence.Dialect, error) {
	dialer := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return &lastWords{c, armed}, err
	}
	d := named(l.Database)
	switch d.dialect {
	case fence.PostgreSQL:
		c, err := pgx.ParseConfig(l.DSN)
		if err != nil {
			return nil, 0, err
		}
		c.DialFunc = dialer
		return stdlib.OpenDB(*c), d.dialect, nil
	case fence.MySQL:
		c, err := mysql.ParseDSN(l.DSN)
		if err != nil {
			return nil, 0, err
		}
		c.DialFunc = dialer
		connector, err := mysql.NewConnector(c)
		if err != nil {
			return nil, 0, err
		}
		return sql.OpenDB(connector), d.dialect, nil
	default:
		db, err := sql.Open(d.driver, l.DSN)
		if err != nil {
			return nil, 0, err
		}
		return db, d.dialect, dieInCommit(db, armed)
	}
}

// lastWords is a connection that ends its process when a commit has been sent.
type lastWords struct {
	net.Conn
	armed *atomic.Bool
}

func (c *lastWords) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.armed.Load() && bytes.Contains(bytes.ToLower(b), []byte("commit")) {
		die()
	}
	return n, err
}

// dieInCommit ends the process when SQLite is about to commit: everything is decided
// but that.
func dieInCommit(db *sql.DB, armed *atomic.Bool) error {
	db.SetMaxOpenConns(1)
	c, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return c.Raw(func(driver any) error {
		driver.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
			if armed.Load() {
				die()
			}
			return 0
		})
		return nil
	})
}

func TestALeaderThatIsKilledAtAnyStepLosesAndDoublesNothing(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			fixed := d
			fixed.dsn = func(testing.TB) string { return dsn }
			db := fixed.open(t)
			for _, step := range steps {
				t.Run(step, func(t *testing.T) {
					l := leader{d.name, dsn, fmt.Sprint("killed after ", step), 7, step, 3, 6}
					answered := l.dies(t)
					l.isSucceeded(t, db, answered)
				})
			}
		})
	}
}

// Where it is killed at any moment, it may have got an answer that nobody has read yet;
// but what somebody has read is there.
func TestALeaderThatIsKilledAtAnyMoment(t *testing.T) {
	runs := 3
	if long {
		runs = 100
	}
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			fixed := d
			fixed.dsn = func(testing.TB) string { return dsn }
			db := fixed.open(t)
			for run := range runs {
				l := leader{Database: d.name, DSN: dsn, Resource: fmt.Sprint("run ", run), Token: 7, Customers: 40}
				answered := l.isKilled(t, time.Duration(rand.IntN(150))*time.Millisecond)
				row, err := fence.NewRow(d.dialect, l.Resource, oddRow)
				require.NoError(t, err)
				next := l
				next.Token++
				require.NoError(t, row.Raise(t.Context(), db, job, next.Token))
				before := l.effects(t, db)
				require.GreaterOrEqual(t, len(before), answered)
				next.completes(t, db, row, before)
			}
		})
	}
}

// dies runs the leader to its end, and returns for how many customers it got an answer.
func (l *leader) dies(t *testing.T) (answered int) {
	t.Helper()
	child, out := l.child(t)
	err := child.Run()
	require.Error(t, err)
	status := child.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, status.Signaled() && status.Signal() == syscall.SIGKILL, "%v: %s", err, out)
	return strings.Count(out.String(), "answered ")
}

// isKilled runs it for that long at most.
func (l *leader) isKilled(t *testing.T, after time.Duration) (answered int) {
	t.Helper()
	child, out := l.child(t)
	require.NoError(t, child.Start())
	time.Sleep(after)
	_ = child.Process.Kill()
	_ = child.Wait() // says that it was killed
	return strings.Count(out.String(), "answered ")
}

func (l *leader) child(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	role, err := json.Marshal(l)
	require.NoError(t, err)
	out := new(bytes.Buffer)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"="+string(role))
	child.Stdout, child.Stderr = out, out
	return child, out
}

// isSucceeded lets the next leader do all of it, and counts.
func (l *leader) isSucceeded(t *testing.T, db *sql.DB, answered int) {
	t.Helper()
	row, err := fence.NewRow(named(l.Database).dialect, l.Resource, oddRow)
	require.NoError(t, err)
	next := *l
	next.Token++
	require.NoError(t, row.Raise(t.Context(), db, job, next.Token))
	before := next.effects(t, db)
	wanted := l.Customer - 1
	if l.Step == commitAnswered {
		wanted++
	}
	require.Equal(t, wanted, answered)
	if l.Step == commitSent { // it has arrived, or it has not
		require.Contains(t, []int{wanted, wanted + 1}, len(before))
	} else {
		require.Len(t, before, wanted, "what was answered is there, and nothing else")
	}
	next.completes(t, db, row, before)
	require.ErrorIs(t, l.serve(t.Context(), db, row, 1, func(string) {}), fence.ErrStale)
}

// completes does all of it, twice: what was done before stays as it was.
func (l *leader) completes(t *testing.T, db *sql.DB, row *fence.Row, before map[int][]fence.Token) {
	t.Helper()
	for range 2 {
		for c := 1; c <= l.Customers; c++ {
			require.NoError(t, l.serve(t.Context(), db, row, c, func(string) {}))
		}
	}
	after := l.effects(t, db)
	for c := 1; c <= l.Customers; c++ {
		assert.Len(t, after[c], 1, "customer %d", c)
	}
	for c := range before {
		assert.Equal(t, before[c], after[c], "customer %d", c)
	}
}

// effects are the tokens of what was written to each customer.
func (l *leader) effects(t *testing.T, db *sql.DB) map[int][]fence.Token {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), named(l.Database).q("SELECT text, token FROM journal WHERE resource = ? ORDER BY seq"), l.Resource)
	require.NoError(t, err)
	defer rows.Close()
	found := map[int][]fence.Token{}
	for rows.Next() {
		var customer int
		var token fence.Token
		require.NoError(t, rows.Scan(&customer, &token))
		found[customer] = append(found[customer], token)
	}
	require.NoError(t, rows.Err())
	return found
}
