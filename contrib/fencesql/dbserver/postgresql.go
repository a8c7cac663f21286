//go:build unix

package dbserver

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

var postgres = single{product: product{
	name:    "PostgreSQL",
	install: "postgresql",
	programs: func() (setup, server string, err error) {
		const bin = "/usr/lib/postgresql/*/bin"
		if setup, err = find("initdb", bin); err == nil {
			server, err = find("postgres", bin)
		}
		return setup, server, err
	},
	setup: func(dir string) []string {
		return []string{"-D", dir + "/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}
	},
	serve: func(dir string) []string {
		return []string{
			"-D", dir + "/data", "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=200",
			"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=32MB",
			"-c", "autovacuum=off", "-c", "deadlock_timeout=50ms",
		}
	},
	signal: "QUIT", // of all its processes
	ready: func(ctx context.Context, dir string) error {
		return execute(ctx, "pgx", postgresDSN(dir, ""), "SELECT 1")
	},
}}

// PostgreSQL returns the URL of an empty schema, which is where the connection is. It is
// dropped after the test.
func PostgreSQL(t testing.TB) string {
	t.Helper()
	s, schema := postgres.get(t), fmt.Sprintf("test%d", count.Add(1))
	ask(t, "pgx", postgresDSN(s.dir, ""), "CREATE SCHEMA "+schema)
	t.Cleanup(func() { ask(t, "pgx", postgresDSN(s.dir, ""), "DROP SCHEMA "+schema+" CASCADE") })
	return postgresDSN(s.dir, schema)
}

func postgresDSN(dir, schema string) string {
	q := url.Values{"host": {dir}, "user": {"postgres"}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres:///postgres?" + q.Encode()
}

var count atomic.Int64 // of databases

func ask(t testing.TB, driver, dsn, statement string) {
	t.Helper()
	if err := execute(context.WithoutCancel(t.Context()), driver, dsn, statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

func execute(ctx context.Context, driver, dsn, statement string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	if closing := db.Close(); err == nil {
		err = closing
	}
	return err
}
