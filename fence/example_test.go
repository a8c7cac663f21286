package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/mutex"
)

func Example() {
	ctx, store := context.Background(), memlease.New()
	lock := func() *mutex.Lease {
		m, err := mutex.New(store, "account", nil)
		if err != nil {
			panic(err)
		}
		lease, err := m.Lock(ctx)
		if err != nil {
			panic(err)
		}
		return lease
	}

	var gate fence.Gate // belongs to the balance
	balance := 0
	old := lock()

	// The old leader is stopped, and its lease runs out. A new one deposits.
	_ = store.Break(ctx, "account", "")
	next := lock()
	_ = gate.Do(next.Name(), next.Token(), func() error { balance += 100; return nil })

	// The old one goes on, and would overwrite that.
	err := gate.Do(old.Name(), old.Token(), func() error { balance = 5; return nil })
	fmt.Println(balance, errors.Is(err, fence.ErrStale))
	_ = errors.Join(old.Release(ctx), next.Release(ctx))
	// Output: 100 true
}

// A transaction of the leader: the check, the key, the effect.
func ExampleRow() {
	remind := func(ctx context.Context, db *sql.DB, row *fence.Row, lease *mutex.Lease, customer int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it does nothing
		if err := row.Check(ctx, tx, lease.Name(), lease.Token()); err != nil {
			return err // fence.ErrStale: another leads
		}
		first, err := row.Once(ctx, tx, fmt.Sprintf("2026-11 customer %d", customer))
		if err != nil || !first {
			return err // not first: this customer has a reminder already
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO reminders (customer) VALUES ($1)", customer); err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = remind
}

// The fence is in the row that is changed. In MySQL and SQLite the placeholder is "?".
func ExampleColumn_Update() {
	deposit := func(ctx context.Context, db *sql.DB, lease *mutex.Lease) error {
		accounts, err := fence.NewColumn(fence.PostgreSQL, "accounts", nil)
		if err != nil {
			return err
		}
		return accounts.Update(ctx, db, 4711, lease.Name(), lease.Token(), "balance = balance + $1", 100)
	}
	_ = deposit
}
