//go:build unix

package show

import (
	"bufio"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// program is this program, built once.
var program string

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoryPasses(t *testing.T) {
	program = build(t)
	t.Run("WithProcesses", func(t *testing.T) {
		d := start(t) // before its turn, so that the tests do not wait for each other
		t.Parallel()
		out := d.readAll(t)
		require.NoError(t, d.cmd.Wait(), out)
		d.leavesNothing(t)
		for _, want := range []string{
			"is killed (SIGKILL)", "is paused (SIGSTOP), in the middle of a write",
			"REFUSED", "leads no more: lease is lost", "overlapping beliefs: 0", "stale writes refused: 1",
		} {
			assert.Contains(t, out, want)
		}
		assert.GreaterOrEqual(t, strings.Count(out, "LEADS"), 4)
		assert.NotContains(t, out, "FAILED")
		assertShownInReadme(t, out)
	})
	t.Run("InMemory", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		assert.Equal(t, exitPassed, demo(&out, newGoroutines, time.Second), out.String())
		assert.Contains(t, out.String(), "simulates SIGSTOP")
	})
	t.Run("InterruptedAtAnyMomentItLeavesNothing", func(t *testing.T) {
		var runs []*run
		for range 6 {
			d, moment := start(t), rand.N(7*time.Second)
			t.Logf("%s: interrupted after %v", d.path, moment)
			interrupt := time.AfterFunc(moment, func() { _ = d.cmd.Process.Signal(os.Interrupt) })
			defer interrupt.Stop()
			runs = append(runs, d)
		}
		t.Parallel()
		for _, d := range runs {
			d.isInterrupted(t, d.readAll(t))
			d.leavesNothing(t)
		}
	})
	t.Run("InterruptedWhileAWorkerIsPausedItLeavesNothing", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.readUntil(t, "is paused")
		require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
		d.isInterrupted(t, d.readAll(t))
		d.leavesNothing(t)
	})
	t.Run("KilledWhileAWorkerIsPausedItLeavesNoProcess", func(t *testing.T) {
		t.Parallel()
		d := start(t)
		d.readUntil(t, "is paused")
		require.NoError(t, d.cmd.Process.Kill())
		require.Error(t, d.cmd.Wait())
		d.leavesNoProcess(t)
	})
}

// assertShownInReadme compares the output on the page with a real one: its lines
// have to be there, in this order, but for times, tokens and the workers' names.
func assertShownInReadme(t *testing.T, out string) {
	t.Helper()
	page, err := os.ReadFile("../../../../README.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```text\n  0.00 s  three workers")
	require.True(t, found, "no output on the page")
	block, _, _ = strings.Cut("  0.00 s  three workers"+block, "```")
	real := strings.Split(plain(out), "\n")
	for line := range strings.Lines(block) {
		line = plain(strings.TrimSuffix(line, "\n"))
		if line == "[...]" {
			continue
		}
		i := slices.Index(real, line)
		require.GreaterOrEqual(t, i, 0, "README.md shows this line, or this order, but it is not what is printed:\n%s\n%s", line, out)
		real = real[i+1:]
	}
}

// plain leaves out what differs from run to run.
func plain(text string) string {
	text = regexp.MustCompile(`directory [^ ]+;`).ReplaceAllString(text, "directory D;")
	text = regexp.MustCompile(`\b[ABC]\b`).ReplaceAllString(text, "W")
	return regexp.MustCompile(` *…?[0-9][0-9_.]*`).ReplaceAllString(text, " N")
}

func TestAWrongSettingIsToldAtOnce(t *testing.T) {
	var out strings.Builder
	assert.Equal(t, exitFailed, demo(&out, newProcesses(Directory(), "dir"), 100*time.Millisecond))
	assert.Empty(t, out.String())
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coordinator")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../..").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// A run is the program, running, with a directory of its own for temporary files
// and a name of its own by which its processes can be found.
type run struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	path   string
	temp   string
	stderr strings.Builder
}

func start(t *testing.T) *run {
	t.Helper()
	r := &run{temp: t.TempDir(), path: filepath.Join(t.TempDir(), "coordinator")}
	require.NoError(t, os.Link(program, r.path))
	r.cmd = exec.CommandContext(t.Context(), r.path)
	r.cmd.Env = append(os.Environ(), "TMPDIR="+r.temp)
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	r.out = bufio.NewReader(out)
	require.NoError(t, r.cmd.Start())
	return r
}

func (r *run) readAll(t *testing.T) string {
	t.Helper()
	out, err := io.ReadAll(r.out)
	require.NoError(t, err)
	return string(out)
}

func (r *run) readUntil(t *testing.T, text string) {
	t.Helper()
	for {
		line, err := r.out.ReadString('\n')
		require.NoError(t, err, "before %q", text)
		if strings.Contains(line, text) {
			return
		}
	}
}

// isInterrupted checks how the program has ended. In its first instant, when it
// has not begun anything, the system ends it.
func (r *run) isInterrupted(t *testing.T, out string) {
	t.Helper()
	var exit *exec.ExitError
	require.ErrorAs(t, r.cmd.Wait(), &exit, "%s", out)
	if out == "" && exit.Sys().(syscall.WaitStatus).Signaled() {
		return
	}
	assert.Equal(t, exitInterrupted, exit.ExitCode(), "%s%s", out, &r.stderr)
	assert.Equal(t, "interrupted\n", r.stderr.String())
}

func (r *run) leavesNothing(t *testing.T) {
	t.Helper()
	files, err := os.ReadDir(r.temp)
	require.NoError(t, err)
	assert.Empty(t, files)
	assert.Empty(t, r.processes(t))
}

// leavesNoProcess gives the system a moment to end them.
func (r *run) leavesNoProcess(t *testing.T) {
	t.Helper()
	assert.Eventually(t, func() bool { return len(r.processes(t)) == 0 }, 5*time.Second, 20*time.Millisecond,
		"they are still there")
}

// processes are those that run this copy of the program.
func (r *run) processes(t *testing.T) []string {
	t.Helper()
	all := commandLines(t)
	require.Contains(t, strings.Join(all, "\n"), os.Args[0], "this test itself is a process")
	return slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, r.path) })
}

// commandLines are those of all processes of this machine.
func commandLines(t *testing.T) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		out, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "args=").Output()
		require.NoError(t, err)
		return strings.Split(string(out), "\n")
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var lines []string
	for _, f := range files {
		line, _ := os.ReadFile(f) // it may have ended
		lines = append(lines, string(line))
	}
	return lines
}
