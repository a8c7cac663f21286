//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

func TestAMissingRecordIsNoError(t *testing.T) {
	object, err := newStore(t.TempDir(), clock.System).Load(t.Context(), "a")
	require.NoError(t, err)
	require.False(t, object.Exists)
	require.Empty(t, object.Version)
	require.WithinDuration(t, time.Now(), object.Now, time.Minute)
}

func TestAWriteNeedsTheVersionThatStands(t *testing.T) {
	s, ctx := newStore(t.TempDir(), clock.System), t.Context()
	_, err := s.Put(ctx, "a", "0123", []byte("x\n"))
	require.ErrorIs(t, err, cas.ErrVanished)
	first, err := s.Put(ctx, "a", "", []byte("one\n"))
	require.NoError(t, err)
	_, err = s.Put(ctx, "a", "", []byte("x\n"))
	require.ErrorIs(t, err, cas.ErrConflict)
	second, err := s.Touch(ctx, "a", first.Version, []byte("two\n"))
	require.NoError(t, err)
	_, err = s.Touch(ctx, "a", first.Version, []byte("x\n"))
	require.ErrorIs(t, err, cas.ErrConflict)

	object, err := s.Load(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "two\n", string(object.Data))
	require.Equal(t, second.Version, object.Version)
}

func TestWhatIsStoredCanBeRead(t *testing.T) {
	dir := t.TempDir()
	_, err := newStore(dir, booted("b", 5)).Put(t.Context(), "a", "", []byte("{\n  \"state\": \"held\"\n}\n"))
	require.NoError(t, err)
	stored, err := os.ReadFile(filepath.Join(dir, "a.lease"))
	require.NoError(t, err)
	require.Equal(t, "{\n  \"state\": \"held\"\n}\n{\"boot\":\"b\",\"uptime_ns\":5}\n", string(stored))
}

func TestTheSameDataTwiceAreTwoVersions(t *testing.T) {
	s, c := newStore(t.TempDir(), clock.System), booted("b", 1)
	s.carrier = clock.Carry(c)
	first, err := s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	c.boot.Since++
	second, err := s.Put(t.Context(), "a", first.Version, []byte("x\n"))
	require.NoError(t, err)
	require.NotEqual(t, first.Version, second.Version)
}

func TestAnEditedFileHasAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, clock.System)
	put, err := s.Put(t.Context(), "a", "", []byte("holder: me\n"))
	require.NoError(t, err)
	edit(t, filepath.Join(dir, "a.lease"), ": me", ": you")
	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "holder: you\n", string(object.Data))
	require.NotEqual(t, put.Version, object.Version)
	_, err = s.Put(t.Context(), "a", put.Version, []byte("x\n"))
	require.ErrorIs(t, err, cas.ErrConflict)
}

func TestAnEditedStampHasAnotherVersionAndTheDateItSays(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, booted("b", time.Hour))
	put, err := s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	require.Equal(t, put.Now, put.Modified)
	edit(t, filepath.Join(dir, "a.lease"), ":3600000000000", ":3599000000000")
	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err)
	require.NotEqual(t, put.Version, object.Version)
	require.Equal(t, time.Second, object.Now.Sub(object.Modified))
}

func TestTheDatesOfTheFileMeanNothing(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, booted("b", time.Hour))
	put, err := s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	old := time.Now().Add(-24 * time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a.lease"), old, old))
	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, put.Version, object.Version)
	require.Equal(t, object.Now, object.Modified)
}

func edit(t *testing.T, file, from, to string) {
	t.Helper()
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(stored), from)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(stored), from, to)), 0o600))
}

