package fence_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/fence"
)

// What fences do on databases is tested in contrib/fencesql, which has the drivers. Here
// is what needs none.

func TestARowThatMakesNoSenseIsRefused(t *testing.T) {
	for says, make := range map[string]func() (*fence.Row, error){
		"Dialect(0) is no dialect":  func() (*fence.Row, error) { return fence.NewRow(0, "stock", nil) },
		"Dialect(-1) is no dialect": func() (*fence.Row, error) { return fence.NewRow(-1, "stock", nil) },
		"resource is empty":         func() (*fence.Row, error) { return fence.NewRow(fence.SQLite, "", nil) },
		"at most 255 are allowed":   func() (*fence.Row, error) { return fence.NewRow(fence.SQLite, strings.Repeat("x", 256), nil) },
		"control character U+000A":  func() (*fence.Row, error) { return fence.NewRow(fence.SQLite, "a\nb", nil) },
		`resource "a\xff" is not`:   func() (*fence.Row, error) { return fence.NewRow(fence.SQLite, "a\xff", nil) },
		"table \"xxxxxxxxxxxxxxxxxxxx\"… has 64 bytes: at most 63": func() (*fence.Row, error) {
			return fence.NewRow(fence.SQLite, "stock", &fence.RowOptions{Table: strings.Repeat("x", 64)})
		},
		`table of keys "a\x00" has the control character`: func() (*fence.Row, error) {
			return fence.NewRow(fence.SQLite, "stock", &fence.RowOptions{Keys: "a\x00"})
		},
		`schema "a\x00" has the control character`: func() (*fence.Row, error) {
			return fence.NewRow(fence.SQLite, "stock", &fence.RowOptions{Schema: "a\x00"})
		},
	} {
		_, err := make()
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "\n")
	}
}

func TestAColumnThatMakesNoSenseIsRefused(t *testing.T) {
	for says, o := range map[string]fence.ColumnOptions{
		`schema "a\n" has`:       {Schema: "a\n"},
		`key column "a\n" has`:   {Key: "a\n"},
		`lock column "a\n" has`:  {Lock: "a\n"},
		`token column "a\n" has`: {Token: "a\n"},
	} {
		_, err := fence.NewColumn(fence.MySQL, "accounts", &o)
		require.ErrorContains(t, err, says)
	}
	_, err := fence.NewColumn(fence.MySQL, "", nil)
	require.ErrorContains(t, err, "table is empty")
	_, err = fence.NewColumn(4, "accounts", nil)
	require.ErrorContains(t, err, "Dialect(4) is no dialect: take PostgreSQL, MySQL or SQLite")
}

func TestNothingIsAskedOfTheDatabaseForWhatMakesNoSense(t *testing.T) {
	for _, d := range []fence.Dialect{fence.PostgreSQL, fence.MySQL, fence.SQLite} {
		r, err := fence.NewRow(d, "stock", nil)
		require.NoError(t, err)
		c, err := fence.NewColumn(d, "accounts", nil)
		require.NoError(t, err)
		// A request would need the databases that are nil here.
		require.ErrorContains(t, r.Check(t.Context(), nil, "job", 0), `check at fence "stock": token 0 of lock "job" is none`)
		require.ErrorContains(t, r.Raise(t.Context(), nil, "", 7), `raise at fence "stock": lease name is empty`)
		require.ErrorContains(t, c.Update(t.Context(), nil, 4711, "job", backends.MaxToken+1, ""), `update "accounts", row "4711": token`)
		require.ErrorContains(t, c.Raise(t.Context(), nil, 4711, "job", 0), "token 0")
		_, err = r.Once(t.Context(), nil, "")
		require.ErrorContains(t, err, `record key at fence "stock": key is empty`)
	}
}

