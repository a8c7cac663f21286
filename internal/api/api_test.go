// Package api keeps the exported API as text, so that a change of it is seen
// in review.
package api

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/gotool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// twoScreens is how much go doc may print of the package that most users meet.
const twoScreens = 100

func TestTheExportedAPIIsAsReviewed(t *testing.T) {
	for _, rel := range public(t) {
		t.Run(rel, func(t *testing.T) {
			got := gotool.Run(t, "linux", "doc", "-all", gotool.Module+"/"+rel)
			golden := filepath.Join("testdata", filepath.FromSlash(rel)+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "if this is meant: make golden, and say so in CHANGELOG.md")
		})
	}
}

func TestEveryGoldenFileHasItsPackage(t *testing.T) {
	packages := public(t)
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimSuffix(filepath.ToSlash(strings.TrimPrefix(path, "testdata"+string(filepath.Separator))), ".txt")
		assert.Contains(t, packages, rel, "%s is of no package", path)
		return nil
	})
	require.NoError(t, err)
}

func TestMutexFitsOnTwoScreens(t *testing.T) {
	const mutex = "mutex"
	if packages := public(t); !assert.Contains(t, packages, mutex) {
		return
	}
	short := gotool.Run(t, "linux", "doc", gotool.Module+"/"+mutex)
	assert.LessOrEqual(t, strings.Count(short, "\n"), twoScreens, short)
}

// public returns the packages that other modules can import.
func public(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, p := range gotool.Packages(t, "linux") {
		rel := p.Rel()
		if rel != "" && len(p.GoFiles) > 0 && p.Name != "main" && !strings.Contains("/"+rel+"/", "/internal/") {
			found = append(found, rel)
		}
	}
	require.NotEmpty(t, found)
	return found
}
