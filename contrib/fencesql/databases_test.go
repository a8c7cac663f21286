//go:build unix

package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"modernc.org/sqlite"

	"github.com/bloblease/bloblease/contrib/fencesql/dbserver"
	"github.com/bloblease/bloblease/fence"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		playLeader(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// long says whether the long proof is run.
var long = os.Getenv("BLOBLEASE_PROVE") != ""

// rounds is how many rounds a race has: all in the long proof.
func rounds(short int) int {
	if long {
		return 1000
	}
	return short
}

// A database is a place for fences.
type database struct {
	name    string
	dialect fence.Dialect
	driver  string
	dsn     func(testing.TB) string // of an empty one
	tables  []string
}

// ident is a name that has to be quoted; half of it does not show which quotes.
func (d database) ident(s string) string {
	if d.dialect == fence.MySQL {
		return "`" + strings.ReplaceAll(s, "`", "``") + "`"
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// q writes a statement with the placeholders of the database.
func (d database) q(statement string) string {
	for n := 1; d.dialect == fence.PostgreSQL && strings.Contains(statement, "?"); n++ {
		statement = strings.Replace(statement, "?", fmt.Sprintf("$%d", n), 1)
	}
	return statement
}

func sqliteIn(pragmas string) func(testing.TB) string {
	return func(t testing.TB) string {
		return "file:" + filepath.Join(t.TempDir(), "db") + "?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)" + pragmas
	}
}

func with(dsn func(testing.TB) string, option string) func(testing.TB) string {
	return func(t testing.TB) string {
		s := dsn(t)
		if strings.Contains(s, "?") {
			return s + "&" + option
		}
		return s + "?" + option
	}
}

var (
	inSQLite = database{name: "SQLite", dialect: fence.SQLite, driver: "sqlite", dsn: sqliteIn("&_pragma=journal_mode(WAL)"), tables: []string{
		"CREATE TABLE journal (seq INTEGER PRIMARY KEY AUTOINCREMENT, resource TEXT NOT NULL, token INTEGER NOT NULL, text TEXT NOT NULL)",
		`CREATE TABLE "odd ""tab` + "`" + `le" (id INTEGER PRIMARY KEY, body TEXT NOT NULL DEFAULT '')`,
	}}
	inPostgreSQL = database{name: "PostgreSQL", dialect: fence.PostgreSQL, driver: "pgx", dsn: dbserver.PostgreSQL, tables: []string{
		"CREATE TABLE journal (seq BIGSERIAL PRIMARY KEY, resource TEXT NOT NULL, token BIGINT NOT NULL, text TEXT NOT NULL)",
		`CREATE TABLE "odd ""tab` + "`" + `le" (id BIGINT PRIMARY KEY, body TEXT NOT NULL DEFAULT '')`,
	}}
	inMariaDB = database{name: "MariaDB", dialect: fence.MySQL, driver: "mysql", dsn: dbserver.MariaDB, tables: []string{
		"CREATE TABLE journal (seq BIGINT AUTO_INCREMENT PRIMARY KEY, resource VARCHAR(255) NOT NULL, token BIGINT NOT NULL, text VARCHAR(255) NOT NULL) ENGINE=InnoDB",
		"CREATE TABLE `odd \"tab``le` (id BIGINT PRIMARY KEY, body LONGTEXT NOT NULL DEFAULT '') ENGINE=InnoDB",
	}}
	databases = []database{inSQLite, inPostgreSQL, inMariaDB}
)

const oddTable = "odd \"tab`le"

// odd are names of the fence's own tables and columns that need their quotes.
var (
	oddRow    = &fence.RowOptions{Table: "fence; \"a`b", Keys: "keys of?$1 %s"}
	oddColumn = &fence.ColumnOptions{Lock: "select", Token: "to \"k`en"}
)

// open makes the tables of all tests in an empty database. It is closed after the test.
func (d database) open(t testing.TB) *sql.DB {
	t.Helper()
	db := d.connect(t, d.dsn(t))
	row, err := fence.NewRow(d.dialect, "any", oddRow)
	require.NoError(t, err)
	column, err := fence.NewColumn(d.dialect, oddTable, oddColumn)
	require.NoError(t, err)
	for _, statements := range [][]string{d.tables, row.Migration(), row.Migration(), column.Migration()} {
		for _, s := range statements {
			_, err := db.ExecContext(t.Context(), s)
			require.NoError(t, err, s)
		}
	}
	return db
}

func (d database) connect(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, dsn)
	require.NoError(t, err)
	db.SetMaxIdleConns(10) // making a connection takes longer than using it
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// again says of an error that the transactions met, and one of them was ended for it.
func again(err error) bool {
	if e, is := errors.AsType[*pgconn.PgError](err); is {
		return e.Code == "40001" || e.Code == "40P01"
	}
	if e, is := errors.AsType[*mysql.MySQLError](err); is {
		return e.Number == 1213 || e.Number == 1020
	}
	if e, is := errors.AsType[*sqlite.Error](err); is {
		return e.Code()&0xff == 5
	}
	return false
}

// inTx runs f in a transaction.
func inTx(ctx context.Context, db *sql.DB, o *sql.TxOptions, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}
