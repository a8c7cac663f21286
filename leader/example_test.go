package leader_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// Run leads whenever it can. It returns when its context ends, or when the task
// has no more to do.
func ExampleRun() {
	m, err := mutex.New(memlease.New(), "invoices", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = leader.Run(context.Background(), m, func(ctx context.Context, lease *mutex.Lease) error {
		fmt.Println("leading", lease.Name())
		return nil // all is done
	}, nil)
	fmt.Println("result:", err)
	// Output:
	// leading invoices
	// result: <nil>
}

// A task that cannot go on here, but perhaps elsewhere, resigns.
func ExampleRun_resign() {
	m, err := mutex.New(memlease.New(), "invoices", &mutex.Options{Poll: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	term := 0
	err = leader.Run(context.Background(), m, func(context.Context, *mutex.Lease) error {
		if term++; term == 1 {
			return fmt.Errorf("the disk is full: %w", leader.ErrResign)
		}
		return errors.New("the disk is still full")
	}, nil)
	fmt.Println(term, "terms;", err)
	// Output:
	// 2 terms; the disk is still full
}

// Watch tells who leads, to a process that does not want to.
func ExampleWatch() {
	store, ctx := memlease.New(), context.Background()
	candidate, err := mutex.New(store, "invoices", &mutex.Options{Holder: "a", Meta: map[string]string{"url": "http://a:8080"}})
	if err != nil {
		log.Fatal(err)
	}
	onlooker, err := mutex.New(store, "invoices", &mutex.Options{Poll: 10 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	lease, err := candidate.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range leader.Watch(ctx, onlooker) {
		if err != nil {
			fmt.Println("cannot tell:", err)
			continue
		}
		if r.State != backends.Held {
			fmt.Println("nobody leads")
			break
		}
		fmt.Println(r.Holder, "leads, at", r.Meta["url"])
		if err := lease.Release(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// a leads, at http://a:8080
	// nobody leads
}

// A task that beats is known to be alive. Without a beat for Liveness the lease is
// given up, and another process gets its turn.
func ExampleBeat() {
	m, err := mutex.New(memlease.New(), "invoices", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = leader.Run(context.Background(), m, func(ctx context.Context, _ *mutex.Lease) error {
		for range 3 {
			leader.Beat(ctx)
			fmt.Println("one invoice")
		}
		return nil
	}, &leader.Options{Liveness: time.Minute})
	fmt.Println("result:", err)
	// Output:
	// one invoice
	// one invoice
	// one invoice
	// result: <nil>
}
