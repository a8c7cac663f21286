// Package gotool lets this repository's tests of itself ask the go command
// about its packages.
package gotool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Module is the path of the module.
const Module = "github.com/bloblease/bloblease"

// A Package is what go list knows of a package.
type Package struct {
	ImportPath     string
	Name           string
	Dir            string
	Standard       bool
	DepOnly        bool // not of this module's ./...
	Imports        []string
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	TestGoFiles    []string
	XTestGoFiles   []string
}

// Rel is the package's path within the module; "" for its root, and for a
// package of another module.
func (p Package) Rel() string { return Rel(p.ImportPath) }

// Rel is the part of an import path behind the module's; "" if it is another
// module's.
func Rel(path string) string {
	rel, ours := strings.CutPrefix(path, Module+"/")
	if !ours {
		return ""
	}
	return rel
}

// Packages lists the packages that ./... means on a system, and all that they
// reach, tests left out.
func Packages(t testing.TB, goos string) []Package {
	t.Helper()
	var packages []Package
	out := json.NewDecoder(strings.NewReader(Run(t, goos, "list", "-deps",
		"-json=ImportPath,Name,Dir,Standard,DepOnly,Imports,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")))
	for {
		var p Package
		switch err := out.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// Run runs the go command in the module's root, for a system, and returns what
// it prints.
func Run(t testing.TB, goos string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = Root(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// Root returns the module's directory.
//
// It also reads every directory in there. go test repeats a pass from memory
// as long as the files that the test looked at are the same, and it does not
// see what a go command run by the test has looked at.
func Root(t testing.TB) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(root, "go.mod")) {
		parent := filepath.Dir(root)
		if parent == root {
			t.Fatal("no go.mod in this directory or above it")
		}
		root = parent
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != root && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
