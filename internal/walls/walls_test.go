package walls

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/gotool"
)

// systems differ in which files are compiled, and so in what is imported.
var systems = []string{"linux", "darwin", "windows"}

func TestNoArrowPointsUp(t *testing.T) {
	for _, goos := range systems {
		assert.Empty(t, load(t, goos).arrows(), "on %s", goos)
	}
}

func TestTheCoreReachesTheStandardLibraryOnly(t *testing.T) {
	for _, goos := range systems {
		assert.Empty(t, load(t, goos).foreign(), "on %s", goos)
	}
}

func TestAProgramWithOneBackendCompilesNoOtherSDK(t *testing.T) {
	for _, goos := range systems {
		assert.Empty(t, load(t, goos).sdks(), "on %s", goos)
	}
}

func TestTimeComesFromTheClock(t *testing.T) {
	for _, p := range load(t, "linux").library() {
		if p.Rel() != "internal/clock" {
			assert.Empty(t, unexcused(uses(t, p, clocks)), "ask internal/clock instead")
		}
	}
}

func TestTheLibraryLeavesTheProgramAlone(t *testing.T) {
	for _, p := range load(t, "linux").library() {
		assert.Empty(t, unexcused(uses(t, p, rude)), "return an error, or take an option, instead")
	}
}

func TestEveryExcuseIsNeeded(t *testing.T) {
	unneeded := maps.Clone(excused)
	for _, p := range load(t, "linux").library() {
		for _, u := range uses(t, p, slices.Concat(clocks, rude)) {
			delete(unneeded, u.key())
		}
	}
	assert.Empty(t, unneeded)
}

// A graph is the import graph of this module on one system.
type graph map[string]gotool.Package

var loaded = map[string]graph{} // by system

func load(t *testing.T, goos string) graph {
	t.Helper()
	if g, done := loaded[goos]; done {
		return g
	}
	g := graph{}
	for _, p := range gotool.Packages(t, goos) {
		g[p.ImportPath] = p
	}
	// A list without these is no list, and tests over it would pass for nothing.
	require.Contains(t, g, gotool.Module+"/backends")
	require.Contains(t, g, gotool.Module+"/internal/clock")
	loaded[goos] = g
	return g
}

// rooms are the packages that the walls are about: all that another module
// can import, and the internal ones that have a row. Programs, and what only
// serves tests, are not.
func (g graph) rooms() []gotool.Package {
	var found []gotool.Package
	for _, key := range slices.Sorted(maps.Keys(g)) {
		p := g[key]
		rel := p.Rel()
		_, known := rooms[rel]
		outside := rel == "azurite" || strings.HasPrefix(rel, "examples/") || strings.HasPrefix(rel, "internal/") && !known
		if rel != "" && p.Name != "main" && !outside {
			found = append(found, p)
		}
	}
	return found
}

// library are the rooms that end up in a user's program.
func (g graph) library() []gotool.Package {
	return slices.DeleteFunc(g.rooms(), func(p gotool.Package) bool { return slices.Contains(testSupport, p.Rel()) })
}

// arrows finds imports that the table of rooms does not have.
func (g graph) arrows() []string {
	var found []string
	for _, p := range g.rooms() {
		allowed, known := rooms[p.Rel()]
		if !known {
			found = append(found, p.Rel()+" has no row in the table of rooms")
		}
		for _, i := range p.Imports {
			if rel := gotool.Rel(i); rel != "" && !slices.Contains(allowed, rel) {
				found = append(found, p.Rel()+" imports "+rel)
			}
			if why, is := barred[p.Rel()][i]; is {
				found = append(found, p.Rel()+" imports "+i+": "+why)
			}
		}
	}
	return found
}

// foreign finds packages of other modules that a plain package reaches.
func (g graph) foreign() []string {
	var found []string
	for _, rel := range plain {
		for dep, from := range g.reach(gotool.Module + "/" + rel) {
			if !g[dep].Standard && gotool.Rel(dep) == "" && !strings.HasPrefix(dep, "golang.org/x/sys/") {
				found = append(found, fmt.Sprintf("%s reaches %s, imported by %s", rel, dep, from))
			}
		}
	}
	return found
}

// sdks finds packages that reach the SDK of another store than their own.
func (g graph) sdks() []string {
	var found []string
	for _, p := range g.rooms() {
		if p.Rel() == "backends/open" {
			continue
		}
		for dep, from := range g.reach(p.ImportPath) {
			for sdk, owners := range sdks {
				if strings.HasPrefix(dep, sdk) && !slices.Contains(owners, p.Rel()) {
					found = append(found, fmt.Sprintf("%s reaches %s, imported by %s", p.Rel(), dep, from))
				}
			}
		}
	}
	return found
}

// reach returns all that a package imports, directly or not, each with one
// package that imports it.
func (g graph) reach(root string) map[string]string {
	reached := map[string]string{}
	for queue := []string{root}; len(queue) > 0; queue = queue[1:] {
		for _, i := range g[queue[0]].Imports {
			if _, seen := reached[i]; !seen && i != "C" {
				reached[i] = queue[0]
				queue = append(queue, i)
			}
		}
	}
	return reached
}

// A use is a place in the source where a function is named.
type use struct {
	file     string // within the module
	line     int
	function string
}

func (u use) String() string { return fmt.Sprintf("%s:%d: %s", u.file, u.line, u.function) }

func (u use) key() string { return u.file + ": " + u.function }

func unexcused(found []use) []use {
	return slices.DeleteFunc(found, func(u use) bool { return excused[u.key()] != "" })
}

// uses finds where the sources of a package, on whatever system, name one of
// the functions.
func uses(t *testing.T, p gotool.Package, functions []string) []use {
	t.Helper()
	var found []use
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, 0)
		require.NoError(t, err)
		found = append(found, named(files, file, path.Join(p.Rel(), name), functions)...)
	}
	return found
}

func named(files *token.FileSet, file *ast.File, name string, functions []string) []use {
	var found []use
	imported := importNames(file)
	if p := imported["."]; slices.ContainsFunc(functions, func(f string) bool { return strings.HasPrefix(f, p+".") }) {
		found = append(found, use{name, 1, "import . " + strconv.Quote(p)})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f := function(n, imported); slices.Contains(functions, f) {
			found = append(found, use{name, files.Position(n.Pos()).Line, f})
		}
		return true
	})
	return found
}

// function returns what n names: a function of another package, or a call of
// a built-in.
func function(n ast.Node, imported map[string]string) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if x, is := n.X.(*ast.Ident); is && x.Obj == nil {
			return imported[x.Name] + "." + n.Sel.Name
		}
	case *ast.CallExpr:
		if f, is := n.Fun.(*ast.Ident); is && f.Obj == nil {
			return f.Name
		}
	}
	return ""
}

// importNames maps the names that a file gives to its imports to their paths.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		if i.Name != nil {
			names[i.Name.Name] = p
		} else {
			names[path.Base(p)] = p
		}
	}
	return names
}
