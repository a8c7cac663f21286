package leader

import (
	"context"
	"iter"
	"maps"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/mutex"
)

// Watch tells who leads, without being a candidate: the record of m's lease at
// once, and then each time that its token, state or Meta has changed. It looks
// once a poll, so short terms may go unseen. A look that fails gives its error,
// with a zero Record, and does not end the watch; the loop ends when ctx does or
// when its body breaks.
func Watch(ctx context.Context, m *mutex.Mutex) iter.Seq2[backends.Record, error] {
	return func(yield func(backends.Record, error) bool) {
		c, poll := clock.Of(m), m.Options().Poll
		var last *backends.Record
		for ctx.Err() == nil {
			r, err := m.Observe(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				if !yield(backends.Record{}, err) {
					return
				}
			case last == nil || changed(*last, r):
				last = &r
				if !yield(r, nil) {
					return
				}
			}
			if clock.Sleep(ctx, c, clock.Jitter(poll)) != nil {
				return
			}
		}
	}
}

func changed(a, b backends.Record) bool {
	return a.Token != b.Token || a.State != b.State || !maps.Equal(a.Meta, b.Meta)
}
