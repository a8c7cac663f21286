package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/record"
)

// What follows from most failures.
const (
	twoHolders = "two processes may hold one lease at a time"
	otherStore = "use another store, or another version of it: see docs/stores.md"
	noProxy    = "look for a proxy that changes ETags; otherwise " + otherStore
)

// read picks a name, and finds out whether objects can be read.
func (r *run) read(ctx context.Context) error {
	var strange error
	for range looks {
		name := fmt.Sprint(prefix, r.Clock.Int64N(names))
		o, err := r.load(ctx, r.Store, name)
		switch {
		case errors.Is(err, backends.ErrDenied):
			return r.unreadable(ctx, name, err)
		case errors.Is(err, backends.ErrForeign) || err == nil && o.Exists && o.Record == nil:
			strange = fmt.Errorf("%w: %q is in the way; delete what is under %q", backends.ErrForeign, name, prefix)
			continue
		case err != nil:
			return err
		}
		r.name, r.found, r.at = name, o.Version, o
		if !o.Exists {
			break
		}
	}
	if r.name == "" {
		return strange
	}
	r.report.Left = []string{r.name}
	return r.pass("%s", r.name)
}

// unreadable finds out which right is missing. Some stores tell who may not list
// that a missing object is forbidden.
func (r *run) unreadable(ctx context.Context, name string, denial error) error {
	_, err := r.Put(ctx, name, "", r.record())
	switch {
	case errors.Is(err, backends.ErrDenied):
		return r.lacking(errors.Unwrap(denial), Read, Create)
	case err != nil && !errors.Is(err, ErrRefused):
		return denial
	}
	r.report.Left = []string{name}
	if _, err = r.Load(ctx, name); err == nil {
		return r.lacking(errors.Unwrap(denial), Find)
	}
	return denial
}

// create lets eight create one object at once.
func (r *run) create(ctx context.Context) error {
	if r.at.Exists {
		return r.note(backends.Check{Name: r.current, Saw: fmt.Sprintf(
			"an earlier run has made all the objects that were looked for; delete what is under %q to have it tried again", prefix)})
	}
	for range tries {
		records := r.records()
		errs := Meet(func(i int) error {
			_, err := r.Put(ctx, r.name, "", records[i])
			return err
		})
		done, err := r.created(ctx, records, errs)
		if done || err != nil {
			return err
		}
	}
	return r.busy("to create an object")
}

func (r *run) records() []*record.Record {
	all := make([]*record.Record, Writers)
	for i := range all {
		all[i] = r.record()
	}
	return all
}

// created judges the creation; it is not done if that has to be tried again.
func (r *run) created(ctx context.Context, records []*record.Record, errs []error) (done bool, err error) {
	won := winners(errs)
	if len(won) == 0 {
		if err := r.hopeless(ctx, Create, errs); err != nil {
			return false, err
		}
	}
	now, err := r.look(ctx)
	r.at = now
	switch {
	case err != nil:
		return false, err
	case len(won) > 1:
		return true, r.fail(twoHolders, otherStore, "%d of %d that created one object at once were told that they had", len(won), Writers)
	case len(won) == 1 && !now.is(records[won[0]]):
		return true, r.fail(twoHolders, otherStore, "what was created is not what can be read a moment later")
	case now.Exists:
		return true, r.pass("of %d that created it at once, one did", Writers)
	case refusals(errs) == Writers:
		return true, r.stop("no lease can be begun", otherStore, "it refuses to create an object that does not exist")
	}
	return false, nil
}

func refusals(errs []error) (n int) {
	for _, err := range errs {
		if errors.Is(err, ErrRefused) {
			n++
		}
	}
	return n
}

// hopeless returns the error that says that trying again is of no use, and waits
// before the next try if there is none.
func (r *run) hopeless(ctx context.Context, right Right, errs []error) error {
	var last error
	for _, err := range errs {
		if final(err) {
			return r.denied(right, err)
		}
		if err != nil && !errors.Is(err, ErrRefused) {
			last = err
		}
	}
	if last == nil {
		return nil
	}
	r.trouble = last
	return r.pause(ctx, last)
}

// busy is why something that is tried often was not done once.
func (r *run) busy(what string) error {
	if r.trouble == nil {
		return errors.New("the store was too busy " + what)
	}
	return fmt.Errorf("the store was too busy %s; last answer: %w", what, r.trouble)
}

func (r *run) refuseCreate(ctx context.Context) error {
	applied, err := r.refuse(ctx, r.Put, "")
	if err != nil {
		return err
	}
	if applied {
		return r.fail(twoHolders, otherStore, "it overwrites an object that was to be created only if there was none (If-None-Match: * is ignored)")
	}
	return r.pass("an object that exists is not created over")
}

func (r *run) update(ctx context.Context) error {
	for _, send := range []Write{r.Put, r.Touch} {
		r.seen[r.at.Version] = true
		err := r.apply(ctx, send, Replace)
		switch {
		case errors.Is(err, ErrRefused):
			return r.stop("no lease can be renewed", noProxy, "it refuses to replace an object in the very version that it told")
		case err != nil:
			return err
		case r.seen[r.at.Version]:
			return r.fail(twoHolders, otherStore, "the version %q comes back though other bytes were written", r.at.Version)
		}
	}
	return r.pass("an object is replaced in the version that was read")
}

func (r *run) refuseStale(ctx context.Context) error {
	for _, send := range []Write{r.Put, r.Touch} {
		stale := r.at.Version
		if err := r.apply(ctx, send, Replace); err != nil {
			return err
		}
		applied, err := r.refuse(ctx, send, stale)
		if err != nil {
			return err
		}
		if applied {
			return r.fail(twoHolders, otherStore, "it replaces an object in a version that it no longer has (If-Match is ignored)")
		}
	}
	return r.pass("a write against an older version is refused, and changes nothing")
}