func TestEveryNameHasItsOwnRecordInsideTheDirectory(t *testing.T) {
	parent := t.TempDir()
	s := newStore(filepath.Join(parent, "leases"), clock.System)
	require.NoError(t, os.Mkdir(s.path, 0o700))
	for _, name := range nasty {
		_, err := s.Put(t.Context(), name, "", []byte(name))
		require.NoError(t, err, "%q", name)
	}
	for _, name := range nasty {
		object, err := s.Load(t.Context(), name)
		require.NoError(t, err, "%q", name)
		require.Equal(t, name, string(object.Data))
	}
	require.Len(t, list(t, s.path), 2*len(nasty)) // record and lock
	require.Len(t, list(t, parent), 1)
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestOneWinnerOfFiftyGoroutines(t *testing.T) {
	s, version := newStore(t.TempDir(), clock.System), ""
	for round := range 10 {
		var winners atomic.Int32
		var next atomic.Value
		var wait sync.WaitGroup
		for i := range 50 {
			wait.Go(func() {
				object, err := s.Put(context.Background(), "a", version, fmt.Appendf(nil, "%d/%d\n", round, i))
				if err == nil {
					winners.Add(1)
					next.Store(object.Version)
				} else if !isRefusal(err) {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 1, winners.Load())
		object, err := s.Load(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, next.Load(), object.Version, "the winner's version is not the one that stands")
		version = object.Version
	}
}

func TestAStaleTemporaryFileIsHarmless(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, clock.System)
	put, err := s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.lease.tmp"), []byte("torn"), 0o600))
	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "x\n", string(object.Data))
	_, err = s.Put(t.Context(), "a", put.Version, []byte("y\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"a.lease", "a.lease.lock"}, list(t, dir))
}

func TestADirectoryThatVanishes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	require.NoError(t, os.Mkdir(dir, 0o700))
	s := newStore(dir, clock.System)
	put, err := s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	_, err = s.Put(t.Context(), "a", put.Version, []byte("y\n"))
	require.ErrorIs(t, err, backends.ErrNoContainer)
	require.ErrorContains(t, err, "`mkdir -p "+dir+"`")
	_, err = s.Load(t.Context(), "a")
	require.ErrorIs(t, err, backends.ErrNoContainer)
	require.NoFileExists(t, dir)

	require.NoError(t, os.Mkdir(dir, 0o700))
	_, err = s.Put(t.Context(), "a", put.Version, []byte("y\n"))
	require.ErrorIs(t, err, cas.ErrVanished)
}

func TestADirectoryThatVanishesWhileItIsOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "leases")
	require.NoError(t, os.Mkdir(dir, 0o700))
	d, err := openDirectory(dir)
	require.NoError(t, err)
	defer d.close()
	require.NoError(t, os.RemoveAll(dir))
	_, err = d.tryLock("a.lease.lock")
	require.ErrorIs(t, err, backends.ErrNoContainer)
}

func TestALockFileThatWasDeletedIsNotTrusted(t *testing.T) {
	d, err := openDirectory(t.TempDir())
	require.NoError(t, err)
	defer d.close()
	f, err := d.open("lock", os.O_RDONLY|os.O_CREATE, lockMode)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	locked, err := d.take(f, "lock")
	require.NoError(t, err)
	require.True(t, locked)
	unflock(f)
	require.NoError(t, d.root.Remove("lock"))
	for range 2 {
		locked, err = d.take(f, "lock")
		require.NoError(t, err)
		require.False(t, locked)
		other, err := d.tryLock("lock")
		require.NoError(t, err)
		require.NotNil(t, other)
		unlock(other)
	}
}

func TestACopyOfTheDescriptorDoesNotKeepTheLock(t *testing.T) {
	d, err := openDirectory(t.TempDir())
	require.NoError(t, err)
	defer d.close()
	held, err := d.tryLock("lock")
	require.NoError(t, err)
	second, err := unix.Dup(int(held.Fd())) // as a child that is being started has it
	require.NoError(t, err)
	defer func() { _ = unix.Close(second) }()
	unlock(held)
	other, err := d.tryLock("lock")
	require.NoError(t, err)
	require.NotNil(t, other)
	unlock(other)
}

func TestAnAbandonedWriteLeavesTheOldRecord(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, clock.System)
	put, err := s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	left := new(attempt)
	require.True(t, left.abandon())
	_, err = s.put(t.Context(), left, "a", put.Version, []byte("y\n"))
	require.ErrorIs(t, err, errAbandoned)
	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, put.Version, object.Version)
	require.Equal(t, []string{"a.lease", "a.lease.lock"}, list(t, dir))
}
