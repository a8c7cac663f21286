package show

import (
	"context"
	"errors"
	"io"
	"net/rpc"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/mutex"
)

// A desk is what one worker may ask for, by net/rpc: the ledger, and to tell what
// it does. Its line is a pipe to the worker's process, so nothing listens on
// a port, and either side learns when the other has gone.
type desk struct {
	worker string
	story  *story
}

// An Entry is a write to the ledger.
type Entry struct {
	Token  backends.Token
	Number int
}

// A Receipt is the ledger's answer.
type Receipt struct {
	Entries int            // how many there are
	Refused bool           // the token was too old
	Highest backends.Token // that the ledger has seen, if it refused
}

// A Belief is what a worker tells of its term.
type Belief struct {
	Token backends.Token
	At    time.Duration // uptime at its start, or at its end
	Cause string        // why it ended
	Lost  bool          // its context says that the lease was lost
}

// Nothing is for calls that ask or answer nothing.
type Nothing struct{}

// Lead says that the worker leads.
func (d *desk) Lead(b Belief, _ *Nothing) error {
	d.story.teller.say("%s LEADS, with token %s", d.worker, d.story.teller.short(b.Token))
	d.story.stage.began(d.worker, b)
	return nil
}

// End says that the worker leads no more.
func (d *desk) End(b Belief, _ *Nothing) error {
	d.story.teller.say("%s leads no more: %s", d.worker, b.Cause)
	d.story.stage.finished(d.worker, b)
	return nil
}

// Read reads the ledger.
func (d *desk) Read(t backends.Token, r *Receipt) error {
	n, err := d.story.ledger.read(t)
	*r = receipt(n, err)
	if !r.Refused {
		d.story.trap.pass(d.worker)
	}
	return nil
}

// Write adds to the ledger.
func (d *desk) Write(e Entry, r *Receipt) error {
	*r = receipt(e.Number, d.story.ledger.write(entry{d.worker, e.Token, e.Number}))
	if r.Refused {
		short := d.story.teller.short
		d.story.teller.say("%s writes entry %d: REFUSED, token %s is older than %s", d.worker, e.Number, short(e.Token), short(r.Highest))
	} else {
		d.story.teller.say("%s writes entry %d", d.worker, e.Number)
	}
	return nil
}

// Stay never returns: its caller learns that way that the desk has gone.
func (d *desk) Stay(Nothing, *Nothing) error { select {} }

func receipt(entries int, err error) Receipt {
	if stale, is := errors.AsType[*fence.StaleError](err); is {
		return Receipt{Refused: true, Highest: stale.Highest}
	}
	return Receipt{Entries: entries}
}

// serve answers the calls that come over line until that is closed.
func (d *desk) serve(line io.ReadWriteCloser) error {
	server := rpc.NewServer()
	if err := server.RegisterName("desk", d); err != nil {
		return err
	}
	go server.ServeConn(line)
	return nil
}

// A client is a worker's end of the line. A line that is broken ends the worker,
// by untilGone.
type client struct{ rpc *rpc.Client }

func newClient(line io.ReadWriteCloser) *client { return &client{rpc.NewClient(line)} }

// untilGone returns a context that also ends when the desk has gone.
func (c *client) untilGone(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	stay := c.rpc.Go("desk.Stay", Nothing{}, &Nothing{}, nil)
	go func() {
		<-stay.Done
		cancel()
	}()
	return ctx
}

func (c *client) tellLead(t backends.Token, at time.Duration) {
	_ = c.rpc.Call("desk.Lead", Belief{Token: t, At: at}, &Nothing{})
}

// tellEnd tells of the end of a term whose context is ctx.
func (c *client) tellEnd(ctx context.Context, t backends.Token, at time.Duration) {
	b := Belief{Token: t, At: at, Cause: "its work is done"}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		b.Cause, b.Lost = cause.Error(), errors.Is(cause, mutex.ErrLost)
	}
	_ = c.rpc.Call("desk.End", b, &Nothing{})
}

// read returns the number of entries.
func (c *client) read(t backends.Token) (int, error) { return c.ask("desk.Read", t, t) }

func (c *client) write(t backends.Token, number int) error {
	_, err := c.ask("desk.Write", t, Entry{t, number})
	return err
}

func (c *client) ask(what string, t backends.Token, arg any) (int, error) {
	var r Receipt
	if err := c.rpc.Call(what, arg, &r); err != nil {
		return 0, err
	}
	if r.Refused {
		return 0, &fence.StaleError{Lock: leaseName, Token: t, Highest: r.Highest}
	}
	return r.Entries, nil
}
