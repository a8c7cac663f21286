package azurelease

import (
	"context"
	"maps"

	"github.com/bloblease/bloblease/backends"
)

// Observe implements backends.Backend, in one request. A blob that somebody else
// has leased, for ever perhaps, is Held, even if it is no record of this library.
func (b *Backend) Observe(ctx context.Context, name string) (backends.Record, error) {
	if err := b.CheckName(name); err != nil {
		return backends.Record{}, err
	}
	s, err := b.look(ctx, name)
	if err != nil {
		return backends.Record{}, err
	}
	if s.exists && s.rec == nil && !s.leased {
		return backends.Record{}, s.foreign
	}
	return b.describe(s), nil
}

// describe is s for an observer. Azure does not tell how long a lease has to run,
// and a renewal leaves no trace that others see: Age counts from the first look,
// and Left is not known.
func (b *Backend) describe(s *sighting) backends.Record {
	r := s.record()
	d := backends.Record{
		State: backends.Free, Holder: r.Holder, ID: r.ID, Token: r.Token, TTL: r.TTL,
		Done: r.Done, Meta: maps.Clone(r.Meta), Version: string(s.etag), Now: s.now,
	}
	if s.leased {
		d.State = backends.Held
	}
	if s.exists {
		d.Age = max(0, s.at-s.since)
	}
	if s.infinite {
		return heldBySomebody(d)
	}
	return d
}

// heldBySomebody is d, of a lease that is held by another than its record says: that
// tells of a term before. Token and Done hold for whoever comes next.
func heldBySomebody(d backends.Record) backends.Record {
	d.State = backends.Held
	d.Holder, d.ID, d.TTL, d.Meta = "", "", 0, nil
	return d
}
