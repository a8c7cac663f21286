package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// A worker sends the reminders of a night, unless another does.
type worker struct {
	settings
	books *books
}

// work returns when the night is done, whoever has done it.
func work(ctx context.Context, s settings) error {
	store, err := openStore(s.Store)
	if err != nil {
		return err
	}
	m, err := mutex.New(store, "nightly/reminders", &mutex.Options{TTL: s.TTL, Poll: s.TTL / 10, Holder: s.Name})
	if err != nil {
		return err
	}
	b, err := openBooks(ctx, s.DB, s.Night)
	if err != nil {
		return err
	}
	defer func() { _ = b.db.Close() }()
	w := &worker{s, b}
	for {
		ran, err := leader.Once(ctx, m, leader.SlotID(s.Night), w.night, nil)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case hopeless(err):
			return err
		case err != nil: // it is outdone, or its database is: whoever leads now goes on
			say("leads no more: %v", err)
			time.Sleep(s.TTL / 10)
		case ran:
			say("is done")
			return nil
		default:
			say("has nothing to do: the night is done")
			return nil
		}
	}
}

// hopeless reports whether err is of the set-up, which trying again does not mend.
func hopeless(err error) bool {
	for _, wrong := range []error{backends.ErrDenied, backends.ErrNoContainer, backends.ErrUnsupported, backends.ErrForeign} {
		if errors.Is(err, wrong) {
			return true
		}
	}
	return false
}

func openStore(where string) (backends.Backend, error) {
	scheme, _, isURL := strings.Cut(where, "://")
	switch {
	case !isURL:
		return filelease.New(where)
	case scheme != "https" && scheme != "http":
		return nil, errors.New("-store takes a directory, or the https URL of an Azure container, and this is neither")
	}
	client, err := container.NewClientWithNoCredential(where, nil)
	if err != nil {
		return nil, errors.New("the URL of the container cannot be read")
	}
	return azurelease.New(client, nil)
}

// night is what the leader does. It raises the fence before it reads how far the one
// before has come: from then on that one can change nothing.
func (w *worker) night(ctx context.Context, lease *mutex.Lease) error {
	say("leads, token %d", lease.Token())
	if err := w.books.fence.Raise(ctx, w.books.db, lease.Name(), lease.Token()); err != nil {
		return err
	}
	sent, err := w.books.sent(ctx)
	if err != nil {
		return err
	}
	say("goes on at customer %d", sent+1)
	for customer := sent + 1; customer <= w.Customers; customer++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		w.prepare(customer)
		// Ending this with ctx would catch a late write nearly always, and so
		// hide that it cannot do so always. The fence can.
		if err := w.books.remind(context.WithoutCancel(ctx), lease, customer, w.Name); err != nil {
			say("customer %d: REFUSED: %v", customer, err)
			return err
		}
		say("customer %d: sent", customer)
	}
	return nil
}

// prepare takes its time; once, it takes too much.
func (w *worker) prepare(customer int) {
	time.Sleep(w.TTL / 100)
	if customer == w.HangAt {
		say("customer %d: hangs", customer)
		_, _ = os.Stdin.Read(make([]byte, 1)) // the parent stops it here, and later lets it go on
	}
}

// say tells the parent.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
