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
)

func TestTheStoryPassesOnS3(t *testing.T) {
	if os.Getenv("BLOBLEASE_PROVE") == "" {
		t.Skip("it builds an S3 server: set BLOBLEASE_PROVE=1")
	}
	out, err := exec.CommandContext(t.Context(), compiled(t)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, want := range []string{"versitygw at http://127.0.0.1:", "is killed (SIGKILL)", "REFUSED", "overlapping beliefs: 0", "stale writes refused: 1"} {
		assert.Contains(t, string(out), want)
	}
}

// The program ends with what is wrong, and not with a story.
func TestWithoutARepositoryItTellsWhatToDo(t *testing.T) {
	for want, path := range map[string]string{
		"find the repository":             t.TempDir(),
		"run this in one, or take -store": fakeGo(t),
	} {
		program := exec.CommandContext(t.Context(), compiled(t))
		program.Env = []string{"PATH=" + path, "TMPDIR=" + t.TempDir()}
		out, err := program.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), want)
		assert.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
	}
}

func TestABucketHasAName(t *testing.T) {
	program := compiled(t)
	for _, place := range []string{"s3://", "s3:///", "s3:///prefix"} {
		out, err := exec.CommandContext(t.Context(), program, "-store", place).CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), "names no bucket")
		assert.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
	}
}

// fakeGo is a directory with a go command that finds the module where there is no
// repository, as it is among the downloaded ones.
func fakeGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\necho " + t.TempDir() + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700)) //nolint:gosec // it is to be run
	return dir
}

func compiled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "coordinator")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}
