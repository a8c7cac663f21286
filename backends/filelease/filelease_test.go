//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/clock"
)

func TestNewWantsADirectory(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no such")
	_, err := New(missing)
	require.ErrorIs(t, err, backends.ErrNoContainer)
	require.ErrorContains(t, err, "`mkdir -p '"+missing+"'`")
	require.NoDirExists(t, missing)

	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for _, path := range []string{file, pipe} {
		_, err = New(path)
		require.ErrorIs(t, err, backends.ErrNoContainer)
		require.NotContains(t, err.Error(), "mkdir")
	}
	_, err = New("")
	require.ErrorContains(t, err, "empty")
}

func TestNewMakesNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := New(dir)
	require.NoError(t, err)
	require.Empty(t, list(t, dir))
}

func claim(holder string) backends.Claim { return backends.Claim{Holder: holder, TTL: time.Second} }

func TestTheDirectoryStaysWhenTheProcessMoves(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	b, err := New(".")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	_, err = b.Acquire(t.Context(), "a", claim("me"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "a.lease"))
}

func TestTwoSpellingsOfADirectoryAreOne(t *testing.T) {
	parent := t.TempDir()
	dir, link := filepath.Join(parent, "leases"), filepath.Join(parent, "link")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Symlink(dir, link))
	one, err := New(dir)
	require.NoError(t, err)
	other, err := New(link + "/../leases/")
	require.NoError(t, err)
	linked, err := New(link)
	require.NoError(t, err)
	_, err = one.Acquire(t.Context(), "a", claim("me"))
	require.NoError(t, err)
	for _, b := range []*Backend{other, linked} {
		_, err = b.Acquire(t.Context(), "a", claim("you"))
		require.ErrorIs(t, err, backends.ErrHeld)
	}
}

func TestATermIsAcquiredRenewedAndReleased(t *testing.T) {
	b, err := New(t.TempDir())
	require.NoError(t, err)
	g, err := b.Acquire(t.Context(), "a", claim("me"))
	require.NoError(t, err)
	renewed, err := b.Renew(t.Context(), g)
	require.NoError(t, err)
	require.NotEqual(t, g.Version, renewed.Version)
	record, err := b.Observe(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, backends.Held, record.State)
	require.Equal(t, renewed.Version, record.Version)
	require.NoError(t, b.Release(t.Context(), renewed))
	next, err := b.Acquire(t.Context(), "a", claim("you"))
	require.NoError(t, err)
	require.Greater(t, next.Token, g.Token)
}

// A fresh process, which has watched nothing.
func contender(t *testing.T, dir string, c clock.Clock) *Backend {
	t.Helper()
	b, err := newBackend(dir, c)
	require.NoError(t, err)
	return b
}

func TestADeadHoldersLeaseIsTakenOverAtTheFirstLook(t *testing.T) {
	dir, c := t.TempDir(), booted("b", time.Hour)
	g, err := contender(t, dir, c).Acquire(t.Context(), "a", claim("dead"))
	require.NoError(t, err)
	c.boot.Since += time.Second
	_, err = contender(t, dir, c).Acquire(t.Context(), "a", claim("me"))
	require.ErrorIs(t, err, backends.ErrHeld)
	c.boot.Since += 20*time.Millisecond + options.Dates.Skew
	next, err := contender(t, dir, c).Acquire(t.Context(), "a", claim("me"))
	require.NoError(t, err)
	require.Greater(t, next.Token, g.Token)
}

func TestARecordOfAnotherBootHasToBeWatched(t *testing.T) {
	dir := t.TempDir()
	_, err := contender(t, dir, booted("earlier", time.Hour)).Acquire(t.Context(), "a", claim("dead"))
	require.NoError(t, err)
	_, err = contender(t, dir, booted("b", 2*time.Hour)).Acquire(t.Context(), "a", claim("me"))
	require.ErrorIs(t, err, backends.ErrHeld)
	_, err = contender(t, dir, booted("", 0)).Acquire(t.Context(), "a", claim("me"))
	require.ErrorIs(t, err, backends.ErrHeld)
}

func TestOnlyBreakReplacesAForeignFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.lease")
	require.NoError(t, os.WriteFile(file, []byte("<html>"), 0o600))
	b, err := New(dir)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), "a", claim("me"))
	require.ErrorIs(t, err, backends.ErrForeign)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "<html>", string(content))
	require.NoError(t, b.Break(t.Context(), "a", ""))
	_, err = b.Acquire(t.Context(), "a", claim("me"))
	require.NoError(t, err)
}

func TestADirectoryThatIsDeletedEndsTheTerm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	require.NoError(t, os.Mkdir(dir, 0o700))
	b, err := New(dir)
	require.NoError(t, err)
	g, err := b.Acquire(t.Context(), "a", claim("me"))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	g, err = b.Renew(t.Context(), g)
	require.ErrorIs(t, err, backends.ErrNoContainer)
	require.NoError(t, os.Mkdir(dir, 0o700))
	_, err = b.Renew(t.Context(), g)
	require.ErrorIs(t, err, backends.ErrLost)
	require.NoFileExists(t, filepath.Join(dir, "a.lease"))
}
