// Package mutex holds a lease on behalf of one process, and knows when to stop
// believing in it.
//
//	m, err := mutex.New(backend, "invoices", nil)
//	...
//	err = m.Do(ctx, func(ctx context.Context, lease *mutex.Lease) error {
//		return sendInvoices(ctx, lease.Token())
//	})
//
// [Mutex.Do] is what most callers want: it waits for the lease, runs a function
// under a context that ends when the lease is lost, and releases. [Mutex.Lock] and
// [Mutex.TryLock] return the [Lease] itself. For a task that is to run in one
// process at a time for good, see package leader.
//
// # What is promised
//
// While clocks run at rates within 1 % of true time, no two processes believe at
// the same time that they hold the same lease. Belief is what [Lease.Err] says.
// Wall clocks may be wrong and jump, the network may lose, delay and repeat what
// it likes, machines may sleep and processes may be stopped.
//
// What no lease can promise: that a write which was on its way when the lease
// ended does not arrive. Only the resource can refuse it, by the fencing token;
// see [Lease.Token]. And there are pauses that no clock inside shows, such as
// those of a virtual machine that is moved or restored from a snapshot. When an
// operator deletes or restores the record, or breaks a lease by force, two may
// believe until every earlier deadline has passed, a TTL at most.
//
// # Why it holds
//
// Trust starts at the question. A lease of TTL T that was confirmed by a request
// may be trusted until H after the moment before that request was first sent,
// by the holder's own clock:
//
//	H = 0.98·T − max(100 ms, 1 % of T)
//
// A contender waits at least 1.01·T by its clock, from a moment after that
// request had its effect. If the holder's clock is slow by 1 % and the contender's
// fast by 1 %, the holder stops after 0.98·T/0.99 of true time at the latest, and
// the contender starts after 1.01·T/1.01 at the earliest. The TTL is fixed for a
// term, so that both count with the same T; it stands in the record, and a
// contender takes the larger of that and its own.
//
// Any clock can end a lease. The monotonic clock stands still in a suspend, the
// wall clock can be set, the boot clock exists on Linux only; so a deadline is
// kept on all three, and the first that passes it counts. A wall clock that is
// set forward costs a lease, never safety. A watchdog looks at the clocks at
// least four times a second and ends the lease, whatever the renewing goroutine
// waits for; Err and the contexts of a Lease look at them each time they are
// asked, so that the first thing that code sees after a pause is the end.
//
// Unknown is an answer. A renewal that failed, or whose answer was lost, prolongs
// nothing, but does not end the lease either: it is tried again, each attempt
// bounded by min(T/6, 5 s), until the deadline. Only the store's word that the
// term is over ends it sooner.
//
// A release comes last: the work has ended, then the contexts, then renewing, and
// then the record is freed. What has lapsed is never revived; another Lock starts
// a new term with a higher token.
//
// # What holds are not
//
// Holds are not reentrant: a second Lock of one Mutex waits for the first lease to
// go. There is no queue: who wins among those who wait is not deterministic.
package mutex
