// Package readme sees to it that the Go code in README.md and docs/ is code
// that compiles: each block has to be part of an example.
//
// A block that cannot be is preceded by a comment with the reason:
//
//	<!-- not compiled: shows the signature only -->
package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/gotool"
)

func TestEveryGoBlockIsPartOfAnExample(t *testing.T) {
	examples := examples(t)
	for _, page := range pages(t) {
		for _, b := range blocks(read(t, page)) {
			if b.exempt {
				continue
			}
			held := slices.ContainsFunc(examples, func(file []string) bool { return contains(file, b.lines) })
			assert.True(t, held, "%s:%d: no file under examples/, and no example_test.go, has these lines:\n%s",
				page, b.line, strings.Join(b.lines, "\n"))
		}
	}
}

func TestBlocksAreFound(t *testing.T) {
	page := strings.Split("# Page\n"+
		"```go\na := 1\n```\n"+
		"```sh\ngo test\n```\n"+
		"<!-- not compiled: a reason -->\n\n```go\nb := 1\n```\n"+
		"<!-- not compiled: -->\n```go\nc := 1\n```\n"+
		"1. item\n\n   ```go\n   d := 1\n\n   e := 1\n   ```\n", "\n")
	assert.Equal(t, []block{
		{line: 2, lines: []string{"a := 1"}},
		{line: 10, lines: []string{"b := 1"}, exempt: true},
		{line: 14, lines: []string{"c := 1"}}, // a comment without a reason exempts nothing
		{line: 19, lines: []string{"   d := 1", "", "   e := 1"}},
	}, blocks(page))
}

func TestALineThatIsNotInTheFileIsNoticed(t *testing.T) {
	file := strings.Split("package p\n\nfunc f() {\n\tif x {\n\t\ta()\n\n\t\tb()\n\t}\n}", "\n")
	assert.True(t, contains(file, []string{"if x {", "\ta()", "", "\tb()", "}"}))
	assert.True(t, contains(file, []string{"  a()", "", "  b()"}), "in a list item")
	assert.False(t, contains(file, []string{"a()", "b()"}), "a line left out")
	assert.False(t, contains(file, []string{"if x {", "a()"}), "another indentation")
	assert.False(t, contains(file, []string{"a", "", "b()"}), "half a line")
	assert.False(t, contains(file, nil), "an empty block")
}

// A block is Go code on a page.
type block struct {
	line   int // where it opens
	lines  []string
	exempt bool
}

var exemption = regexp.MustCompile(`^<!-- not compiled: .*\S.* -->$`)

// blocks finds the Go blocks of a page. Other blocks are stepped over, so that
// nothing in them opens or exempts one.
func blocks(page []string) []block {
	var found []block
	var open *block
	exempt := false
	for i, l := range page {
		text := strings.TrimSpace(l)
		fence := strings.HasPrefix(text, "```")
		switch {
		case fence && open == nil:
			open = &block{line: i + 1, exempt: exempt}
		case fence:
			if isGo(page[open.line-1]) {
				found = append(found, *open)
			}
			open, exempt = nil, false
		case open != nil:
			open.lines = append(open.lines, l)
		case text != "":
			exempt = exemption.MatchString(text)
		}
	}
	return found
}

func isGo(fence string) bool {
	language, _, _ := strings.Cut(strings.TrimLeft(fence, " \t`"), " ")
	return strings.EqualFold(language, "go") || strings.EqualFold(language, "golang")
}

// contains says whether a file has the lines of a block next to each other,
// whatever the indentation that all of them share.
func contains(file, lines []string) bool {
	lines = dedent(lines)
	if len(lines) == 0 {
		return false
	}
	for i := range len(file) - len(lines) + 1 {
		if slices.Equal(dedent(file[i:i+len(lines)]), lines) {
			return true
		}
	}
	return false
}

// dedent removes the indentation that all lines share, and spaces at their ends.
func dedent(lines []string) []string {
	shared, first := "", true
	for _, l := range lines {
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		switch {
		case strings.TrimSpace(l) == "":
		case first:
			shared, first = indent, false
		default:
			for !strings.HasPrefix(indent, shared) {
				shared = shared[:len(shared)-1]
			}
		}
	}
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(strings.TrimPrefix(l, shared), " \t\r"))
	}
	return out
}

// pages are README.md and all pages below docs.
func pages(t *testing.T) []string {
	t.Helper()
	root := gotool.Root(t)
	var found []string
	if readme := filepath.Join(root, "README.md"); exists(readme) {
		found = append(found, readme)
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return err
	})
	require.NoError(t, err)
	return found
}

// examples are the lines of all files that are compiled and meant to be shown.
func examples(t *testing.T) [][]string {
	t.Helper()
	var found [][]string
	for _, p := range gotool.Packages(t, "linux") {
		if p.Rel() == "" {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			if strings.HasPrefix(p.Rel(), "examples/") || strings.HasPrefix(name, "example_") {
				found = append(found, read(t, filepath.Join(p.Dir, name)))
			}
		}
	}
	return found
}

func read(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(string(data), "\n")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
