//go:build unix

package fencesql_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a check costs: the same transaction without one, with one, and with a key too.
func BenchmarkTransaction(b *testing.B) {
	for _, d := range databases {
		db := d.open(b)
		l := newLedger(b, d, db, nil)
		require.NoError(b, l.Raise(b.Context(), job, 7))
		run := func(name string, f func(tx *sql.Tx, n int) error) {
			b.Run(d.name+"/"+name, func(b *testing.B) {
				for n := 0; b.Loop(); n++ {
					require.NoError(b, inTx(b.Context(), db, nil, func(tx *sql.Tx) error {
						if err := f(tx, n); err != nil {
							return err
						}
						return l.add(b.Context(), tx, 7, "x")
					}))
				}
			})
		}
		run("plain", func(*sql.Tx, int) error { return nil })
		run("checked", func(tx *sql.Tx, _ int) error { return l.row.Check(b.Context(), tx, job, 7) })
	}
}
