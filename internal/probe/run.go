package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/record"
)

const (
	prefix = "bloblease-verify/" // of the names of all objects
	names  = 64                  // that runs choose from
	looks  = 3                   // at names, for one that does not exist yet

	begins = 5 // times that a run begins, if others disturb it
	tries  = 5 // times that a request is sent, if the store is busy or silent

	patience = 10 * time.Second // with one request
	holder   = "bloblease verify "
)

var (
	// ErrDisturbed says that another run uses the same object.
	ErrDisturbed = errors.New("another Verify is running on the same objects")
	// errStop: a check has failed, and without it the others tell nothing.
	errStop = errors.New("stop")
)

// Run tries out s. See backends.Verifier for what it returns.
func Run(ctx context.Context, s Subject) (report backends.Report, err error) {
	for range begins {
		r := newRun(&s)
		err = r.all(ctx)
		report = r.report
		if !errors.Is(err, ErrDisturbed) {
			break
		}
	}
	if err != nil {
		return report, fmt.Errorf("verify %s: %w", s.Title, err)
	}
	return report, nil
}

// A run is one attempt at all checks.
type run struct {
	*Subject
	Store          // in the place of the subject's: bounded, and watched for dates
	id      string // the holder of what this run writes
	name    string
	found   string // the version in which the object was found; "" if it did not exist
	at      Object // what it is now
	seen    map[string]bool
	dates   dates
	report  backends.Report
	current string // the check under way
	trouble error  // why nobody won when last nobody did
}

func newRun(s *Subject) *run {
	r := &run{Subject: s, id: holder + record.NewNonce(), seen: map[string]bool{}}
	r.Store = r.watch(s.Store)
	r.dates.begin(s.Clock)
	r.report.Store = s.Title
	return r
}

