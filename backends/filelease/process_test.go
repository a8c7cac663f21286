//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

func init() {
	Roles["count"] = playCounter
	Roles["write"] = playWriter
	Roles["lock"] = playLocker
	Roles["put"] = playPut
	Roles["put small"] = playPutSmall
}

func isRefusal(err error) bool {
	return errors.Is(err, cas.ErrConflict) || errors.Is(err, cas.ErrVanished)
}

// playCounter adds one to the number in the record, until it has done so n times.
func playCounter(args []string) {
	s, ctx := newStore(args[0], clock.System), context.Background()
	n, _ := strconv.Atoi(args[1])
	for done := 0; done < n; {
		object, err := s.Load(ctx, "counter")
		if err != nil {
			panic(err)
		}
		count, _ := strconv.Atoi(strings.TrimSpace(string(object.Data)))
		_, err = s.Put(ctx, "counter", object.Version, fmt.Appendln(nil, count+1))
		if err == nil {
			done++
		} else if !isRefusal(err) {
			panic(err)
		}
	}
}

func TestOneWinnerOfManyProcesses(t *testing.T) {
	const processes, each = 4, 20
	dir := t.TempDir()
	var children []*Child
	for range processes {
		children = append(children, StartChild(t, "count", dir, strconv.Itoa(each)))
	}
	for _, c := range children {
		require.NoError(t, c.Wait())
	}
	object, err := newStore(dir, clock.System).Load(t.Context(), "counter")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintln(processes*each), string(object.Data))
}

// page is a record that shows whether it is whole.
func page(n int) []byte {
	return []byte(strings.Repeat(fmt.Sprintln(n), 2000) + "end\n")
}

func pageNumber(t *testing.T, data []byte) int {
	t.Helper()
	first, _, _ := strings.Cut(string(data), "\n")
	n, err := strconv.Atoi(first)
	require.NoError(t, err)
	require.True(t, string(page(n)) == string(data), "torn record of %d bytes, number %d", len(data), n)
	return n
}

// playWriter writes page after page until it is killed.
func playWriter(args []string) {
	s, ctx := newStore(args[0], clock.System), context.Background()
	object, err := s.Load(ctx, "page")
	n, _, _ := strings.Cut(string(object.Data), "\n")
	for i, _ := strconv.Atoi(n); err == nil; i++ {
		object, err = s.Put(ctx, "page", object.Version, page(i+1))
		Say(i + 1)
	}
	panic(err)
}

func TestAWriterThatIsKilledLeavesAWholeRecord(t *testing.T) {
	for worker := range 2 {
		t.Run(strconv.Itoa(worker), func(t *testing.T) {
			t.Parallel()
			dir, last := t.TempDir(), 0
			_, err := newStore(dir, clock.System).Put(t.Context(), "page", "", page(0))
			require.NoError(t, err)
			for range kills() {
				last = killWriter(t, dir, last)
			}
			require.Equal(t, []string{"page.lease", "page.lease.lock"}, list(t, dir))
		})
	}
}

// kills is how often each of two writers is killed: 50 times in all where the
// proof is asked for, else a taste of it.
func kills() int {
	if os.Getenv("BLOBLEASE_PROVE") == "1" {
		return 25
	}
	return 6
}

// killWriter starts a writer, kills it soon, and returns the number of the page
// that it then writes itself.
func killWriter(t *testing.T, dir string, last int) int {
	s, c := newStore(dir, clock.System), StartChild(t, "write", dir)
	acknowledged, err := strconv.Atoi(c.Line())
	require.NoError(t, err)
	require.Greater(t, acknowledged, last)
	for until := time.Now().Add(rand.N(20 * time.Millisecond)); time.Now().Before(until); {
		acknowledged = max(acknowledged, pageNumber(t, load(t, s).Data))
	}
	if n, err := strconv.Atoi(c.Kill()); err == nil { // the last line may be cut
		acknowledged = max(acknowledged, n)
	}
	object := load(t, s)
	n := pageNumber(t, object.Data)
	require.GreaterOrEqual(t, n, acknowledged, "an acknowledged write is gone")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = s.Put(ctx, "page", object.Version, page(n+1))
	require.NoError(t, err, "the dead process keeps the lock")
	return n + 1
}

func load(t *testing.T, s *store) cas.Object {
	t.Helper()
	object, err := s.Load(t.Context(), "page")
	require.NoError(t, err)
	return object
}

// playLocker holds the lock until it is killed.
func playLocker(args []string) {
	d, err := openDirectory(args[0])
	if err != nil {
		panic(err)
	}
	held, err := d.lock(context.Background(), clock.System, filesOf("a").lock)
	Say("locked", held.Name(), err)
	select {}
}

func TestAWriteThatWaitsForTheLockEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	s, c := newStore(dir, clock.System), StartChild(t, "lock", dir)
	require.Contains(t, c.Line(), "locked")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := s.Put(ctx, "a", "", []byte("x\n"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, isRefusal(err))
	require.Less(t, time.Since(begun), time.Second)

	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err, "reading needs no lock")
	require.False(t, object.Exists)
	_, err = s.Put(t.Context(), "b", "", []byte("x\n"))
	require.NoError(t, err, "other names have other locks")

	c.Kill()
	_, err = s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err, "the dead process keeps the lock")
}

func TestTheCauseOfAContextIsNotMistakenForAnAnswer(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, clock.System)
	d, err := openDirectory(dir)
	require.NoError(t, err)
	defer d.close()
	held, err := d.tryLock(filesOf("a").lock)
	require.NoError(t, err)
	defer unlock(held)
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancel(cas.ErrConflict)
	_, err = s.Put(ctx, "a", "", []byte("x\n"))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, cas.ErrConflict)
}

// playPut writes once and says what came of it.
func playPut(args []string) {
	s := newStore(args[0], clock.System)
	_, err := s.Put(context.Background(), "a", args[1], page(1))
	Say(errors.Is(err, backends.ErrDenied), err)
}

// playPutSmall is playPut with no room for more than a few bytes, as on a full disk.
func playPutSmall(args []string) {
	signal.Ignore(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100, Max: 100}); err != nil {
		panic(err)
	}
	playPut(args)
}

func TestAFullDiskLeavesTheOldRecord(t *testing.T) {
	dir := t.TempDir()
	s := newStore(dir, clock.System)
	put, err := s.Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	answer := StartChild(t, "put small", dir, put.Version).Line()
	require.Contains(t, answer, "false write "+filepath.Join(dir, "a.lease.tmp"))
	object, err := s.Load(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, put.Version, object.Version)
	require.Equal(t, []string{"a.lease", "a.lease.lock"}, list(t, dir))
}

func TestAnotherUsersDirectoryIsDenied(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o555))
	require.Contains(t, putAsNobody(t, dir), "true open")
}

func TestUsersWhoMayWriteToTheDirectoryShareTheLeases(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	put, err := newStore(dir, clock.System).Put(t.Context(), "a", "", []byte("x\n"))
	require.NoError(t, err)
	require.Contains(t, putAsNobody(t, dir, put.Version), "false <nil>")
}

func putAsNobody(t *testing.T, dir string, version ...string) string {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	for parent := filepath.Dir(dir); parent != filepath.Dir(parent); parent = filepath.Dir(parent) {
		if strings.Contains(parent, t.Name()) { // made by TempDir, for its user alone
			require.NoError(t, os.Chmod(parent, 0o755))
		}
	}
	c := NewChild(t, "/proc/self/exe", "put", dir, strings.Join(version, ""))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	c.Run(t)
	return c.Line()
}
