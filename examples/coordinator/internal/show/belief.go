package show

import (
	"sync"
	"time"

	"github.com/bloblease/bloblease/mutex"
)

// A belief is the time during which a worker may trust its lease: from the start
// of the term until the worker is done with it, or until its deadline if that
// comes first. After a pause it has ended at the deadline, since the first look
// at the lease says so. The demo looks often, only to be able to report it.
type belief struct {
	lease *mutex.Lease
	from  time.Duration
	over  chan struct{}
	done  sync.WaitGroup
	until time.Duration // by the latest look that found the lease in force
}

func believe(lease *mutex.Lease) *belief {
	b := &belief{lease: lease, from: uptime(), over: make(chan struct{})}
	b.look()
	b.done.Go(b.watch)
	return b
}

func (b *belief) watch() {
	looks := time.NewTicker(10 * time.Millisecond)
	defer looks.Stop()
	for {
		select {
		case <-looks.C:
			b.look()
		case <-b.over:
			return
		}
	}
}

func (b *belief) look() {
	now := uptime()
	if left := b.lease.Remaining(); left > 0 {
		b.until = now + left
	}
}

// end ends the belief, and returns until when it was held.
func (b *belief) end() time.Duration {
	close(b.over)
	b.done.Wait()
	b.look()
	return min(b.until, uptime())
}