// all makes the checks in order. What is wrong with the store does not keep the
// others from being made; what cannot be found out does.
func (r *run) all(ctx context.Context) error {
	for _, c := range []struct {
		name string
		make func(context.Context) error
	}{
		{"read", r.read},
		{"create", r.create},
		{"refuse create", r.refuseCreate},
		{"update", r.update},
		{"refuse stale", r.refuseStale},
		{"refuse missing", r.refuseMissing},
		{"read after write", r.readAfterWrite},
		{"race", r.race},
		{"dates", r.checkDates},
		{"store", r.extra},
	} {
		r.current = c.name
		switch err := c.make(ctx); {
		case errors.Is(err, errStop):
			return r.verdict()
		case err != nil:
			found := r.verdict()
			r.broken(err)
			return cmp.Or(found, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return r.verdict()
}

// broken notes that a check could not be made.
func (r *run) broken(err error) {
	result := backends.Unclear
	if final(err) {
		result = backends.Failed
	}
	r.report.Checks = append(r.report.Checks, backends.Check{Name: r.current, Result: result, Saw: err.Error()})
}

// verdict is the error of the checks that failed.
func (r *run) verdict() error {
	var failed []string
	for _, c := range r.report.Checks {
		if c.Result == backends.Failed {
			failed = append(failed, c.Name+": "+c.Saw)
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", backends.ErrUnsupported, strings.Join(failed, "; "))
}

func (r *run) pass(saw string, args ...any) error {
	return r.note(backends.Check{Name: r.current, Result: backends.Passed, Saw: fmt.Sprintf(saw, args...)})
}

func (r *run) fail(means, do, saw string, args ...any) error {
	return r.note(backends.Check{
		Name: r.current, Result: backends.Failed, Saw: fmt.Sprintf(saw, args...), Means: means, Do: do,
	})
}

// stop is fail for a check without which the others tell nothing.
func (r *run) stop(means, do, saw string) error {
	return errors.Join(r.fail(means, do, "%s", saw), errStop)
}

func (r *run) note(c backends.Check) error {
	r.report.Checks = append(r.report.Checks, c)
	return nil
}

// record is what the next write writes.
func (r *run) record() *record.Record {
	next := &record.Record{State: record.Free, Token: 1, Holder: r.id, Nonce: record.NewNonce()}
	if old := r.at.Record; old != nil {
		next.Token, next.Done, next.Extra = old.Token, old.Done, old.Extra
	}
	return next
}

// is reports whether the object holds rec.
func (o Object) is(rec *record.Record) bool { return o.Record != nil && o.Record.Nonce == rec.Nonce }

// look reads the object. One that somebody else has changed gives ErrDisturbed.
func (r *run) look(ctx context.Context) (Object, error) {
	o, err := r.load(ctx, r.Store, r.name)
	if err != nil {
		return o, err
	}
	ours := o.Record != nil && o.Record.Holder == r.id
	if o.Exists && !ours && o.Version != r.found {
		return o, ErrDisturbed
	}
	return o, nil
}

// load reads an object of a store that may be busy.
func (r *run) load(ctx context.Context, s Store, name string) (o Object, err error) {
	for range tries {
		o, err = s.Load(ctx, name)
		if err == nil {
			return o, nil
		}
		if hopeless := r.pause(ctx, r.denied(Read, err)); hopeless != nil {
			return o, hopeless
		}
	}
	return o, err
}

// pause waits before a request is sent again, and returns err if that would not
// help.
func (r *run) pause(ctx context.Context, err error) error {
	const shortest, longest = 100 * time.Millisecond, 5 * time.Second
	if final(err) {
		return err
	}
	wait := shortest
	if retry := (*backends.RetryError)(nil); errors.As(err, &retry) {
		wait = min(max(wait, retry.After), longest)
	}
	if clock.Sleep(ctx, r.Clock, clock.Jitter(r.Clock, wait)) != nil {
		return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
	}
	return nil
}

// final reports whether the store will not answer otherwise.
func final(err error) bool {
	return errors.Is(err, backends.ErrDenied) || errors.Is(err, backends.ErrNoContainer) ||
		errors.Is(err, backends.ErrUnsupported) || errors.Is(err, backends.ErrForeign)
}

// denied adds the right that is missing.
func (r *run) denied(right Right, err error) error {
	if errors.Is(err, backends.ErrDenied) && !errors.As(err, new(*missing)) {
		return r.lacking(err, right)
	}
	return err
}

// apply makes a write that has to be applied. What it was told is not the last
// word: something below may have sent the request twice, and tell of the second; or
// a store wants the version in another spelling, which its Store learns from the
// refusal. The error matches ErrRefused if it was refused for no good reason, twice.
func (r *run) apply(ctx context.Context, send Write, right Right) error {
	rec := r.record()
	refused := false
	var err error
	for range tries {
		var o Object
		if o, err = send(ctx, r.name, r.at.Version, rec); err == nil {
			r.at = Object{Exists: true, Version: o.Version, Record: rec}
			return nil
		}
		now, lookErr := r.after(ctx, r.denied(right, err))
		switch {
		case lookErr != nil:
			return lookErr
		case now.is(rec):
			r.at = now
			return nil
		case errors.Is(err, ErrRefused) && (refused || now.Version != r.at.Version):
			return err
		}
		refused = errors.Is(err, ErrRefused)
	}
	return err
}

// refuse makes a write that must not be applied, and tells whether it was all the
// same, whatever the answer.
func (r *run) refuse(ctx context.Context, send Write, version string) (applied bool, err error) {
	rec := r.record()
	for range tries {
		_, err = send(ctx, r.name, version, rec)
		now, lookErr := r.after(ctx, r.denied(Replace, err))
		switch {
		case lookErr != nil:
			return false, lookErr
		case now.is(rec) || err == nil: // whatever it told, or whatever it did
			r.at = now
			return true, nil
		case errors.Is(err, ErrRefused):
			return false, nil
		}
	}
	return false, err
}

// after looks what became of a write that ended with err, unless it is clear that
// looking would not tell.
func (r *run) after(ctx context.Context, err error) (Object, error) {
	if err != nil && !errors.Is(err, ErrRefused) {
		if hopeless := r.pause(ctx, err); hopeless != nil {
			return Object{}, hopeless
		}
	}
	return r.look(ctx)
}

// watch is s with bounded requests, and with an eye on the dates.
func (r *run) watch(s Store) Store {
	call := func(ctx context.Context, f func(context.Context) (Object, error)) (Object, error) {
		within, cancel := r.Clock.WithTimeout(ctx, patience)
		defer cancel()
		sent := r.Clock.Now().Mono
		o, err := f(within)
		r.dates.see(o.Now, sent, r.Clock.Now().Mono)
		return o, err
	}
	write := func(w Write) Write {
		return func(ctx context.Context, name, version string, rec *record.Record) (Object, error) {
			return call(ctx, func(ctx context.Context) (Object, error) { return w(ctx, name, version, rec) })
		}
	}
	return Store{
		Load: func(ctx context.Context, name string) (Object, error) {
			return call(ctx, func(ctx context.Context) (Object, error) { return s.Load(ctx, name) })
		},
		Put: write(s.Put), Touch: write(s.Touch),
	}
}
