// Package leader runs a task in one of many processes at a time.
//
//	m, err := mutex.New(backend, "invoices", nil)
//	...
//	err = leader.Run(ctx, m, func(ctx context.Context, lease *mutex.Lease) error {
//		return sendInvoices(ctx, lease.Token())
//	}, nil)
//
// [Run] campaigns for the lease, leads when it has won, and campaigns again when
// the lease is lost. [Watch] tells others who leads. A task that may hang calls
// [Beat].
//
// [Once] is for jobs that are due at times, or for events: it runs a job once for
// each [Slot], on whichever replica comes first.
//
//	ran, err := leader.Once(ctx, m, leader.Every(24*time.Hour, 2*time.Hour), sendReminders, nil)
package leader
