// Guarded shows a write that comes too late, and the resource that refuses it.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

// An account refuses whoever comes with an older token than it has seen.
type account struct {
	mu      sync.Mutex
	highest mutex.Token
	balance int
}

// do runs f on the account, unless there was a higher token before. The check and
// the effect are one step, and the fence is raised even if f only reads.
func (a *account) do(t mutex.Token, f func(balance *int)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t < a.highest {
		return fmt.Errorf("token %d is older than %d", t, a.highest)
	}
	a.highest = t
	f(&a.balance)
	return nil
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
	if err := acc.do(old.Token(), func(balance *int) { read = *balance }); err != nil {
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
	if err := acc.do(next.Token(), func(balance *int) { *balance += 100 }); err != nil {
		return err
	}

	// The old leader goes on, and deposits 5 on the balance that it has read.
	err = acc.do(old.Token(), func(balance *int) { *balance = read + 5 })
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
