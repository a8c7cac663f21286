package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/mutex"
)

// books are the insurer's database, as of one night.
type books struct {
	db    *sql.DB
	fence *fence.Row
	night string
}

// openBooks opens a database, whose tables are there; see create.
func openBooks(ctx context.Context, dsn, night string) (*books, error) {
	driver, dialect := "sqlite", fence.SQLite
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		driver, dialect, dsn = "pgx", fence.PostgreSQL, bounded(dsn)
	} else {
		dsn = "file:" + dsn + "?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)"
	}
	row, err := fence.NewRow(dialect, "reminders", nil)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", err), db.Close())
	}
	return &books{db, row, night}, nil
}

// bounded is the URL of a PostgreSQL that ends a transaction which nobody goes on with:
// a leader that is stopped in the middle of one holds the fence.
func bounded(url string) string {
	sign := "?"
	if strings.Contains(url, "?") {
		sign = "&"
	}
	return url + sign + "idle_in_transaction_session_timeout=2s"
}

// create makes the tables, unless they are there. Nothing in them keeps a customer from
// getting two reminders: that is what this is about.
func (b *books) create(ctx context.Context) error {
	for _, statement := range append(b.fence.Migration(),
		"CREATE TABLE IF NOT EXISTS reminders (night TEXT NOT NULL, customer INTEGER NOT NULL, token BIGINT NOT NULL, worker TEXT NOT NULL)",
	) {
		if _, err := b.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the tables: %w", err)
		}
	}
	return nil
}

// sent returns up to which customer the reminders have been sent.
func (b *books) sent(ctx context.Context) (customer int, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(customer), 0) FROM reminders WHERE night = $1", b.night).Scan(&customer)
	return customer, err
}

// remind sends a reminder: the check of the token, the key and the effect are one
// transaction.
func (b *books) remind(ctx context.Context, lease *mutex.Lease, customer int, worker string) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := b.fence.Check(ctx, tx, lease.Name(), lease.Token()); err != nil {
		return err
	}
	first, err := b.fence.Once(ctx, tx, fmt.Sprintf("%s customer %d", b.night, customer))
	if err != nil || !first {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO reminders (night, customer, token, worker) VALUES ($1, $2, $3, $4)",
		b.night, customer, int64(lease.Token()), worker)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// A reminder is one that was sent.
type reminder struct {
	customer int
	token    mutex.Token
	worker   string
}

// reminders are those of the night, by customer.
func (b *books) reminders(ctx context.Context) (all []reminder, err error) {
	rows, err := b.db.QueryContext(ctx, "SELECT customer, token, worker FROM reminders WHERE night = $1 ORDER BY customer", b.night)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r reminder
		if err := rows.Scan(&r.customer, &r.token, &r.worker); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}
