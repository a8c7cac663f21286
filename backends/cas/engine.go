package cas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/record"
)

// Options describe a store to the engine.
type Options struct {
	// Limits are the settings that the store allows. Zero fields mean a TTL
	// of 1 s to 24 h in steps of 1 ms, and a poll of at least 10 ms. A MaxTTL
	// above 24 h is lowered to that.
	Limits backends.Limits
	// Dates says what the store's dates are worth. The zero value: nothing.
	Dates Dates
	// Doubtful says that the store may ignore conditions without a word. Then an
	// engine that was not verified makes one more request, after its first
	// acquisition: a write that has to be refused. If it is not, that Acquire and
	// all later ones return an error that matches backends.ErrUnsupported.
	Doubtful bool
}

// An Engine makes a backends.Backend of a Store. It is safe for concurrent use.
type Engine struct {
	store  Store
	limits backends.Limits
	dates  Dates
	clock  clock.Clock
	memory memory
	// trusted says that the store's dates may be used to take over: as the Options
	// say, until Verify finds out.
	trusted atomic.Bool
	doubt   *doubt
	carrier
}

type carrier = clock.Carrier

var (
	_ backends.Backend     = (*Engine)(nil)
	_ backends.Breaker     = (*Engine)(nil)
	_ backends.NameChecker = (*Engine)(nil)
	_ backends.Verifier    = (*Engine)(nil)
)

// New returns an engine over store. It makes no request and starts nothing.
func New(store Store, o Options) *Engine {
	l := o.Limits
	l.MinTTL = or(l.MinTTL, time.Second)
	l.MaxTTL = min(or(l.MaxTTL, record.MaxTTL), record.MaxTTL)
	l.Step = max(l.Step, time.Millisecond)
	l.MinPoll = or(l.MinPoll, 10*time.Millisecond)
	c := clock.Of(store)
	e := &Engine{store: store, limits: l, dates: o.Dates, clock: c, doubt: newDoubt(o.Doubtful), carrier: clock.Carry(c)}
	e.trusted.Store(o.Dates.Trusted)
	return e
}

