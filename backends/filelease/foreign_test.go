//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

// foreigners put something into the place of the record.
var foreigners = map[string]func(t *testing.T, file string){
	"directory": func(t *testing.T, file string) { require.NoError(t, os.Mkdir(file, 0o700)) },
	"symbolic link": func(t *testing.T, file string) {
		require.NoError(t, os.Symlink(filepath.Join(filepath.Dir(file), "..", "outside"), file))
	},
	"named pipe": func(t *testing.T, file string) { require.NoError(t, unix.Mkfifo(file, 0o600)) },
	"socket": func(t *testing.T, file string) {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", file)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
	},
}

func TestWhatIsNoFileIsForeign(t *testing.T) {
	for kind, put := range foreigners {
		for _, suffix := range []string{".lease", ".lease.lock"} {
			t.Run(kind+" "+suffix, func(t *testing.T) { checkForeign(t, kind, suffix, put) })
		}
	}
}

func checkForeign(t *testing.T, kind, suffix string, put func(t *testing.T, file string)) {
	parent, err := os.MkdirTemp("", "fl") //nolint:usetesting // a socket's path has to be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	s, outside := newStore(filepath.Join(parent, "leases"), clock.System), filepath.Join(parent, "outside")
	require.NoError(t, os.Mkdir(s.path, 0o700))
	require.NoError(t, os.WriteFile(outside, []byte("precious\n"), 0o600))
	file := filepath.Join(s.path, "a"+suffix)
	put(t, file)
	before, err := os.Lstat(file)
	require.NoError(t, err)

	if suffix == ".lease" {
		_, err = s.Load(t.Context(), "a")
		require.ErrorIs(t, err, backends.ErrForeign)
		require.ErrorContains(t, err, kind)
	}
	for _, version := range []string{"", "0123"} {
		_, err = s.Put(t.Context(), "a", version, []byte("x\n"))
		require.ErrorIs(t, err, backends.ErrForeign)
	}
	after, err := os.Lstat(file)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after))
	content, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "precious\n", string(content))
}

func TestALinkInTheTemporaryFilesPlaceIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("precious\n"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "a.lease.tmp")))
	_, err := newStore(dir, clock.System).Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	content, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "precious\n", string(content))
}

func TestAHugeFileIsReadInPart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.lease")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, 100<<20))
	object, err := newStore(dir, clock.System).Load(t.Context(), "a")
	require.NoError(t, err)
	require.Greater(t, len(object.Data), cas.MaxRecord, "it must not pass for a record")
	require.Less(t, cap(object.Data), 4*cas.MaxRecord)
	require.NotEmpty(t, object.Version)
}

func TestAnEmptyFileExists(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.lease"), nil, 0o600))
	object, err := newStore(dir, clock.System).Load(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, object.Exists)
	require.Empty(t, object.Data)
	require.NotEmpty(t, object.Version)
	require.Zero(t, object.Modified)
}

func TestARecordOfTheGreatestSizeFits(t *testing.T) {
	s, data := newStore(t.TempDir(), clock.System), make([]byte, cas.MaxRecord)
	_, err := s.Put(t.Context(), "a", "", data)
	require.NoError(t, err)
	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, data, object.Data)
}

func TestADirectoryInTheTemporaryFilesPlaceIsForeign(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a.lease.tmp", "full"), 0o700))
	_, err := newStore(dir, clock.System).Put(t.Context(), "a", "", []byte("x\n"))
	require.ErrorIs(t, err, backends.ErrForeign)
	require.DirExists(t, filepath.Join(dir, "a.lease.tmp", "full"))
}
