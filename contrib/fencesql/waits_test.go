//go:build unix

package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/fence"
)

// open transactions are what these tests are about.
func begin(t *testing.T, db *sql.DB, o *sql.TxOptions) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

func everyDatabase(t *testing.T, test func(t *testing.T, d database, db *sql.DB)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) { t.Parallel(); test(t, d, d.open(t)) })
	}
}

func TestANewLeaderWaitsForTheTransactionOfTheOldOne(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		l := newLedger(t, d, db, nil)
		require.NoError(t, l.Raise(t.Context(), job, 7)) // so that the old one writes nothing to the row
		old := begin(t, db, nil)
		require.NoError(t, l.row.Check(t.Context(), old, job, 7))
		require.NoError(t, l.add(t.Context(), old, 7, "old"))

		short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		require.Error(t, l.Raise(short, job, 8), "the old one is not through, and the context ends the wait")
		effects, err := l.Journal(t.Context())
		require.NoError(t, err)
		require.Empty(t, effects)

		var raised sync.WaitGroup
		raised.Go(func() {
			assert.NoError(t, l.Raise(t.Context(), job, 8))
			effects, err := l.Journal(t.Context())
			assert.NoError(t, err)
			assert.Len(t, effects, 1, "what it reads after the raise has the old one's effect")
		})
		require.NoError(t, old.Commit())
		raised.Wait()
		require.ErrorIs(t, l.Write(t.Context(), job, 7, "late"), fence.ErrStale)
	})
}

func TestWhatIsRolledBackRaisesNothing(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		l := newLedger(t, d, db, nil)
		tx := begin(t, db, nil)
		require.NoError(t, l.row.Check(t.Context(), tx, job, 9))
		first, err := l.row.Once(t.Context(), tx, "key")
		require.NoError(t, err)
		require.True(t, first)
		require.NoError(t, tx.Rollback())
		require.NoError(t, l.Write(t.Context(), "another", 7, "a"), "nobody has claimed it")
		first, err = l.WriteOnce(t.Context(), "another", 7, "key", "b")
		require.NoError(t, err)
		require.True(t, first)
	})
}

// Whoever commits after a refusal has nothing to commit.
func TestARefusalThatIsCommittedRaisesNothing(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		l := newLedger(t, d, db, nil)
		require.NoError(t, l.Write(t.Context(), job, 7, "a"))
		for lock, token := range map[string]fence.Token{job: 6, "another": 8} {
			tx := begin(t, db, nil)
			require.Error(t, l.row.Check(t.Context(), tx, lock, token))
			require.NoError(t, tx.Commit())
		}
		require.NoError(t, l.Write(t.Context(), job, 7, "b"))
	})
}

// A transaction that has read before it checks may hold to a state from before. It is
// refused, or sees that it cannot be serialized; it never writes after a newer one.
func TestATransactionThatBeganEarlierIsRefusedAllTheSame(t *testing.T) {
	levels := map[string][]sql.IsolationLevel{
		"SQLite":     {sql.LevelDefault},
		"PostgreSQL": {sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
		"MariaDB":    {sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
	}
	for _, d := range databases {
		for _, level := range levels[d.name] {
			t.Run(fmt.Sprint(d.name, " ", level), func(t *testing.T) {
				t.Parallel()
				db := d.open(t)
				o := &sql.TxOptions{Isolation: level}
				l := newLedger(t, d, db, o)
				require.NoError(t, l.Write(t.Context(), job, 7, "a"))
				old := begin(t, db, o)
				var n int
				require.NoError(t, old.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+d.ident(oddTable)).Scan(&n))

				require.NoError(t, l.Raise(t.Context(), job, 8))
				require.NoError(t, l.Write(t.Context(), job, 8, "b"))
				err := l.row.Check(t.Context(), old, job, 7)
				require.Error(t, err)
				assert.True(t, errors.Is(err, fence.ErrStale) || again(err), "%v", err)
			})
		}
	}
}

// Two transactions that take two fences in opposite order wait for each other. The
// database ends one of them, and it succeeds when it is tried again.
func TestADeadlockEndsOneOfTwo(t *testing.T) {
	for _, d := range []database{inPostgreSQL, inMariaDB} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			db := d.open(t)
			a, b := newLedger(t, d, db, nil), newLedger(t, d, db, nil)
			var met, both sync.WaitGroup
			met.Add(2)
			cross := func(first, second *ledger, meet func()) error {
				return inTx(t.Context(), db, nil, func(tx *sql.Tx) error {
					if err := first.row.Check(t.Context(), tx, job, 7); err != nil {
						return err
					}
					meet()
					if err := second.row.Check(t.Context(), tx, job, 7); err != nil {
						return err
					}
					return second.add(t.Context(), tx, 7, "x")
				})
			}
			var results [2]error
			both.Go(func() { results[0] = cross(a, b, func() { met.Done(); met.Wait() }) })
			both.Go(func() { results[1] = cross(b, a, func() { met.Done(); met.Wait() }) })
			both.Wait()
			if results[0] == nil {
				results[0], results[1] = results[1], results[0]
			}
			require.Error(t, results[0])
			require.True(t, again(results[0]), "%v", results[0])
			require.NotContains(t, results[0].Error(), "\n")
			require.NoError(t, results[1])
			require.NoError(t, cross(a, b, func() {}))
		})
	}
}

// Many who come to a resource that nobody has claimed do not get into each other's way.
func TestManyFirstOnesDoNotDeadlock(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		for range 20 {
			l := newLedger(t, d, db, nil)
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					err := l.Write(t.Context(), job, 7, fmt.Sprint(n))
					if d.dialect == fence.SQLite && err != nil && again(err) {
						err = l.Write(t.Context(), job, 7, fmt.Sprint(n))
					}
					assert.NoError(t, err)
				})
			}
			all.Wait()
			effects, err := l.Journal(t.Context())
			require.NoError(t, err)
			require.Len(t, effects, 8)
		}
	})
}

