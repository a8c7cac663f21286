package filelease

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Roles are what this test binary does when a test starts it as another process.
// It is exported for the external test package.
var Roles = map[string]func(args []string){}

const roleKey = "FILELEASE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := Roles[os.Getenv(roleKey)]; role != nil {
		go func() { // a child does not outlive the test
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(3)
		}()
		role(os.Args[1:])
		os.Exit(0)
	}
	_ = flag.Set("test.parallel", "5") // such tests wait for other processes
	goleak.VerifyTestMain(m)
}

// A Child is another process that plays a role.
type Child struct {
	*exec.Cmd
	lines *bufio.Scanner
}

// StartChild starts this test binary in a role. It is killed when the test ends.
func StartChild(t *testing.T, role string, args ...string) *Child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := NewChild(t, self, role, args...)
	c.Run(t)
	return c
}

// NewChild is StartChild without the start.
func NewChild(t *testing.T, binary, role string, args ...string) *Child {
	t.Helper()
	cmd := exec.Command(binary, args...) //nolint:noctx // killed in Cleanup
	cmd.Env = append(os.Environ(), roleKey+"="+role)
	cmd.Stderr = os.Stderr
	return &Child{Cmd: cmd}
}

// Run starts the process.
func (c *Child) Run(t *testing.T) {
	t.Helper()
	stdin, err := c.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.StdoutPipe()
	require.NoError(t, err)
	c.lines = bufio.NewScanner(stdout)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		c.Kill()
		_ = stdin.Close()
	})
}

// Line returns the next line that the child writes, "" when it has ended.
func (c *Child) Line() string {
	c.lines.Scan()
	return c.lines.Text()
}

// Kill ends the child with SIGKILL, waits for its end, and returns the last line
// that it wrote.
func (c *Child) Kill() (last string) {
	_ = c.Process.Kill()
	for c.lines.Scan() {
		last = c.lines.Text()
	}
	_ = c.Wait()
	return last
}

// Say writes a line to the test that started this process.
func Say(args ...any) { fmt.Fprintln(os.Stdout, args...) }
