package show

import (
	"context"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// leaseName is what the workers contend for.
const leaseName = "demo/coordinator"

// A worker leads whenever it can. While it leads, it adds to the ledger.
type worker struct {
	mutex *mutex.Mutex
	desk  *client // the way to the ledger, and to the audience
	every time.Duration
}

func newWorker(name string, store backends.Backend, ttl time.Duration, desk *client) (*worker, error) {
	m, err := mutex.New(store, leaseName, &mutex.Options{TTL: ttl, Holder: name})
	return &worker{mutex: m, desk: desk, every: beat(ttl) / 2}, err
}

// run campaigns and leads, again and again, until ctx ends.
func (w *worker) run(ctx context.Context) error {
	return leader.Run(ctx, w.mutex, w.lead, nil)
}

// lead is one term. It returns when its context ends, or the ledger refuses it.
func (w *worker) lead(ctx context.Context, lease *mutex.Lease) error {
	b := believe(lease)
	w.desk.tellLead(lease.Token(), b.from)
	defer func() { w.desk.tellEnd(ctx, lease.Token(), b.end()) }()
	for ctx.Err() == nil {
		if err := w.write(lease.Token()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.every):
		}
	}
	return nil
}

// write reads the ledger, thinks, and writes. The lease was in force when it
// began. But whatever is looked at before the write, the process can be stopped
// between the look and the write, and then the write leaves late. The token that
// it carries is what makes that harmless.
//
// These calls do not end with the context of the lease on purpose: that would
// catch a late write nearly always, and so hide that it cannot do so always.
func (w *worker) write(token mutex.Token) error {
	entries, err := w.desk.read(token)
	if err != nil {
		return err
	}
	return w.desk.write(token, entries+1)
}
