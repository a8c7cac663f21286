//go:build unix

package fencesql_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/fence"
)

// What would cut the condition off the statement, or shift its quotes, is refused before
// anything is sent: neither the row nor its neighbour changes.
func TestNoSetCutsTheFenceOff(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		p, neighbour := newPage(t, d, db), newPage(t, d, db)
		require.NoError(t, p.Write(t.Context(), job, 7, "a"))
		require.NoError(t, neighbour.Write(t.Context(), job, 7, "b"))
		for _, set := range []string{
			"body = 'x' /*",
			"body = 'x';",
			"body = 'x' -- ",
			"body = 'x'\x00",
			"body = 'x",
			`body = "x`,
			`body = '\', id = '`,
		} {
			for _, token := range []fence.Token{4, 7} {
				err := p.column.Update(t.Context(), db, p.id, job, token, set)
				require.ErrorContains(t, err, "the set ", set)
				require.NotErrorIs(t, err, fence.ErrStale)
				assert.NotContains(t, err.Error(), "\n")
			}
		}
		for of, text := range map[*page]string{p: "a", neighbour: "b"} {
			effects, err := of.Journal(t.Context())
			require.NoError(t, err)
			require.Len(t, effects, 1)
			require.Equal(t, text, effects[0].Text)
		}
	})
}

// What lies in quotes that close is no matter.
func TestASetMayHaveStrings(t *testing.T) {
	everyDatabase(t, func(t *testing.T, d database, db *sql.DB) {
		p := newPage(t, d, db)
		require.NoError(t, p.column.Update(t.Context(), db, p.id, job, 7, "body = '7:it''s \"so\" ($.a)'"))
		effects, err := p.Journal(t.Context())
		require.NoError(t, err)
		require.Equal(t, `it's "so" ($.a)`, effects[0].Text)
	})
}
