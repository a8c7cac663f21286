// Guarded shows a write that comes too late, and the resource that refuses it.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/mutex"
)

// An account refuses whoever comes with an older token than it has seen.
type account struct {
	gate    fence.Gate
	balance int
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, acc := memlease.New(), &account{}
	old, err := lock(ctx, store, "the old leader")
	if err != nil {
		return err
	}
	read := 0
	if err := acc.gate.Do(old.Name(), old.Token(), func() error { read = acc.balance; return nil }); err != nil {
		return err
	}

	// The old leader is stopped here, in the middle of its work. Somebody who
	// thinks that it is dead frees its lease, and a new leader deposits 100.
	if err := store.Break(ctx, old.Name(), ""); err != nil {
		return err
	}
	next, err := lock(ctx, store, "the new leader")
	if err != nil {
		return err
	}
	if err := acc.gate.Do(next.Name(), next.Token(), func() error { acc.balance += 100; return nil }); err != nil {
		return err
	}

	// The old leader goes on, and deposits 5 on the balance that it has read.
	err = acc.gate.Do(old.Name(), old.Token(), func() error { acc.balance = read + 5; return nil })
	fmt.Println("the old leader:", err)
	fmt.Println("the balance:", acc.balance)
	return next.Release(ctx)
}

// lock is what each of the two processes would do.
func lock(ctx context.Context, store *memlease.Backend, holder string) (*mutex.Lease, error) {
	m, err := mutex.New(store, "account", &mutex.Options{Holder: holder})
	if err != nil {
		return nil, err
	}
	return m.Lock(ctx)
}
