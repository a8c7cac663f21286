//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hasLocks says whether this system has flock.
const hasLocks = true

// noWait is the flag that opens a named pipe without waiting for its other end.
const noWait = unix.O_NONBLOCK

// flock tries to get the lock on f, without waiting.
func flock(f *os.File) (locked bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

func unflock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// readOnly reports whether err is that of a file system that is not written to.
func readOnly(err error) bool { return errors.Is(err, unix.EROFS) }

// notPermitted reports whether err is EPERM, which is not about the mode of a
// file or directory: that is EACCES.
func notPermitted(err error) bool { return errors.Is(err, unix.EPERM) }
