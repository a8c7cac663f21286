//go:build unix

package fencesql_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/bloblease/bloblease/internal/fencetest"
)

func TestRow(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			suiteOnRows(t, d, nil, rounds(200))
		})
	}
}

func TestColumn(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			suiteOnColumns(t, d, rounds(200))
		})
	}
}

func suiteOnRows(t *testing.T, d database, o *sql.TxOptions, rounds int) {
	db := d.open(t)
	fencetest.Run(t, fencetest.Harness{
		New: func(t *testing.T) fencetest.Resource { return newLedger(t, d, db, o) },
		Plant: func(t *testing.T, r fencetest.Resource, token int64) error {
			return r.(*ledger).plant(t.Context(), token)
		},
		Again:  again,
		Rounds: rounds,
	})
}

func suiteOnColumns(t *testing.T, d database, rounds int) {
	db := d.open(t)
	fencetest.Run(t, fencetest.Harness{
		New: func(t *testing.T) fencetest.Resource { return newPage(t, d, db) },
		Plant: func(t *testing.T, r fencetest.Resource, token int64) error {
			return r.(*page).plant(t.Context(), token)
		},
		Again:  again,
		Rounds: rounds,
	})
}

// Beside its default, each database keeps the table of behaviours at every isolation
// level that it has, and with what drivers let people set.
func TestIsolationLevelsAndSettings(t *testing.T) {
	everywhere := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	for _, d := range []database{inPostgreSQL, inMariaDB} {
		for _, level := range everywhere {
			t.Run(fmt.Sprint(d.name, " ", level), func(t *testing.T) {
				t.Parallel()
				suiteOnRows(t, d, &sql.TxOptions{Isolation: level}, rounds(20))
			})
		}
	}
	uncommitted := inMariaDB
	t.Run("MariaDB Read Uncommitted", func(t *testing.T) {
		t.Parallel()
		suiteOnRows(t, uncommitted, &sql.TxOptions{Isolation: sql.LevelReadUncommitted}, rounds(20))
	})
	for _, option := range []string{"clientFoundRows=true", "interpolateParams=true", "charset=latin1&interpolateParams=true", "charset=latin1"} {
		t.Run("MariaDB "+option, func(t *testing.T) {
			t.Parallel()
			d := inMariaDB
			d.dsn = with(d.dsn, option)
			suiteOnRows(t, d, nil, rounds(5))
			suiteOnColumns(t, d, rounds(5))
		})
	}
	for _, option := range []string{"default_query_exec_mode=simple_protocol", "default_query_exec_mode=exec", "default_transaction_isolation=serializable"} {
		t.Run("PostgreSQL "+option, func(t *testing.T) {
			t.Parallel()
			d := inPostgreSQL
			d.dsn = with(d.dsn, option)
			suiteOnRows(t, d, nil, rounds(5))
			suiteOnColumns(t, d, rounds(5))
		})
	}
	for name, pragmas := range map[string]string{"with a rollback journal": "", "immediate": "&_pragma=journal_mode(WAL)&_txlock=immediate"} {
		t.Run("SQLite "+name, func(t *testing.T) {
			t.Parallel()
			d := inSQLite
			d.dsn = sqliteIn(pragmas)
			suiteOnRows(t, d, nil, rounds(5))
			suiteOnColumns(t, d, rounds(5))
		})
	}
}
