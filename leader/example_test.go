package leader_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"
	_ "time/tzdata" // the zone of an example

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

// Two replicas run a nightly job, and so does a scheduler that calls twice. Whoever
// comes first does the work; the others find it done.
func ExampleOnce() {
	store, ctx := memlease.New(), context.Background()
	night := time.Date(2026, 10, 12, 2, 0, 0, 0, time.UTC) // the time for which the scheduler calls
	for _, replica := range []string{"a", "b"} {
		m, err := mutex.New(store, "report", nil)
		if err != nil {
			log.Fatal(err)
		}
		ran, err := leader.Once(ctx, m, leader.SlotAt(night), func(ctx context.Context, _ *mutex.Lease) error {
			due, _ := leader.SlotTime(ctx)
			fmt.Println("the report of", due.Format(time.DateOnly), "by", replica)
			return nil
		}, nil)
		fmt.Println(replica, "ran it:", ran, err)
	}
	// Output:
	// the report of 2026-10-12 by a
	// a ran it: true <nil>
	// b ran it: false <nil>
}

// A handler of events that are delivered more than once.
func ExampleSlotID() {
	store, ctx := memlease.New(), context.Background()
	handle := func(event string) error {
		m, err := mutex.New(store, "events", nil)
		if err != nil {
			return err
		}
		_, err = leader.Once(ctx, m, leader.SlotID(event), func(context.Context, *mutex.Lease) error {
			fmt.Println("handling", event)
			return nil
		}, nil)
		return err
	}
	for _, event := range []string{"evt_1", "evt_2", "evt_1"} {
		if err := handle(event); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// handling evt_1
	// handling evt_2
}

// Without a scheduler that says for which time it calls, the slot goes by the store's
// clock: each replica starts the job at about two o'clock, by a clock of its own.
func ExampleEvery() {
	store, ctx := memlease.New(), context.Background()
	runs := 0
	for range 3 { // replicas
		m, err := mutex.New(store, "report", nil)
		if err != nil {
			log.Fatal(err)
		}
		slot := leader.Every(24*time.Hour, 2*time.Hour)
		ran, err := leader.Once(ctx, m, slot, func(context.Context, *mutex.Lease) error { return nil }, nil)
		if err != nil {
			log.Fatal(err)
		}
		if ran {
			runs++
		}
	}
	fmt.Println(runs, "run")
	// Output:
	// 1 run
}

// A job that has no slots: short as it is, the lease is held for longer than clocks
// differ.
func ExampleOnce_minHold() {
	m, err := mutex.New(memlease.New(), "cleanup", nil)
	if err != nil {
		log.Fatal(err)
	}
	ran, err := leader.Once(context.Background(), m, leader.Slot{}, func(context.Context, *mutex.Lease) error {
		return nil
	}, &leader.OnceOptions{MinHold: 10 * time.Millisecond})
	fmt.Println(ran, err)
	// Output:
	// true <nil>
}

// Once for each day in Berlin, though two o'clock comes twice in the autumn.
func ExampleSlotAt_localDay() {
	store, ctx := memlease.New(), context.Background()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		log.Fatal(err)
	}
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC) // 02:30, and an hour later again
	for _, due := range []time.Time{first, first.Add(time.Hour), first.Add(25 * time.Hour)} {
		m, err := mutex.New(store, "report", nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(due.In(berlin).Format("Jan 2, 15:04 MST: "))
		ran, err := leader.Once(ctx, m, dayIn(berlin, due), func(context.Context, *mutex.Lease) error { return nil }, nil)
		fmt.Println(ran, err)
	}
	// Output:
	// Oct 25, 02:30 CEST: true <nil>
	// Oct 25, 02:30 CET: false <nil>
	// Oct 26, 02:30 CET: true <nil>
}

func dayIn(berlin *time.Location, due time.Time) leader.Slot {
	y, m, d := due.In(berlin).Date()
	slot := leader.SlotAt(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)) // the day, however long it is
	return slot
}
