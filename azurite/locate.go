package azurite

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
)

// Version of Azurite that this package is tested with.
const Version = "3.35.0"

// ErrNotInstalled is what errors match that tell how to install Azurite, or the
// Node.js that it needs.
var ErrNotInstalled = errors.New("not installed")

// entry is the program of the blob service inside Azurite's npm package.
var entry = filepath.Join("dist", "src", "blob", "main.js")

// locate finds the node binary and Azurite's entry.
func locate() (node, main string, err error) {
	node, err = exec.LookPath("node")
	if err != nil {
		return "", "", fmt.Errorf("%w: it needs node on PATH: install Node.js 20 or later, see https://nodejs.org", ErrNotInstalled)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	if main = above(dir); main == "" {
		main = onPath()
	}
	if main == "" {
		return "", "", fmt.Errorf("%w: there is no node_modules/azurite in %s or above it, and no azurite-blob on PATH: run `%s`",
			ErrNotInstalled, dir, installCommand(dir))
	}
	return node, main, nil
}

// above looks in dir and all directories above it.
func above(dir string) string {
	for d := range ancestors(dir) {
		for _, modules := range []string{"node_modules", filepath.Join("azurite", "node_modules")} {
			if main := filepath.Join(d, modules, "azurite", entry); isFile(main) {
				return main
			}
		}
	}
	return ""
}

// ancestors yields dir, its parent, and so on up to the root.
func ancestors(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
	}
}

// onPath finds a global installation: PATH has either a link to the entry or,
// on Windows, a script beside the modules.
func onPath() string {
	command, err := exec.LookPath("azurite-blob")
	if err != nil {
		return ""
	}
	if main, err := filepath.EvalSymlinks(command); err == nil && filepath.Ext(main) == ".js" {
		return main
	}
	main := filepath.Join(filepath.Dir(command), "node_modules", "azurite", entry)
	if isFile(main) {
		return main
	}
	return ""
}

// installCommand fits the place: this repository pins Azurite with all that it
// needs; elsewhere it goes beside the go.mod.
func installCommand(dir string) string {
	root := dir
	for d := range ancestors(dir) {
		if isFile(filepath.Join(d, "azurite", "guard.js")) {
			return "npm ci --prefix " + filepath.Join(d, "azurite")
		}
		if root == dir && isFile(filepath.Join(d, "go.mod")) {
			root = d
		}
	}
	return "npm install --prefix " + root + " azurite@" + Version
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