func or(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// Limits implements backends.Backend.
func (e *Engine) Limits() backends.Limits { return e.limits }

// CheckName implements backends.NameChecker.
func (e *Engine) CheckName(name string) error {
	if err := backends.CheckName(name); err != nil {
		return err
	}
	if c, ok := e.store.(NameChecker); ok {
		return c.CheckName(name)
	}
	return nil
}

// Acquire implements backends.Backend. A record that this process knows to be
// free, and has seen lately, costs one request, any other two, and a store that
// takes seconds to answer another one.
func (e *Engine) Acquire(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
	if err := e.CheckName(name); err != nil {
		return backends.Grant{}, err
	}
	if err := c.Check(e.limits); err != nil {
		return backends.Grant{}, err
	}
	if _, verdict := e.doubt.state(); verdict != nil {
		return backends.Grant{}, verdict
	}
	s := e.memory.last(name)
	if s == nil || !s.free() || !e.fresh(s) {
		var err error
		if s, err = e.look(ctx, name); err != nil {
			return backends.Grant{}, err
		}
	}
	for range maxTries {
		if e.wait(s, c.TTL) > 0 && !e.memory.isAbandoned(name, s.rec.Nonce) {
			return backends.Grant{}, &backends.HeldError{Record: e.describe(s, c.TTL)}
		}
		g, stands, err := e.take(ctx, name, s, c)
		if err == nil {
			return e.confirm(ctx, g)
		}
		if !errors.Is(err, errRefused) {
			return g, err
		}
		s = stands
	}
	return backends.Grant{}, &backends.RetryError{Err: fmt.Errorf("others wrote %d times meanwhile", maxTries)}
}

// take starts a new term against s. If that is refused it returns what stands
// in its place.
func (e *Engine) take(ctx context.Context, name string, s *sighting, c backends.Claim) (backends.Grant, *sighting, error) {
	g, at, err := e.begin(ctx, name, s, c)
	if err != nil || !record.Behind(g.Token, at.now) {
		return g, at, err
	}
	// It took long. Another life of the record may have come and been deleted since its
	// date was told, or an old copy of it put in its place, and that life's token may
	// be higher. This life has begun by now, so a date from now on is good enough.
	e.memory.abandon(name, at.rec.Nonce)
	return e.begin(ctx, name, at, c)
}

// begin writes the record of a new term over s. It returns what stands there then.
func (e *Engine) begin(ctx context.Context, name string, s *sighting, c backends.Claim) (backends.Grant, *sighting, error) {
	old := s.record()
	token := e.memory.token(name, func(floor backends.Token) backends.Token {
		return record.NextToken(e.clock, old.Token, max(floor, c.Floor), e.date(s))
	})
	if token == 0 {
		return backends.Grant{}, nil, record.ErrNoToken
	}
	rec := &record.Record{
		State:  record.Held,
		Token:  token,
		Holder: c.Holder,
		ID:     record.NewNonce(),
		TTL:    c.TTL,
		Nonce:  record.NewNonce(),
		Done:   old.Done,
		Meta:   maps.Clone(c.Meta),
		Extra:  old.Extra,
	}
	at, err := e.write(ctx, name, e.store.Put, s.version, rec)
	switch {
	case err == nil:
		return grant(name, at.version, newTitle(at.rec)), at, nil
	case errors.Is(err, errRefused):
		return backends.Grant{}, at, err
	default:
		e.memory.abandon(name, rec.Nonce)
		t := newTitle(rec)
		t.open = true
		return grant(name, s.version, t), nil, err
	}
}

func grant(name, version string, t *title) backends.Grant {
	r := t.rec
	return backends.Grant{
		Name: name, Holder: r.Holder, ID: r.ID, Token: r.Token, TTL: r.TTL,
		Version: version, Done: r.Done, Proof: t,
	}
}

// Renew implements backends.Backend, in one request.
func (e *Engine) Renew(ctx context.Context, g backends.Grant) (backends.Grant, error) {
	t, err := titleOf(g)
	if err != nil {
		return g, err
	}
	if t.open {
		return g, fmt.Errorf("%w: its acquisition was never confirmed", backends.ErrLost)
	}
	version, rec := g.Version, t.rec
	for range maxTries {
		next := t.within(rec)
		next.Nonce = record.NewNonce()
		at, err := e.write(ctx, g.Name, e.store.Touch, version, next)
		if err == nil {
			g.Version, g.Proof = at.version, t.renewed(at.rec)
			return g, nil
		}
		t = t.tried(next.Nonce)
		g.Proof = t
		if err = t.verdict(at, err); err != nil {
			return g, err
		}
		version, rec, t = at.version, at.rec, t.found(at.rec)
		g.Version, g.Proof = version, t // so that the next call need not find it again
	}
	return g, &backends.RetryError{Err: fmt.Errorf("others wrote %d times meanwhile", maxTries)}
}

// Release implements backends.Backend, in one request.
func (e *Engine) Release(ctx context.Context, g backends.Grant) error {
	t, err := titleOf(g)
	if err != nil {
		return err
	}
	if g.Done != t.rec.Done { // what was there before is not held against the caller
		if err := backends.CheckDone(g.Done); err != nil {
			return err
		}
	}
	version, rec, send := g.Version, t.rec, e.store.Touch
	if t.open { // perhaps there is no object yet
		send = e.store.Put
	}
	for range maxTries {
		next := t.within(rec)
		next.State, next.Nonce = record.Free, t.release
		if g.Done != "" {
			next.Done = g.Done
		}
		at, err := e.write(ctx, g.Name, send, version, next)
		if err == nil {
			return nil
		}
		if err = t.verdict(at, err); err != nil {
			return err
		}
		version, rec, send = at.version, at.rec, e.store.Touch
	}
	return &backends.RetryError{Err: fmt.Errorf("others wrote %d times meanwhile", maxTries)}
}

// Observe implements backends.Backend, in one request.
func (e *Engine) Observe(ctx context.Context, name string) (backends.Record, error) {
	if err := e.CheckName(name); err != nil {
		return backends.Record{}, err
	}
	s, err := e.look(ctx, name)
	if err != nil {
		return backends.Record{}, err
	}
	return e.describe(s, 0), nil
}

// describe is s for the eyes of a contender with this TTL.
func (e *Engine) describe(s *sighting, ttl time.Duration) backends.Record {
	r := s.record()
	d := backends.Record{
		State: backends.Held, Holder: r.Holder, ID: r.ID, Token: r.Token, TTL: r.TTL,
		Left: e.wait(s, ttl), Done: r.Done, Meta: maps.Clone(r.Meta), Version: s.version, Now: s.now,
	}
	if s.exists {
		d.Age = e.age(s)
	}
	if d.Left == 0 {
		d.State = backends.Free
	}
	return d
}

// Break implements backends.Breaker, in two requests.
func (e *Engine) Break(ctx context.Context, name, version string) error {
	if err := e.CheckName(name); err != nil {
		return err
	}
	for range maxTries {
		err := e.breakOnce(ctx, name, version)
		if !errors.Is(err, errRefused) {
			return err
		}
		if version != "" {
			break
		}
	}
	return fmt.Errorf("%w: the record changed meanwhile", backends.ErrLost)
}

func (e *Engine) breakOnce(ctx context.Context, name, version string) error {
	obj, err := e.store.Load(ctx, name)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if !obj.Exists || version != "" && version != obj.Version {
		return fmt.Errorf("%w: the record to break is not there in version %q", backends.ErrLost, version)
	}
	old, err := record.Decode(obj.Data)
	if err != nil { // that is what an operator may overrule
		old = &record.Record{Token: e.memory.token(name, func(floor backends.Token) backends.Token {
			return record.NextToken(e.clock, 0, floor, obj.Now)
		})}
	}
	if old.Token == backends.MaxToken {
		return fmt.Errorf("%w: only its removal by hand helps, and its resources have to forget it", record.ErrNoToken)
	}
	rec := *old
	rec.State, rec.ID, rec.Nonce = record.Free, "", record.NewNonce()
	_, err = e.write(ctx, name, e.store.Touch, obj.Version, &rec)
	return err
}

// A title is the Proof of a Grant: what this process wrote of a term. It is
// never changed once it is made.
type title struct {
	rec     *record.Record
	open    bool     // the acquisition itself is not confirmed
	nonces  []string // of writes within the term that are applied or may be
	release string   // the nonce of every attempt to release
}

func newTitle(rec *record.Record) *title {
	return &title{rec: rec, nonces: []string{rec.Nonce}, release: record.NewNonce()}
}

func titleOf(g backends.Grant) (*title, error) {
	t, ok := g.Proof.(*title)
	if !ok {
		return nil, fmt.Errorf("%w: the grant of %q is not from this kind of backend", backends.ErrLost, g.Name)
	}
	return t, nil
}

// within returns a copy of rec, as it stands in the store, in which everything
// that is constant over the term is as it was when the term began.
func (t *title) within(rec *record.Record) *record.Record {
	next := *rec
	next.Token, next.ID, next.Holder, next.TTL = t.rec.Token, t.rec.ID, t.rec.Holder, t.rec.TTL
	return &next
}

// tried is t after a write whose outcome may be open.
func (t *title) tried(nonce string) *title {
	next := *t
	next.nonces = append(slices.Clip(t.nonces), nonce)
	return &next
}

// found is t after a read that showed rec, which is still this term's.
func (t *title) found(rec *record.Record) *title {
	next := *t
	next.rec = t.within(rec)
	return &next
}

// renewed is t after a write that was applied: all earlier ones are settled.
func (t *title) renewed(rec *record.Record) *title {
	next := *t
	next.rec, next.nonces = rec, []string{rec.Nonce}
	return &next
}

// verdict is what a failed write means for the term: nil if it still stands
// and the write may be tried against at.
func (t *title) verdict(at *sighting, err error) error {
	switch {
	case errors.Is(err, backends.ErrForeign):
		return fmt.Errorf("%w: %w", backends.ErrLost, err)
	case !errors.Is(err, errRefused):
		return err
	case !at.exists:
		return fmt.Errorf("%w: the record was deleted", backends.ErrLost)
	case at.rec.Token < t.rec.Token: // tokens only grow, so it tells nothing of now
		return errors.New("a late read, which shows an earlier term")
	case at.rec.State == record.Free:
		return fmt.Errorf("%w: the record was freed", backends.ErrLost)
	case slices.Contains(t.nonces, at.rec.Nonce):
		return nil
	case at.rec.ID == t.rec.ID: // an earlier write of this term, long settled
		return errors.New("a late read, which shows this term as it was")
	default:
		return fmt.Errorf("%w to %q with token %d", backends.ErrLost, at.rec.Holder, at.rec.Token)
	}
}