// One key that comes from many at once is accepted from one of them, fence or not.
func TestAKeyFromManyAtOnce(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		l := newLedger(t, d, db, nil)
		for round := range 10 {
			var all sync.WaitGroup
			var accepted atomic.Int64
			for range 6 {
				all.Go(func() {
					if l.records(t, fmt.Sprint("key ", round)) {
						accepted.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 1, accepted.Load())
		}
	})
}

// records tries until the database says whether the key is the first.
func (l *ledger) records(t *testing.T, key string) (first bool) {
	for {
		err := inTx(t.Context(), l.db, nil, func(tx *sql.Tx) (err error) {
			first, err = l.row.Once(t.Context(), tx, key)
			return err
		})
		if err == nil || !again(err) {
			assert.NoError(t, err)
			return first
		}
	}
}

func TestRowsThatAreNotThere(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		p := newPage(t, d, db)
		missing := *p
		missing.id = -1
		require.ErrorIs(t, missing.Write(t.Context(), job, 7, "a"), sql.ErrNoRows)
		require.ErrorIs(t, missing.Raise(t.Context(), job, 7), sql.ErrNoRows)
	})
}

// In a transaction, a Column's change is undone with it; outside, it is a statement.
func TestAColumnInATransaction(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		p := newPage(t, d, db)
		tx := begin(t, db, nil)
		require.NoError(t, p.column.Update(t.Context(), tx, p.id, job, 9, "body = 'gone'"))
		require.ErrorIs(t, p.column.Update(t.Context(), tx, p.id, job, 8, "body = 'late'"), fence.ErrStale)
		require.ErrorIs(t, p.column.Raise(t.Context(), tx, p.id, "another", 9), fence.ErrOtherLock)
		require.NoError(t, tx.Rollback())
		require.NoError(t, p.Write(t.Context(), job, 7, "a"))
		effects, err := p.Journal(t.Context())
		require.NoError(t, err)
		require.Len(t, effects, 1)
	})
}

// The driver's error is told in one line, and can be asked for.
func TestErrorsOfTheDatabaseAreTold(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		row, err := fence.NewRow(d.dialect, "stock", nil) // whose tables nobody has made
		require.NoError(t, err)
		err = row.Raise(t.Context(), db, job, 7)
		require.ErrorContains(t, err, "bloblease_fence")
		assert.ErrorContains(t, err, `check at fence "stock": `)
		assert.NotContains(t, err.Error(), "\n")
		column, err := fence.NewColumn(d.dialect, oddTable, nil)
		require.NoError(t, err)
		err = column.Raise(t.Context(), db, 1, job, 7)
		require.ErrorContains(t, err, "fence_")
		assert.NotContains(t, err.Error(), "\n")
	})
}

// What the documentation says of rights is enough.
func TestRightsThatAreEnough(t *testing.T) {
	grants := func(d database) []string {
		return []string{
			"GRANT SELECT, INSERT, UPDATE ON " + d.ident(oddRow.Table) + " TO ",
			"GRANT INSERT ON " + d.ident(oddRow.Keys) + " TO ",
		}
	}
	check := func(t *testing.T, d database, db *sql.DB, restricted string) {
		t.Helper()
		l := newLedger(t, d, d.connect(t, restricted), nil)
		require.Error(t, l.Write(t.Context(), job, 7, "a"), "it may not write to the journal")
		for _, token := range []fence.Token{7, 7, 8} {
			require.NoError(t, l.Raise(t.Context(), job, token))
		}
		require.ErrorIs(t, l.Raise(t.Context(), job, 7), fence.ErrStale)
		for _, fresh := range []bool{true, false} {
			require.NoError(t, inTx(t.Context(), l.db, nil, func(tx *sql.Tx) error {
				first, err := l.row.Once(t.Context(), tx, "key")
				assert.Equal(t, fresh, first)
				return err
			}))
		}
	}
	t.Run("PostgreSQL", func(t *testing.T) {
		d := inPostgreSQL
		dsn := d.dsn(t)
		d.dsn = func(testing.TB) string { return dsn }
		db := d.open(t)
		role := fmt.Sprint("leader", serial.Add(1))
		statements := []string{"CREATE ROLE " + role, "GRANT USAGE ON SCHEMA " + schemaOf(t, db) + " TO " + role}
		for _, g := range grants(d) {
			statements = append(statements, g+role)
		}
		for _, s := range statements {
			_, err := db.ExecContext(t.Context(), s)
			require.NoError(t, err, s)
		}
		check(t, d, db, dsn+"&role="+role)
	})
	t.Run("MariaDB", func(t *testing.T) {
		d := inMariaDB
		dsn := d.dsn(t)
		d.dsn = func(testing.TB) string { return dsn }
		db := d.open(t)
		user := fmt.Sprint("leader", serial.Add(1))
		statements := []string{"CREATE USER " + user + "@localhost"}
		for _, g := range grants(d) {
			statements = append(statements, g+user+"@localhost")
		}
		for _, s := range statements {
			_, err := db.ExecContext(t.Context(), s)
			require.NoError(t, err, s)
		}
		c, err := mysql.ParseDSN(dsn)
		require.NoError(t, err)
		c.User = user
		check(t, d, db, c.FormatDSN())
	})
}

func schemaOf(t *testing.T, db *sql.DB) (schema string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT current_schema()").Scan(&schema))
	return schema
}