// A request would need the database that is nil here.
func TestASetThatCouldCutTheFenceOffIsRefused(t *testing.T) {
	all := []fence.Dialect{fence.PostgreSQL, fence.MySQL, fence.SQLite}
	for set, of := range map[string][]fence.Dialect{
		"balance = 8;":                all,
		"balance = 100 /*":            all,
		"balance = 100 --":            all,
		"note = 'a;b'":                all,
		"balance = 8\x00":             all,
		"note = '\xff'":               all,
		"note = 'a":                   all,
		"note = \"a":                  all,
		"note = 'it's'":               all,
		`note = '\', note = '`:        all,
		"note = `a":                   all,
		"balance = 8 # it's 'nothing": {fence.MySQL},
		"balance = 8 # none":          {fence.MySQL},
		"note = $$a":                  {fence.PostgreSQL},
		"note = $a$ ' $a$":            {fence.PostgreSQL},
		"balance = 8 $":               {fence.PostgreSQL},
		"note = ` ' `":                {fence.PostgreSQL},
		"note = [a":                   {fence.SQLite},
	} {
		for _, d := range of {
			c, err := fence.NewColumn(d, "accounts", nil)
			require.NoError(t, err)
			err = c.Update(t.Context(), nil, 1, "job", 4, set)
			require.ErrorContains(t, err, `update "accounts", row "1": the set `, set)
			assert.NotContains(t, err.Error(), "\n")
			assert.NotContains(t, err.Error(), "balance = ", "it may have values")
		}
	}
}

// Beyond args are the fence's own arguments.
func TestPlaceholdersThatDoNotFitTheArgsAreRefused(t *testing.T) {
	for set, of := range map[string]struct {
		d    fence.Dialect
		says string
	}{
		"balance = $1, note = $2":                      {fence.PostgreSQL, "placeholder $2, but 1 args are given"},
		"note = $99999999999999999999":                 {fence.PostgreSQL, "placeholder $99999999999999999999, but 1"},
		"note = 'a' || $12":                            {fence.PostgreSQL, "placeholder $12, but 1"},
		"balance = ?, note = ?":                        {fence.MySQL, "2 placeholders, but 1 args"},
		"balance = 8, note = '?'":                      {fence.MySQL, "0 placeholders, but 1 args"},
		"balance = ?, \"note\" = ?, `how many?` = [?]": {fence.SQLite, "2 placeholders, but 1 args"},
		"balance = ?1, note = ?1":                      {fence.SQLite, "placeholder ?1: take ? without a number or a name"},
		"balance = :a, note = ?":                       {fence.SQLite, "placeholder :a: take ?"},
		"balance = @a, note = ?":                       {fence.SQLite, "placeholder @a: take ?"},
		"balance = $a, note = ?":                       {fence.SQLite, "placeholder $a: take ?"},
		"note = '?1'":                                  {fence.SQLite, "0 placeholders, but 1 args"},
	} {
		c, err := fence.NewColumn(of.d, "accounts", nil)
		require.NoError(t, err)
		err = c.Update(t.Context(), nil, 1, "job", 4, set, 100)
		require.ErrorContains(t, err, of.says, set)
	}
}

func TestNamesAreQuoted(t *testing.T) {
	const rude = "a\"b`c.d;--"
	for d, quoted := range map[fence.Dialect]string{
		fence.PostgreSQL: "\"a\"\"b`c.d;--\".\"a\"\"b`c.d;--\"",
		fence.SQLite:     "\"a\"\"b`c.d;--\".\"a\"\"b`c.d;--\"",
		fence.MySQL:      "`a\"b``c.d;--`.`a\"b``c.d;--`",
	} {
		r, err := fence.NewRow(d, "stock", &fence.RowOptions{Schema: rude, Table: rude, Keys: rude})
		require.NoError(t, err)
		for _, statement := range r.Migration() {
			assert.Contains(t, statement, "CREATE TABLE IF NOT EXISTS "+quoted+" (", d)
		}
		c, err := fence.NewColumn(d, rude, &fence.ColumnOptions{Schema: rude})
		require.NoError(t, err)
		for _, statement := range c.Migration() {
			assert.Contains(t, statement, "ALTER TABLE "+quoted+" ADD COLUMN ", d)
		}
	}
}

func TestDialectsHaveNames(t *testing.T) {
	assert.Equal(t, "PostgreSQL MySQL SQLite Dialect(9)",
		strings.Join([]string{fence.PostgreSQL.String(), fence.MySQL.String(), fence.SQLite.String(), fence.Dialect(9).String()}, " "))
}

func TestTheMigrationsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/resource.md")
	require.NoError(t, err)
	for _, d := range []fence.Dialect{fence.PostgreSQL, fence.MySQL, fence.SQLite} {
		r, err := fence.NewRow(d, "reminders", nil)
		require.NoError(t, err)
		c, err := fence.NewColumn(d, "accounts", nil)
		require.NoError(t, err)
		for _, statement := range slices.Concat(r.Migration(), c.Migration()) {
			assert.Contains(t, string(page), statement+"\n", d)
		}
	}
}
