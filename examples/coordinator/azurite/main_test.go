//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/azurite"
)

func TestTheStoryPassesOnAzurite(t *testing.T) {
	if testing.Short() || os.Getenv(azurite.Variable) == "skip" {
		t.Skip("it takes more than a minute, and Azurite")
	}
	out, err := exec.CommandContext(t.Context(), build(t, ".")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, want := range []string{"is killed (SIGKILL)", "REFUSED", "overlapping beliefs: 0", "stale writes refused: 1"} {
		assert.Contains(t, string(out), want)
	}
}

// The program ends with what to do, and not with a story.
func TestWithoutNodeItTellsWhatToInstall(t *testing.T) {
	program := exec.CommandContext(t.Context(), build(t, "."))
	program.Env = []string{"PATH=" + t.TempDir()}
	out, err := program.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "install Node.js")
	assert.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
}

// Whoever runs the coordinator knows of one process only.
func TestWhatIsDoneToTheCoordinatorIsDoneToTheStory(t *testing.T) {
	if testing.Short() || os.Getenv(azurite.Variable) == "skip" {
		t.Skip("it takes Azurite")
	}
	program := build(t, "..")
	signals := map[string]os.Signal{"Terminate": syscall.SIGTERM}
	if runtime.GOOS == "linux" { // only Linux tells a process that its parent was killed
		signals["Kill"] = os.Kill
	}
	for name, sig := range signals {
		t.Run(name, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), program, "-store", "azurite")
			c.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			out, err := c.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, c.Start())
			lines := bufio.NewScanner(out)
			for lines.Scan() && !strings.Contains(lines.Text(), "LEADS") {
			}
			require.NoError(t, c.Process.Signal(sig))
			for lines.Scan() { // ends when the story has: it holds the pipe
			}
			_ = c.Wait()
			if sig != os.Kill {
				assert.Equal(t, 130, c.ProcessState.ExitCode())
			}
		})
	}
}

func build(t *testing.T, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coordinator")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, pkg).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}
