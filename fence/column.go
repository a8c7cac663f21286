package fence

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// ColumnOptions name the columns of a Column. Zero values mean the defaults. Names are
// quoted: any name of 1 to 63 bytes will do.
type ColumnOptions struct {
	// Schema is the schema of the table, in MySQL the database. Default: the one
	// that the connection is in.
	Schema string
	// Key is the column that names the row: the primary key, or another that is
	// unique. Default "id".
	Key string
	// Lock and Token are the columns that are the fence; see Migration. Default
	// "fence_lock" and "fence_token".
	Lock, Token string
}

func (o *ColumnOptions) filled() (ColumnOptions, error) {
	var f ColumnOptions
	if o != nil {
		f = *o
	}
	for name, otherwise := range map[*string]string{&f.Key: "id", &f.Lock: "fence_lock", &f.Token: "fence_token"} {
		if *name == "" {
			*name = otherwise
		}
	}
	if f.Schema != "" {
		if err := checkNames("schema", f.Schema); err != nil {
			return f, err
		}
	}
	return f, checkNames("key column", f.Key, "lock column", f.Lock, "token column", f.Token)
}

// A Column is the fence of the rows of a table, each by itself, in two columns of the
// row. The check and the effect are one statement, which needs no transaction. It
// covers what that statement changes, and nothing else; a row that is deleted takes its
// fence with it. A Column is immutable, and safe for concurrent use.
type Column struct {
	dialect          Dialect
	name             string // for errors
	table            string // this and the next are quoted
	key, lock, token string
}

// An Execer is a *sql.DB, *sql.Tx or *sql.Conn.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// NewColumn makes the fence of the rows of a table. It makes no request. A nil o means
// the defaults.
func NewColumn(d Dialect, table string, o *ColumnOptions) (*Column, error) {
	names, err := o.filled()
	if err == nil {
		err = d.check()
	}
	if err == nil {
		err = checkNames("table", table)
	}
	if err != nil {
		return nil, fmt.Errorf("fence: %w", err)
	}
	return &Column{
		dialect: d,
		name:    table,
		table:   d.table(names.Schema, table),
		key:     d.quote(names.Key),
		lock:    d.quote(names.Lock),
		token:   d.quote(names.Token),
	}, nil
}

// Update changes the row with this key if token t of this lock is good there. Set is
// what to change, as after SET in SQL, with placeholders for args:
//
//	err := accounts.Update(ctx, db, 4711, lease.Name(), lease.Token(), "balance = balance + $1", 100)
//
// It is SQL, so nothing that comes from outside may be put into it but as one of args.
// The columns of the fence are set beside it. A set that could cut the fence off is
// refused before anything is sent: one with a quote that is not closed or, even within
// quotes, with ";", "--", "/*", a backslash or a zero byte. Outside quotes, MySQL takes
// no "#", and PostgreSQL no backtick, and no "$" but that of a placeholder.
// So is one with placeholders that do not fit args: a $n of PostgreSQL is one of args,
// and for the others there are as many ?, without numbers or names, as args.
//
// Nil means that the row was changed, or, in a transaction, will have been when that
// commits. ErrStale and ErrOtherLock mean that it was not, sql.ErrNoRows that there is
// no such row. After any other error it is not known.
func (c *Column) Update(ctx context.Context, e Execer, key any, lock string, t Token, set string, args ...any) error {
	if err := check(lock, t); err != nil {
		return c.failed("update", key, err)
	}
	if err := c.dialect.checkSet(set, len(args)); err != nil {
		return c.failed("update", key, err)
	}
	statement, args := c.updating(key, lock, t, set, args)
	result, err := e.ExecContext(ctx, statement, args...)
	if err != nil {
		return c.failed("update", key, err)
	}
	switch changed, err := c.changed(result, t); {
	case err != nil:
		return c.failed("update", key, err)
	case changed:
		return nil
	default:
		return c.failed("update", key, c.refusal(ctx, e, key, lock, t))
	}
}

// Raise is for a new leader, before it reads the row that it builds on. When it has
// returned nil, no older token is accepted there. Otherwise it returns what Update does.
func (c *Column) Raise(ctx context.Context, e Execer, key any, lock string, t Token) error {
	return c.Update(ctx, e, key, lock, t, "")
}

// updating is the statement of Update, and its arguments.
func (c *Column) updating(key any, lock string, t Token, set string, args []any) (string, []any) {
	d, n := c.dialect, len(args)
	if strings.TrimSpace(set) != "" {
		set += "\n, "
	}
	value := d.place(n + 2)
	if d == MySQL {
		value = "LAST_INSERT_ID(?)" // see changed
	}
	statement := fmt.Sprintf("UPDATE %s SET %s%s = %s, %s = %s\nWHERE %s = %s AND %s <= %s AND (%s = %s OR %s = 0)",
		c.table, set, c.lock, d.place(n+1), c.token, value,
		c.key, d.place(n+3), c.token, d.place(n+4), c.lock, d.place(n+5), c.token)
	all := append(make([]any, 0, n+5), args...)
	return statement, append(all, d.text(lock), int64(t), key, int64(t), d.text(lock))
}

// changed reports whether the row was found with a token that t may follow. MySQL counts
// only rows that are different afterwards, or all that were found, as the connection
// likes it. But it tells what LAST_INSERT_ID was given, and 0 if it was not reached.
func (c *Column) changed(result sql.Result, t Token) (bool, error) {
	if c.dialect == MySQL {
		reached, err := result.LastInsertId()
		return Token(reached) == t, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// refusal is why Update has changed nothing.
func (c *Column) refusal(ctx context.Context, e Execer, key any, lock string, t Token) error {
	look := fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s = %s", c.lock, c.token, c.table, c.key, c.dialect.place(1))
	if c.dialect == MySQL {
		look += " FOR UPDATE" // a plain SELECT may show the row as it was before
	}
	seen, err := scan(e.QueryRowContext(ctx, look, key))
	if err == nil {
		err = seen.admit(lock, t)
	}
	if err == nil {
		err = fmt.Errorf("the row has changed meanwhile, to token %d: nothing was written", seen.token)
	}
	return err
}

// Migration returns the statements that add the columns to the table.
func (c *Column) Migration() []string {
	text, number := "TEXT", "BIGINT"
	switch c.dialect {
	case MySQL:
		text = "VARBINARY(1024)"
	case PostgreSQL:
		text = `TEXT COLLATE "C"`
	default:
		number = "INTEGER"
	}
	return []string{
		fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s NOT NULL DEFAULT ''", c.table, c.lock, text),
		fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s NOT NULL DEFAULT 0 CHECK (%s BETWEEN 0 AND 9007199254740991)",
			c.table, c.token, number, c.token),
	}
}

func (c *Column) failed(doing string, key any, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q, row %.60q: %w", doing, c.name, fmt.Sprint(key), oneLine(err))
}
