package filelease

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

type carrier = clock.Carrier

// A store is a directory as a cas.Store.
type store struct {
	carrier
	path     string
	attempts attempts
}

var _ cas.Store = (*store)(nil)

func newStore(path string, c clock.Clock) *store {
	return &store{clock.Carry(c), path, make(attempts, maxAttempts)}
}

// Load needs no lock: a record is replaced in one step.
func (s *store) Load(ctx context.Context, name string) (cas.Object, error) {
	return s.attempts.run(ctx, func(*attempt) (cas.Object, error) { return s.load(name) })
}

func (s *store) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.attempts.run(ctx, func(a *attempt) (cas.Object, error) {
		return s.put(ctx, a, name, version, data)
	})
}

func (s *store) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.Put(ctx, name, version, data)
}

func (s *store) load(name string) (cas.Object, error) {
	d, err := openDirectory(s.path)
	if err != nil {
		return cas.Object{}, err
	}
	defer d.close()
	return s.look(d, filesOf(name).record)
}

func (s *store) put(ctx context.Context, a *attempt, name, version string, data []byte) (cas.Object, error) {
	d, err := openDirectory(s.path)
	if err != nil {
		return cas.Object{}, err
	}
	defer d.close()
	f := filesOf(name)
	lock, err := d.lock(ctx, clock.Of(s), f.lock)
	if err != nil {
		return cas.Object{}, err
	}
	defer unlock(lock)
	if err := s.demand(d, f.record, version); err != nil {
		return cas.Object{}, err
	}
	stored := stamped(data, clock.Of(s))
	if err := d.replace(f, stored, a.commit); err != nil {
		return cas.Object{}, err
	}
	return s.object(stored), nil
}

// demand returns nil if the record has this version, or, for "", if there is none.
func (s *store) demand(d *directory, file, version string) error {
	object, err := s.look(d, file)
	switch {
	case err != nil:
		return err
	case object.Version == version:
		return nil
	case !object.Exists:
		return cas.ErrVanished
	default:
		return cas.ErrConflict
	}
}

func (s *store) look(d *directory, file string) (cas.Object, error) {
	stored, exists, err := d.read(file)
	if err != nil {
		return cas.Object{}, err
	}
	if !exists {
		return cas.Object{Now: clock.Of(s).Now().Date()}, nil
	}
	return s.object(stored), nil
}

func (s *store) object(stored []byte) cas.Object {
	data, st := split(stored)
	modified, now := dates(st, clock.Of(s))
	return cas.Object{Exists: true, Data: data, Version: version(stored), Modified: modified, Now: now}
}

// version is a hash of the file, stamp included. An edit by hand is thus another
// version, and the same data written twice are two.
func version(stored []byte) string {
	hash := sha256.Sum256(stored)
	return hex.EncodeToString(hash[:16])
}
