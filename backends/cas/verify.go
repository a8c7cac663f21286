package cas

import (
	"context"
	"errors"
	"fmt"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/probe"
	"github.com/bloblease/bloblease/internal/record"
)

// A Verifiable is a Store that helps Engine.Verify to try it out. One that is not
// is tried out all the same.
type Verifiable interface {
	// Describe names the store for people, in a few words and without secrets.
	Describe() string
	// Fresh returns the same store over connections of its own, and what closes
	// them: so that the answers of several servers behind one address are
	// compared, and not those of one. A store without connections returns
	// itself; one that cannot have others returns nil, and the report says so.
	Fresh() (store Store, closeAll func())
	// Right names a right in the words of the store, and for which of its objects.
	// It returns "" if the denial, an error of this Store's, has another reason,
	// such as credentials that are not valid.
	Right(r Right, denial error) string
	// Inspect makes the checks that only this store needs, on an object that may
	// be changed and is now in this version. An error says that one could not be
	// made.
	Inspect(ctx context.Context, name, version string) ([]backends.Check, error)
}

// A Right is what the credentials of a program may do.
type Right = probe.Right

// The rights that leases need.
const (
	RightToRead    = probe.Read
	RightToFind    = probe.Find // to tell a missing object from one that may not be read
	RightToCreate  = probe.Create
	RightToReplace = probe.Replace
)

// Verify implements backends.Verifier. From then on the engine believes the store's
// dates if, and only if, Verify found that they can be relied on. If it found that
// the store must not be used, every Acquire returns that error.
func (e *Engine) Verify(ctx context.Context) (backends.Report, error) {
	report, err := probe.Run(ctx, e.subject())
	switch {
	case err == nil:
		e.trusted.Store(report.Dates)
		e.doubt.settle(nil)
	case errors.Is(err, backends.ErrUnsupported):
		e.doubt.settle(err)
	}
	return report, err
}

func (e *Engine) subject() probe.Subject {
	s := probe.Subject{
		Store: probed(e.store), Title: "a store", Clock: e.clock,
		Dated: true, Granularity: e.dates.Granularity, Slack: e.dates.slack(),
	}
	v, ok := e.store.(Verifiable)
	if !ok {
		return s
	}
	s.Title, s.Right, s.Extra = v.Describe(), v.Right, v.Inspect
	fresh, closeAll := v.Fresh()
	if fresh == nil {
		s.Shared = true
		return s
	}
	closeAll()
	s.Fresh = func() (probe.Store, func()) {
		fresh, closeAll := v.Fresh()
		return probed(fresh), closeAll
	}
	return s
}

// probed is s in the words of package probe.
func probed(s Store) probe.Store {
	write := func(send send) probe.Write {
		return func(ctx context.Context, name, version string, rec *record.Record) (probe.Object, error) {
			data, err := rec.Encode()
			if err != nil {
				return probe.Object{}, err
			}
			o, err := send(ctx, name, version, data)
			return seen(o), refusal(err)
		}
	}
	return probe.Store{
		Load: func(ctx context.Context, name string) (probe.Object, error) {
			o, err := s.Load(ctx, name)
			return seen(o), err
		},
		Put: write(s.Put), Touch: write(s.Touch),
	}
}

func seen(o Object) probe.Object {
	p := probe.Object{Exists: o.Exists, Version: o.Version, Modified: o.Modified, Now: o.Now}
	if rec, err := record.Decode(o.Data); err == nil {
		p.Record = rec
	}
	return p
}

func refusal(err error) error {
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrVanished) {
		return fmt.Errorf("%w: %w", probe.ErrRefused, err)
	}
	return err
}
