package fence

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/bloblease/bloblease/backends"
)

const (
	defaultTable = "bloblease_fence"
	defaultKeys  = "bloblease_keys"

	maxResource = 255
	maxKey      = 1024
)

// RowOptions say where a Row is kept. Zero values mean the defaults. Names are quoted:
// any name of 1 to 63 bytes will do, and a dot in it is a dot.
type RowOptions struct {
	// Schema is the schema of both tables, in MySQL the database. Default: the one
	// that the connection is in.
	Schema string
	// Table keeps the fences. Default "bloblease_fence".
	Table string
	// Keys keeps what Once has accepted. Default "bloblease_keys".
	Keys string
}

func (o *RowOptions) filled() (RowOptions, error) {
	var f RowOptions
	if o != nil {
		f = *o
	}
	if f.Table == "" {
		f.Table = defaultTable
	}
	if f.Keys == "" {
		f.Keys = defaultKeys
	}
	if f.Schema != "" {
		if err := checkNames("schema", f.Schema); err != nil {
			return f, err
		}
	}
	return f, checkNames("table", f.Table, "table of keys", f.Keys)
}

// A Row is the fence of a resource in a SQL database: of whatever is changed only by
// transactions that call Check first. It is one row of a table that may have others;
// see Migration. A Row is immutable, and safe for concurrent use.
//
// Transactions that check the same Row follow each other: Check waits until the one
// before has ended. It waits for as long as its context and the database let it. A
// leader that hangs in the middle of a transaction therefore keeps the next one
// waiting, until the database ends that transaction. Set the time-out for that on the
// server: idle_in_transaction_session_timeout in PostgreSQL, idle_write_transaction_timeout
// in MariaDB. SQLite has none; there the process has to go on or die.
//
// Check takes one lock, so it cannot be part of a deadlock with itself. A transaction
// that checks several Rows, or that changes rows before it calls Check, may be: the
// database then lets one of the two fail, and it can be tried again.
type Row struct {
	dialect  Dialect
	resource string
	table    string // quoted
	keys     string // quoted

	raise, look, record string // statements
}

// NewRow makes the fence of resource: 1 to 255 bytes of UTF-8 without control
// characters. It makes no request. A nil o means the defaults.
func NewRow(d Dialect, resource string, o *RowOptions) (*Row, error) {
	names, err := o.filled()
	if err == nil {
		err = d.check()
	}
	if err == nil {
		err = checkText("resource", resource, maxResource)
	}
	if err != nil {
		return nil, fmt.Errorf("fence: %w", err)
	}
	r := &Row{
		dialect:  d,
		resource: resource,
		table:    d.table(names.Schema, names.Table),
		keys:     d.table(names.Schema, names.Keys),
	}
	r.raise, r.look, r.record = r.raising(), r.looking(), r.recording()
	return r, nil
}

// raising is the statement that locks the row, and raises its token if it is lower and
// of the same lock. What is equal is not written again.
func (r *Row) raising() string {
	d := r.dialect
	if d == MySQL {
		return fmt.Sprintf("INSERT INTO %s (resource, lock_name, token) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE"+
			" token = IF(lock_name = VALUES(lock_name) AND token < VALUES(token), VALUES(token), token)", r.table)
	}
	return fmt.Sprintf("INSERT INTO %s AS seen (resource, lock_name, token) VALUES (%s, %s, %s) ON CONFLICT (resource) DO UPDATE"+
		" SET token = excluded.token WHERE seen.lock_name = excluded.lock_name AND seen.token < excluded.token",
		r.table, d.place(1), d.place(2), d.place(3))
}

// looking is the statement that reads the row. In MySQL a plain SELECT may show the
// row as it was when the transaction began.
func (r *Row) looking() string {
	s := fmt.Sprintf("SELECT lock_name, token FROM %s WHERE resource = %s", r.table, r.dialect.place(1))
	if r.dialect == MySQL {
		s += " FOR UPDATE"
	}
	return s
}

// recording is the statement that inserts a key, unless it is there.
func (r *Row) recording() string {
	d := r.dialect
	insert, unless := "INSERT", " ON CONFLICT DO NOTHING"
	if d == MySQL {
		insert, unless = "INSERT IGNORE", ""
	}
	return fmt.Sprintf("%s INTO %s (resource, key_name) VALUES (%s, %s)%s", insert, r.keys, d.place(1), d.place(2), unless)
}

