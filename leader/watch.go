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
		for ; ctx.Err() == nil; _ = clock.Sleep(ctx, c, clock.Jitter(c, poll)) {
			r, err := m.Observe(ctx)
			news := err != nil || last == nil || changed(*last, r)
			if ctx.Err() != nil || news && !yield(r, err) {
				return
			}
			if err == nil {
				last = &r
			}
		}
	}
}

func changed(a, b backends.Record) bool {
	return a.Token != b.Token || a.State != b.State || !maps.Equal(a.Meta, b.Meta)
}
