package mutex

import (
	"context"
)

// A leaseContext is a context that asks the clocks, so that the first thing that
// code sees after a pause is that its lease has gone.
type leaseContext struct {
	context.Context
	lease  *Lease
	cancel context.CancelCauseFunc
}

// check ends the context if its lease has ended.
func (c *leaseContext) check() {
	if err := c.lease.Err(); err != nil {
		c.cancel(err)
	}
}

func (c *leaseContext) Done() <-chan struct{} {
	c.check()
	return c.Context.Done()
}

func (c *leaseContext) Err() error {
	c.check()
	return c.Context.Err()
}
