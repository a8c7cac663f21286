package cas

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A doubt is whether a store ignores conditions. It is settled once: by Verify, or
// by one write after the first acquisition, which has to be refused.
type doubt struct {
	turn chan struct{} // held by the call that asks

	mu      sync.Mutex
	settled bool
	verdict error // if settled; nil says that conditions are honoured
}

func newDoubt(has bool) *doubt { return &doubt{turn: make(chan struct{}, 1), settled: !has} }

func (d *doubt) settle(verdict error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled, d.verdict = true, verdict
}

func (d *doubt) state() (settled bool, verdict error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settled, d.verdict
}

// take makes ask the one call that settles the doubt, unless that is done already.
// It waits while another call does so, but not longer than ctx.
func (d *doubt) take(ctx context.Context, ask func()) error {
	if settled, verdict := d.state(); settled {
		return verdict
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil // it stays in doubt
	}
	defer func() { <-d.turn }()
	if settled, verdict := d.state(); settled {
		return verdict
	}
	ask()
	_, verdict := d.state()
	return verdict
}

// errIgnored is why a store is refused.
var errIgnored = fmt.Errorf("%w: it replaced an object that was to be created only if there was none; "+
	"on a store that ignores conditions two processes may hold one lease", backends.ErrUnsupported)

// confirm settles the doubt about the store, if there is one, at the expense of a
// grant that was just won. If the store ignores conditions, the grant is given up.
// Whatever else comes of the question does not touch the grant.
func (e *Engine) confirm(ctx context.Context, g backends.Grant) (backends.Grant, error) {
	if settled, verdict := e.doubt.state(); settled && verdict == nil {
		return g, nil
	}
	within, cancel := e.clock.WithTimeout(ctx, min(g.TTL/6, 5*time.Second))
	defer cancel()
	err := e.doubt.take(within, func() { e.ask(within, &g) })
	if err == nil {
		return g, nil
	}
	if released := e.Release(ctx, g); released != nil && !errors.Is(released, backends.ErrLost) {
		err = fmt.Errorf("%w; then release: %w", err, released)
	}
	return backends.Grant{}, err
}

// ask writes the very bytes that the record of g has, on condition that there is
// no record. A store that honours conditions refuses; one that does not has
// changed nothing. If it does write, it is asked once more: the record may have
// been deleted by an operator in between.
func (e *Engine) ask(ctx context.Context, g *backends.Grant) {
	t, err := titleOf(*g)
	if err != nil {
		return
	}
	data, err := t.rec.Encode()
	if err != nil {
		return
	}
	for range 2 {
		o, err := e.store.Put(ctx, g.Name, "", data)
		switch {
		case errors.Is(err, ErrConflict): // no other refusal is one of the condition
			e.doubt.settle(nil)
			return
		case err != nil:
			return // the next acquisition asks again
		}
		g.Version = o.Version
	}
	e.doubt.settle(errIgnored)
}
