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
package leader
