package filelease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
)

// The waits between two attempts to lock. The lock is held for milliseconds.
const (
	firstWait = time.Millisecond
	maxWait   = 8 * time.Millisecond
)

// lockMode lets every user whom the directory lets write take the lock, as far as
// umask allows: a lock file that only its creator could open would shut the
// others out for good. There is nothing in it to read or to spoil.
const lockMode = 0o666

// lock waits until it has the lock, or ctx ends. It asks again and again,
// since a system call that waits for a lock cannot be called off.
//
// The lock is not on the record itself, for that is replaced: two writers
// could hold locks on two files that both had its name.
func (d *directory) lock(ctx context.Context, c clock.Clock, file string) (*os.File, error) {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		f, err := d.tryLock(file)
		if f != nil || err != nil {
			return f, err
		}
		_ = clock.Sleep(ctx, c, wait)
		if ctx.Err() != nil { // not the cause, which may be any error, one with a meaning here too
			return nil, fmt.Errorf("wait for lock %s: %w", d.join(file), ctx.Err())
		}
	}
}

// tryLock returns nil, nil if the lock is not to be had at this moment. Each call
// opens the file afresh, for an flock belongs to the opened file: the
// goroutines of one process exclude each other as processes do.
func (d *directory) tryLock(file string) (*os.File, error) {
	f, err := d.open(file, os.O_RDONLY|os.O_CREATE, lockMode)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noDirectory(d.path) // it was there when it was opened, but has been removed
	}
	if err != nil {
		return nil, err
	}
	if locked, err := d.take(f, file); !locked {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// take locks f, if it still has this name: if it was deleted, others lock another
// by now.
func (d *directory) take(f *os.File, file string) (locked bool, err error) {
	locked, err = flock(f)
	if err != nil {
		return false, explain("lock", d.join(file), err)
	}
	return locked && d.isNamed(f, file), nil
}

// isNamed reports whether f still has this name.
func (d *directory) isNamed(f *os.File, file string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := d.root.Lstat(file)
	return err == nil && os.SameFile(opened, named)
}

// unlock frees the lock by name, not just by closing: a child process that is
// being started has a copy of the descriptor until it executes its program.
func unlock(f *os.File) {
	unflock(f)
	_ = f.Close()
}
