package mutex_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/mutex"
)

// Do is the short way: it waits, works, and releases.
func ExampleMutex_Do() {
	m, err := mutex.New(memlease.New(), "reports/daily", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = m.Do(context.Background(), func(ctx context.Context, lease *mutex.Lease) error {
		fmt.Println("holding", lease.Name())
		return nil // the work; it stops when ctx ends
	})
	fmt.Println("result:", err)
	// Output:
	// holding reports/daily
	// result: <nil>
}

// Lock waits for as long as its context lasts. The lease lasts until it is
// released, or lost.
func ExampleMutex_Lock() {
	m, err := mutex.New(memlease.New(), "reports/daily", nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	first, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := first.Release(ctx); err != nil {
		log.Fatal(err)
	}
	second, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the first lease:", first.Err())
	fmt.Println("the second lease:", second.Err())
	fmt.Println("its token is higher:", second.Token() > first.Token())
	if err := second.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// the first lease: lease was released
	// the second lease: <nil>
	// its token is higher: true
}

// TryLock does not wait. It says who holds the lease, if somebody does.
func ExampleMutex_TryLock() {
	store, ctx := memlease.New(), context.Background()
	here, err := mutex.New(store, "reports/daily", &mutex.Options{Holder: "here"})
	if err != nil {
		log.Fatal(err)
	}
	there, err := mutex.New(store, "reports/daily", &mutex.Options{Holder: "there"})
	if err != nil {
		log.Fatal(err)
	}
	lease, err := here.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}

	_, err = there.TryLock(ctx)
	if held, is := errors.AsType[*backends.HeldError](err); is {
		fmt.Println("held by", held.Record.Holder)
	}
	fmt.Println(errors.Is(err, mutex.ErrHeld))
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// held by here
	// true
}

// The context of a lease ends when the lease does, and carries its token to the
// code that writes.
func ExampleLease_Context() {
	m, err := mutex.New(memlease.New(), "reports/daily", nil)
	if err != nil {
		log.Fatal(err)
	}
	lease, err := m.Lock(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := lease.Context(context.Background())
	defer cancel()
	token, _ := backends.TokenFrom(ctx)
	fmt.Println("it carries the token:", token == lease.Token())
	fmt.Println("in force:", ctx.Err() == nil)

	if err := lease.Release(context.Background()); err != nil {
		log.Fatal(err)
	}
	<-ctx.Done()
	fmt.Println("why it ended:", context.Cause(ctx))
	// Output:
	// it carries the token: true
	// in force: true
	// why it ended: lease was released
}
