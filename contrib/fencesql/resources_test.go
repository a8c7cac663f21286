//go:build unix

package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/internal/fencetest"
)

var serial atomic.Int64 // of resources

// A ledger is a journal in a table, guarded by a Row.
type ledger struct {
	database
	db  *sql.DB
	row *fence.Row
	id  string
	tx  *sql.TxOptions
}

func newLedger(t testing.TB, d database, db *sql.DB, o *sql.TxOptions) *ledger {
	t.Helper()
	id := fmt.Sprintf("resource ' \" ` \\ %d", serial.Add(1))
	row, err := fence.NewRow(d.dialect, id, oddRow)
	require.NoError(t, err)
	return &ledger{d, db, row, id, o}
}

func (l *ledger) Write(ctx context.Context, lock string, t fence.Token, text string) error {
	return inTx(ctx, l.db, l.tx, func(tx *sql.Tx) error {
		if err := l.row.Check(ctx, tx, lock, t); err != nil {
			return err
		}
		return l.add(ctx, tx, t, text)
	})
}

func (l *ledger) WriteOnce(ctx context.Context, lock string, t fence.Token, key, text string) (first bool, err error) {
	err = inTx(ctx, l.db, l.tx, func(tx *sql.Tx) error {
		if err := l.row.Check(ctx, tx, lock, t); err != nil {
			return err
		}
		if first, err = l.row.Once(ctx, tx, key); err != nil || !first {
			return err
		}
		return l.add(ctx, tx, t, text)
	})
	return first && err == nil, err
}

func (l *ledger) add(ctx context.Context, tx *sql.Tx, t fence.Token, text string) error {
	_, err := tx.ExecContext(ctx, l.q("INSERT INTO journal (resource, token, text) VALUES (?, ?, ?)"), l.id, int64(t), text)
	return err
}

func (l *ledger) Raise(ctx context.Context, lock string, t fence.Token) error {
	return l.row.Raise(ctx, l.db, lock, t)
}

func (l *ledger) Journal(ctx context.Context) (effects []fencetest.Effect, err error) {
	rows, err := l.db.QueryContext(ctx, l.q("SELECT token, text FROM journal WHERE resource = ? ORDER BY seq"), l.id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e fencetest.Effect
		if err := rows.Scan(&e.Token, &e.Text); err != nil {
			return nil, err
		}
		effects = append(effects, e)
	}
	return effects, rows.Err()
}

func (l *ledger) plant(ctx context.Context, token int64) error {
	_, err := l.db.ExecContext(ctx, l.q("UPDATE "+l.ident(oddRow.Table)+" SET token = ? WHERE resource = ?"), token, l.bytes(l.id))
	return err
}

// bytes is an argument for a column of text that is binary in MariaDB.
func (d database) bytes(s string) any {
	if d.dialect == fence.MySQL {
		return []byte(s)
	}
	return s
}

// A page is a journal in one row, guarded by columns of it.
type page struct {
	database
	db     *sql.DB
	column *fence.Column
	id     int64
}

func newPage(t testing.TB, d database, db *sql.DB) *page {
	t.Helper()
	column, err := fence.NewColumn(d.dialect, oddTable, oddColumn)
	require.NoError(t, err)
	p := &page{d, db, column, serial.Add(1)}
	_, err = db.ExecContext(t.Context(), d.q("INSERT INTO "+d.ident(oddTable)+" (id) VALUES (?)"), p.id)
	require.NoError(t, err)
	return p
}

func (p *page) Write(ctx context.Context, lock string, t fence.Token, text string) error {
	set, arg := "body = body || $1", "%d:%s;"
	switch p.dialect {
	case fence.MySQL:
		set = "body = CONCAT(body, ?)"
	case fence.SQLite:
		set = "body = body || ?"
	}
	return p.column.Update(ctx, p.db, p.id, lock, t, set, fmt.Sprintf(arg, t, text))
}

func (p *page) Raise(ctx context.Context, lock string, t fence.Token) error {
	return p.column.Raise(ctx, p.db, p.id, lock, t)
}

func (p *page) Journal(ctx context.Context) ([]fencetest.Effect, error) {
	var body string
	err := p.db.QueryRowContext(ctx, p.q("SELECT body FROM "+p.ident(oddTable)+" WHERE id = ?"), p.id).Scan(&body)
	if err != nil {
		return nil, err
	}
	var effects []fencetest.Effect
	for e := range strings.SplitSeq(strings.TrimSuffix(body, ";"), ";") {
		if token, text, ok := strings.Cut(e, ":"); ok {
			n, err := strconv.ParseUint(token, 10, 64)
			if err != nil {
				return nil, err
			}
			effects = append(effects, fencetest.Effect{Token: fence.Token(n), Text: text})
		}
	}
	return effects, nil
}

func (p *page) plant(ctx context.Context, token int64) error {
	_, err := p.db.ExecContext(ctx, p.q("UPDATE "+p.ident(oddTable)+" SET "+p.ident(oddColumn.Token)+" = ? WHERE id = ?"), token, p.id)
	return err
}