// refuseMissing uses another name: the object must not come to be.
func (r *run) refuseMissing(ctx context.Context) error {
	name := prefix + "missing-" + record.NewNonce()
	var err error
	for range tries {
		_, err = r.Put(ctx, name, r.at.Version, r.record())
		o, lookErr := r.load(ctx, r.Store, name)
		switch {
		case o.Exists || err == nil:
			r.report.Left = append(r.report.Left, name)
			return r.fail("a holder whose lease was deleted goes on, beside the next one", otherStore,
				"it creates an object that was to be replaced in a certain version (If-Match is ignored)")
		case lookErr != nil:
			return lookErr
		case errors.Is(err, ErrRefused) || errors.Is(err, backends.ErrDenied):
			return r.pass("what does not exist is not replaced")
		}
		if hopeless := r.pause(ctx, err); hopeless != nil {
			return hopeless
		}
	}
	return err
}

const (
	readings = 8 // times that the object is written and read
	readers  = 2 // that read it, on new connections
)

func (r *run) readAfterWrite(ctx context.Context) error {
	late, other := 0, ""
	for range readings {
		if err := r.apply(ctx, r.Put, Replace); err != nil {
			return err
		}
		shown, err := r.newReaders(ctx)
		if err != nil {
			return err
		}
		for _, o := range shown {
			switch {
			case !o.is(r.at.Record):
				late++
			case o.Version != r.at.Version:
				other = o.Version
			}
		}
	}
	if late > 0 {
		return r.fail("a lease may be believed to be free, or to be lost, when it is not",
			"look for a cache in between, or a setting for strong consistency; otherwise "+otherStore,
			"%d of %d reads%s did not show what was written just before", late, readings*readers, r.apart())
	}
	if err := r.passApart("%d reads%s showed what was written just before", readings*readers, r.apart()); err != nil {
		return err
	}
	r.current = "same version"
	if other != "" {
		return r.fail("no lease can be renewed in one request", noProxy,
			"a write told the version %q, a read of the same bytes %q", r.at.Version, other)
	}
	return r.pass("a write tells the version that reads tell")
}

// apart says which way the requests of several readers or writers go.
func (r *run) apart() string {
	if r.Fresh == nil {
		return ""
	}
	return " on connections of their own"
}

// passApart is pass for a check that says less if all requests share connections.
func (r *run) passApart(saw string, args ...any) error {
	if !r.Shared {
		return r.pass(saw, args...)
	}
	return r.note(backends.Check{
		Name: r.current, Result: backends.Warned, Saw: fmt.Sprintf(saw, args...) + ", on connections that they may share",
		Means: "of several servers behind one address, perhaps only one was tried",
		Do:    "the client's transport cannot be copied: verify with a plain one",
	})
}

// newReaders reads the object over new connections, at once.
func (r *run) newReaders(ctx context.Context) ([]Object, error) {
	shown, errs := make([]Object, readers), make([]error, readers)
	var done sync.WaitGroup
	for i := range readers {
		done.Go(func() {
			fresh, closeAll := r.fresh()
			defer closeAll()
			shown[i], errs[i] = r.load(ctx, r.watch(fresh), r.name)
		})
	}
	done.Wait()
	return shown, errors.Join(errs...)
}

// race lets eight replace one version at once, again and again.
func (r *run) race(ctx context.Context) error {
	crowd := make([]Store, Writers)
	for i := range crowd {
		fresh, closeAll := r.fresh()
		defer closeAll()
		crowd[i] = r.watch(fresh)
	}
	// So the connections are there when it counts.
	if err := errors.Join(Meet(func(i int) error { _, err := r.load(ctx, crowd[i], r.name); return err })...); err != nil {
		return err
	}
	decided := 0
	for range 3 * Rounds() {
		d, wrong, err := r.round(ctx, crowd)
		switch {
		case err != nil:
			return err
		case wrong != "":
			return r.fail(twoHolders, otherStore, "%s, in round %d", wrong, decided+1)
		case d:
			decided++
		}
		if decided == Rounds() {
			return r.passApart("in %d rounds of %d writers%s, one won each", decided, Writers, r.apart())
		}
	}
	return r.busy(fmt.Sprintf("for a race: of %d rounds only %d had a winner", 3*Rounds(), decided))
}

// round tells whether one writer has won, and what is wrong if that was not all.
func (r *run) round(ctx context.Context, crowd []Store) (decided bool, wrong string, err error) {
	records := r.records()
	errs := Meet(func(i int) error {
		_, err := crowd[i].Put(ctx, r.name, r.at.Version, records[i])
		return err
	})
	won := winners(errs)
	if len(won) == 0 {
		if err := r.hopeless(ctx, Replace, errs); err != nil {
			return false, "", err
		}
	}
	now, err := r.look(ctx)
	if err != nil {
		return false, "", err
	}
	r.at = now
	switch {
	case len(won) > 1:
		return false, fmt.Sprintf("%d of %d writers on one version were told that they had won", len(won), Writers), nil
	case len(won) == 1 && !now.is(records[won[0]]):
		return false, "what the winner wrote is not what can be read a moment later", nil
	}
	return len(won) == 1, "", nil
}

// extra makes the checks of this store only.
func (r *run) extra(ctx context.Context) error {
	if r.Extra == nil {
		return nil
	}
	checks, err := r.Extra(ctx, r.name, r.at.Version)
	r.report.Checks = append(r.report.Checks, checks...)
	return err
}
