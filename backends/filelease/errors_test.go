//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

func TestErrorsThatAreDecisionsHaveTheirName(t *testing.T) {
	for errno, want := range map[unix.Errno]error{
		unix.EACCES: backends.ErrDenied, unix.EPERM: backends.ErrDenied, unix.EROFS: backends.ErrDenied,
		unix.ENOTSUP: backends.ErrUnsupported, unix.ENOSYS: backends.ErrUnsupported,
		unix.ENOSPC: nil, unix.EDQUOT: nil, unix.EIO: nil, unix.EFBIG: nil, unix.EMFILE: nil,
	} {
		for _, err := range []error{errno, &fs.PathError{Op: "open", Path: "secret", Err: errno}, &os.LinkError{Op: "rename", Err: errno}} {
			got := explain("write", "/d/a.lease", err)
			require.ErrorIs(t, got, errno)
			require.Regexp(t, `^write /d/a\.lease: `, got.Error())
			require.NotContains(t, got.Error(), "secret")
			for _, class := range classes {
				require.Equal(t, errors.Is(want, class), errors.Is(got, class), "%v as %v", got, class)
			}
		}
	}
}

var classes = []error{
	backends.ErrDenied, backends.ErrUnsupported, backends.ErrNoContainer, backends.ErrForeign, backends.ErrLost, backends.ErrHeld,
	cas.ErrConflict, cas.ErrVanished,
}

// The sync of the directory comes after the rename. Whatever it answers, the
// write may have been applied.
func TestNoErrorAfterTheRenameIsADecision(t *testing.T) {
	d := &directory{path: "/d"}
	closed, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.ErrorContains(t, d.sync(closed), "/d")
	for _, class := range classes {
		require.NotErrorIs(t, d.sync(closed), class)
	}
	reader, writer, err := os.Pipe() // cannot be synced: EINVAL
	require.NoError(t, err)
	defer func() { _, _ = reader.Close(), writer.Close() }()
	require.NoError(t, d.sync(reader))
}

func TestThePathInACommandIsQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"/var/lib/a-b_c.d": "/var/lib/a-b_c.d", "/a b": "'/a b'", "/$HOME": "'/$HOME'", "/it's": `'/it'\''s'`, "/é": "/é",
	} {
		require.Equal(t, want, shellQuoted(path))
	}
}
