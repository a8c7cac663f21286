//go:build unix

package dbserver

import (
	"context"
	_ "embed" // for guard.sh
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Variable is the environment variable that makes a test fail where it would skip
// because a server is not installed.
const Variable = "BLOBLEASE_REQUIRE_SQL"

// startTimeout is generous: other packages may be compiling meanwhile.
const startTimeout = 2 * time.Minute

//go:embed guard.sh
var guard string

// A product is a database server as the system has it.
type product struct {
	name    string
	install string // what installs it on Debian
	// programs finds what is needed, or says what is missing.
	programs func() (setup, server string, err error)
	// arguments are those of the two programs, for a directory.
	setup, serve func(dir string) []string
	signal       string // what ends the server at once
	ready        func(ctx context.Context, dir string) error
}

// A server is a product that runs.
type server struct {
	product
	dir   string
	stdin io.WriteCloser // the guard ends the server when this is closed
}

// A single is started when it is asked for first, once.
type single struct {
	product
	once   sync.Once
	server *server
	err    error
}

// get returns the server, or ends the test if there is none.
func (s *single) get(t testing.TB) *server {
	t.Helper()
	setup, program, err := s.programs()
	if err != nil {
		missing(t, "%s is not installed (%v): apt-get install %s", s.name, err, s.install)
	}
	s.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		s.server, s.err = s.start(ctx, setup, program)
	})
	if s.err != nil {
		t.Fatalf("start %s: %v", s.name, s.err)
	}
	return s.server
}

func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(Variable) != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// start makes a database in a directory of its own, and returns when it can be used.
func (p product) start(ctx context.Context, setup, program string) (*server, error) {
	dir, err := os.MkdirTemp("", "db")
	if err != nil {
		return nil, err
	}
	attributes, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, setup, p.setup(dir)...)
	inside(c, dir, attributes)
	if out, err := c.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(setup), err, lastLines(out))
	}
	s := &server{product: p, dir: dir}
	c = exec.CommandContext(context.WithoutCancel(ctx), "sh", append([]string{"-c", guard, p.signal, program}, p.serve(dir)...)...)
	inside(c, dir, attributes)
	if s.stdin, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return s, s.await(ctx)
}

// inside keeps a child in the directory, its temporary files too.
func inside(c *exec.Cmd, dir string, attributes *syscall.SysProcAttr) {
	c.Dir, c.SysProcAttr = dir, attributes
	c.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
}

// await returns when the server answers.
func (s *server) await(ctx context.Context) error {
	for {
		err := s.ready(ctx, s.dir)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			out, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("%w; its log: %s", err, lastLines(out))
		}
	}
}

// unprivileged makes a child run as nobody, who gets the directory, if we are root.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for us; the guard follows
	if os.Getuid() != 0 {
		return attributes, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, _ := strconv.ParseUint(nobody.Gid, 10, 32)
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(dir, int(uid), int(gid))
}

func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}

// find returns the program of that name: the newest in the directories that match, or
// one in the path.
func find(name string, directories ...string) (string, error) {
	for _, d := range directories {
		found, _ := filepath.Glob(filepath.Join(d, name))
		if len(found) > 0 {
			return slices.Max(found), nil
		}
	}
	return exec.LookPath(name)
}
