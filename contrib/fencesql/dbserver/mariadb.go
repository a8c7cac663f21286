//go:build unix

package dbserver

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
)

var mariadb = single{product: product{
	name:    "MariaDB",
	install: "mariadb-server-core mariadb-client-core",
	programs: func() (setup, server string, err error) {
		if setup, err = find("mariadb-install-db"); err == nil {
			server, err = find("mariadbd", "/usr/sbin", "/usr/local/sbin")
		}
		return setup, server, err
	},
	setup: func(dir string) []string {
		return []string{"--no-defaults", "--datadir=" + dir + "/data", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"}
	},
	serve: func(dir string) []string {
		return []string{
			"--no-defaults", "--datadir=" + dir + "/data", "--socket=" + dir + "/socket", "--pid-file=" + dir + "/pid",
			"--skip-networking", "--max-connections=200", "--innodb-flush-log-at-trx-commit=0",
			"--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M", "--character-set-server=utf8mb4",
		}
	},
	signal: "KILL",
	ready:  func(ctx context.Context, dir string) error { return execute(ctx, "mysql", mariadbDSN(dir, ""), "DO 1") },
}}

// MariaDB returns the DSN of an empty database. It is dropped after the test.
func MariaDB(t testing.TB) string {
	t.Helper()
	s, database := mariadb.get(t), fmt.Sprintf("test%d", count.Add(1))
	ask(t, "mysql", mariadbDSN(s.dir, ""), "CREATE DATABASE "+database)
	t.Cleanup(func() { ask(t, "mysql", mariadbDSN(s.dir, ""), "DROP DATABASE "+database) })
	return mariadbDSN(s.dir, database)
}

func mariadbDSN(dir, database string) string {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "unix", dir+"/socket", database
	return c.FormatDSN()
}

func init() {
	_ = mysql.SetLogger(silent{}) // while it waits for the server
}

type silent struct{}

func (silent) Print(...any) {}