// Check returns nil if token t of this lock is good. Call it first in a transaction,
// before anything is read: then no other transaction that calls it has an effect
// between the check and the end of tx. The token is remembered when tx commits.
//
// After an error, roll tx back. It matches ErrStale or ErrOtherLock if the token was
// refused. Any other comes from the database: a time-out, a deadlock, a transaction
// that cannot be serialized. Then a new transaction may succeed.
//
// It is correct at every isolation level. Above READ COMMITTED tx may read a state that
// is older than the check, from when it began: Raise first, in a transaction of its own.
func (r *Row) Check(ctx context.Context, tx *sql.Tx, lock string, t Token) error {
	if err := check(lock, t); err != nil {
		return r.failed("check", err)
	}
	if _, err := tx.ExecContext(ctx, r.raise, r.dialect.text(r.resource), r.dialect.text(lock), int64(t)); err != nil {
		return r.failed("check", err)
	}
	seen, err := scan(tx.QueryRowContext(ctx, r.look, r.dialect.text(r.resource)))
	if err == nil {
		err = seen.admit(lock, t)
	}
	if err == nil && seen.token != t {
		err = fmt.Errorf("token %d was not remembered: the row has %d", t, seen.token)
	}
	return r.failed("check", err)
}

// Raise is for a new leader, before it reads the state that it builds on: it is a
// transaction that only checks. When it has returned nil, no older token is accepted,
// and the transactions of older ones have ended. After an error that is not one of a
// refused token it may be called again.
func (r *Row) Raise(ctx context.Context, db *sql.DB, lock string, t Token) error {
	if err := check(lock, t); err != nil {
		return r.failed("raise", err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return r.failed("raise", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := r.Check(ctx, tx, lock, t); err != nil {
		return err
	}
	return r.failed("raise", tx.Commit())
}

// Once reports whether key, 1 to 1,024 bytes of UTF-8 without control characters, comes
// to this resource for the first time, and records it when tx commits. If it does not,
// its effect has been committed before: leave it out.
//
//	first, err := row.Once(ctx, tx, "reminder 2026-11 customer 4711")
//	if err != nil || !first {
//		return err
//	}
//
// It needs no token, and keeps a request from being carried out twice whoever sends it:
// one that is sent again because the answer got lost, or by the next leader. Keys are
// kept until somebody deletes them; the column recorded_at says since when.
//
// If another transaction has recorded the same key and has not ended, Once waits for it.
func (r *Row) Once(ctx context.Context, tx *sql.Tx, key string) (first bool, err error) {
	if err := checkText("key", key, maxKey); err != nil {
		return false, r.failed("record key", err)
	}
	result, err := tx.ExecContext(ctx, r.record, r.dialect.text(r.resource), r.dialect.text(key))
	if err != nil {
		return false, r.failed("record key", err)
	}
	n, err := result.RowsAffected()
	return n == 1, r.failed("record key", err)
}

// Migration returns the statements that make the tables, unless they are there. The
// tables serve all resources. Run it, or write its statements into your migrations,
// with the rights to create tables; after that a Row needs SELECT, INSERT and UPDATE on
// the first table and INSERT on the second.
func (r *Row) Migration() []string {
	var text func(int) string
	number, options, stamp := "BIGINT", "", "TIMESTAMP"
	switch r.dialect {
	case MySQL:
		text = func(n int) string { return fmt.Sprintf("VARBINARY(%d)", n) }
		options = " ENGINE=InnoDB"
	case PostgreSQL:
		text = func(int) string { return `TEXT COLLATE "C"` }
		stamp = "TIMESTAMPTZ"
	default:
		text = func(int) string { return "TEXT" }
		number = "INTEGER"
	}
	return []string{
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (resource %s NOT NULL PRIMARY KEY, lock_name %s NOT NULL,"+
			" token %s NOT NULL CHECK (token BETWEEN 1 AND 9007199254740991))%s",
			r.table, text(maxResource), text(backends.MaxName), number, options),
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (resource %s NOT NULL, key_name %s NOT NULL,"+
			" recorded_at %s NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (resource, key_name))%s",
			r.keys, text(maxResource), text(maxKey), stamp, options),
	}
}

func (r *Row) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s at fence %q: %w", doing, r.resource, oneLine(err))
}
