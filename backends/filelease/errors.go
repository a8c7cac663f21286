package filelease

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"github.com/bloblease/bloblease/backends"
)

// explain says what was being done to which file, and gives the errors that are
// decisions their name in package backends. It must not be used for what
// happens after a rename has been begun, since that is undecided.
func explain(doing, file string, err error) error {
	switch {
	case notPermitted(err):
		return fmt.Errorf("%s %s: %w: %w; in a directory with the sticky bit, such as /tmp, another user's file cannot be replaced",
			doing, file, backends.ErrDenied, bare(err))
	case errors.Is(err, fs.ErrPermission), readOnly(err):
		return fmt.Errorf("%s %s: %w: %w", doing, file, backends.ErrDenied, bare(err))
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%s %s: %w: %w", doing, file, backends.ErrUnsupported, bare(err))
	}
	return fmt.Errorf("%s %s: %w", doing, file, bare(err))
}

// bare is err without the path and operation that package os adds.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

func foreign(file string, what fs.FileMode) error {
	kind := "special file"
	switch {
	case what.IsDir():
		kind = "directory"
	case what&fs.ModeSymlink != 0:
		kind = "symbolic link"
	case what&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case what&fs.ModeSocket != 0:
		kind = "socket"
	}
	return fmt.Errorf("%s: %w: it is a %s", file, backends.ErrForeign, kind)
}

func noDirectory(path string) error {
	return fmt.Errorf("directory %s: %w: create it with `mkdir -p %s`", path, backends.ErrNoContainer, shellQuoted(path))
}

// shellQuoted leaves alone what a shell would.
func shellQuoted(path string) string {
	ordinary := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+,:@%", r)
	}
	if strings.IndexFunc(path, func(r rune) bool { return !ordinary(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
