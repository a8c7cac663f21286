//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/azurite"
)

func TestTheStoryPassesOnAzurite(t *testing.T) {
	if testing.Short() || os.Getenv(azurite.Variable) == "skip" {
		t.Skip("it takes more than a minute, and Azurite")
	}
	out, err := exec.CommandContext(t.Context(), build(t)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, want := range []string{"is killed (SIGKILL)", "REFUSED", "overlapping beliefs: 0", "stale writes refused: 1"} {
		assert.Contains(t, string(out), want)
	}
}

// The program ends with what to do, and not with a story.
func TestWithoutNodeItTellsWhatToInstall(t *testing.T) {
	program := exec.CommandContext(t.Context(), build(t))
	program.Env = []string{"PATH=" + t.TempDir()}
	out, err := program.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "install Node.js")
	assert.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coordinator")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}
