//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filelease

import (
	"errors"
	"os"
)

const (
	hasLocks = false
	noWait   = 0
)

func flock(*os.File) (locked bool, err error) { return false, errors.ErrUnsupported }

func unflock(*os.File) {}

func readOnly(error) bool { return false }

func notPermitted(error) bool { return false }
