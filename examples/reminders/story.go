package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// patience is how many TTLs the story may take.
const patience = 30

// tell tells the story, and checks it.
func tell(ctx context.Context, s settings, out io.Writer) error {
	s, remove, err := s.filled()
	if err != nil {
		return err
	}
	defer remove()
	if _, err := openStore(s.Store); err != nil {
		return err // once, and not from each worker
	}
	ctx, cancel := context.WithTimeout(ctx, patience*s.TTL)
	defer cancel() // ends the workers, in whatever state
	b, err := openBooks(ctx, s.DB, s.Night)
	if err != nil {
		return err
	}
	defer func() { _ = b.db.Close() }()
	if err := b.create(ctx); err != nil {
		return err
	}
	c := &crew{settings: s, out: out, start: time.Now()}
	refused, err := c.firstStart(ctx)
	if err != nil {
		return err
	}
	first, err := b.reminders(ctx)
	if err != nil {
		return err
	}
	if err := c.secondStart(ctx); err != nil {
		return err
	}
	second, err := b.reminders(ctx)
	if err != nil {
		return err
	}
	return c.verdict(first, second, refused)
}

// filled returns s with the defaults in place, and what removes what they made.
func (s settings) filled() (settings, func(), error) {
	remove := func() {}
	if s.DB == "" || s.Store == "" {
		dir, err := os.MkdirTemp("", "reminders")
		if err != nil {
			return s, nil, err
		}
		remove = func() { _ = os.RemoveAll(dir) }
		if s.DB == "" {
			s.DB = filepath.Join(dir, "books.db")
		}
		if s.Store == "" {
			s.Store = dir
		}
	}
	if s.TTL == 0 {
		s.TTL = 2 * time.Second
		if strings.Contains(s.Store, "://") {
			s.TTL = 15 * time.Second
		}
	}
	return s, remove, nil
}

// firstStart is the night: A hangs in the middle, B goes on, A wakes too late. It
// returns how A's write was refused.
func (c *crew) firstStart(ctx context.Context) (refused string, err error) {
	middle := c.Customers / 2
	c.tell("the night of %s: %d customers, two workers, a lease of %v", c.Night, c.Customers, c.TTL)
	a, err := c.hire(ctx, "A", middle)
	if err != nil {
		return "", err
	}
	if _, err := a.await(ctx, "leads, token"); err != nil {
		return "", err
	}
	b, err := c.hire(ctx, "B", 0)
	if err != nil {
		return "", err
	}
	if _, err := a.await(ctx, "hangs"); err != nil {
		return "", err
	}
	if err := pause(a.cmd.Process); err != nil {
		return "", err
	}
	c.tell("  A is stopped (SIGSTOP), and its lease is not renewed")
	if _, err := b.await(ctx, fmt.Sprintf("customer %d: sent", middle+2)); err != nil {
		return "", err
	}
	c.tell("  A is woken, and goes on with the reminder that it was about to send")
	if err := errors.Join(wake(a.cmd.Process), a.stdin.Close()); err != nil {
		return "", err
	}
	if refused, err = a.await(ctx, "REFUSED"); err != nil {
		return "", err
	}
	return refused, errors.Join(b.leave(ctx), a.leave(ctx))
}

// secondStart starts both again, for the same night.
func (c *crew) secondStart(ctx context.Context) error {
	c.tell("both are started again, for the same night")
	for _, name := range []string{"A", "B"} {
		m, err := c.hire(ctx, name, 0)
		if err != nil {
			return err
		}
		if _, err := m.await(ctx, "nothing to do"); err != nil {
			return err
		}
		if err := m.leave(ctx); err != nil {
			return err
		}
	}
	return nil
}

// verdict says of each promise whether it was kept.
func (c *crew) verdict(first, second []reminder, refused string) error {
	fmt.Fprintln(c.out, "checked:")
	var broken error
	check := func(kept bool, format string, args ...any) {
		promise, mark := fmt.Sprintf(format, args...), "ok    "
		if !kept {
			mark = "BROKEN"
			broken = errors.Join(broken, errors.New(promise))
		}
		fmt.Fprintf(c.out, "  %s  %s\n", mark, promise)
	}
	middle := c.Customers / 2
	check(eachHasOne(first, c.Customers) == nil, "%d customers have one reminder each", c.Customers)
	for _, r := range first {
		if by := map[bool]string{true: "A", false: "B"}[r.customer < middle]; r.worker != by {
			check(false, "customer %d has it from %s, not from %s", r.customer, by, r.worker)
		}
	}
	if len(first) == c.Customers {
		old, next := first[0].token, first[len(first)-1].token
		check(old < next, "B went on at customer %d, with a higher token", middle)
		check(strings.Contains(refused, fmt.Sprintf("token %d is older than %d", old, next)), "A's late reminder was refused: token %d is older than %d", old, next)
	}
	check(fmt.Sprint(first) == fmt.Sprint(second), "the second start has sent nothing")
	return broken
}

// eachHasOne returns an error that names the customers who have not one reminder, and
// those of an older leader that came after a newer one's.
func eachHasOne(all []reminder, customers int) error {
	have := map[int]int{}
	for _, r := range all {
		have[r.customer]++
	}
	var wrong error
	for customer := 1; customer <= customers; customer++ {
		if n := have[customer]; n != 1 {
			wrong = errors.Join(wrong, fmt.Errorf("customer %d has %d reminders", customer, n))
		}
	}
	for i := 1; i < len(all); i++ {
		if all[i].token < all[i-1].token {
			wrong = errors.Join(wrong, fmt.Errorf("customer %d has one of an older leader than customer %d", all[i].customer, all[i-1].customer))
		}
	}
	return wrong
}
