package cas

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

const (
	maxSends = 2 // times that the same bytes are sent in one call
	maxTries = 3 // records that one call takes its chance against
)

// errRefused: the write was not applied and will not be.
var errRefused = errors.New("record has changed")

// A send is Store.Put or Store.Touch.
type send func(ctx context.Context, name, version string, data []byte) (Object, error)

// write replaces the version of base by rec, and answers once it is known
// whether it was applied: with the own record as it now stands; or with the
// record that stands in its place, and errRefused. After any other error, only
// the caller's knowledge of the nonce tells later what became of it.
func (e *Engine) write(ctx context.Context, name string, send send, version string, rec *record.Record) (*sighting, error) {
	data, err := rec.Encode()
	if err != nil {
		return nil, err
	}
	for range maxSends {
		sent := e.clock.Now().Mono
		var obj Object
		obj, err = send(ctx, name, version, data)
		if err == nil {
			return e.note(name, obj, rec, sent)
		}
		err = fmt.Errorf("write: %w", err)
		if undecided(err) {
			return nil, err
		}
		s, lookErr := e.look(ctx, name)
		switch {
		case lookErr != nil:
			return nil, fmt.Errorf("%w; then %w", err, lookErr)
		case s.record().Nonce == rec.Nonce && s.rec.State == rec.State:
			return s, nil
		case s.version != version:
			return s, errRefused
		}
	}
	return nil, err
}

// undecided reports whether reading the object back would tell nothing: it was
// not replaced for a reason that lies not in its version.
func undecided(err error) bool {
	var retry *backends.RetryError
	return errors.As(err, &retry) || errors.Is(err, backends.ErrDenied) ||
		errors.Is(err, backends.ErrNoContainer) || errors.Is(err, backends.ErrUnsupported)
}

// look reads the object. An object that is no record gives an error that
// matches backends.ErrForeign.
func (e *Engine) look(ctx context.Context, name string) (*sighting, error) {
	sent := e.clock.Now().Mono
	obj, err := e.store.Load(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	var rec *record.Record
	if obj.Exists {
		if rec, err = record.Decode(obj.Data); err != nil {
			return nil, err
		}
	}
	return e.note(name, obj, rec, sent)
}

// note remembers what an answer showed.
func (e *Engine) note(name string, obj Object, rec *record.Record, sent time.Duration) (*sighting, error) {
	if obj.Exists == (obj.Version == "") {
		return nil, fmt.Errorf("%w: version %q of an object that exists: %t", backends.ErrUnsupported, obj.Version, obj.Exists)
	}
	s := &sighting{exists: obj.Exists, version: obj.Version, rec: rec, sent: sent, at: e.clock.Now().Mono, now: obj.Now}
	s.first = s
	// Two clocks of the store may have given the dates: what is new may seem to be of
	// the future, but not by more than they are apart.
	if age := obj.Now.Sub(obj.Modified); obj.Exists && !obj.Modified.IsZero() && !obj.Now.IsZero() && age >= -e.dates.slack() {
		s.age, s.dated = max(0, age), true
	}
	e.memory.update(name, func(k *known) {
		if k.last != nil && k.last.same(s) {
			s.first = k.last.first
		}
		k.distrust = k.distrust || k.last != nil && e.dates.datesLie(k.last, s)
		s.dated = s.dated && !k.distrust
		k.highest = max(k.highest, s.record().Token)
		k.last = s
	})
	return s, nil
}
