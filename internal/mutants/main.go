// Command mutants breaks the shipped code on purpose, one rule of the safety
// argument at a time, and runs the tests: each mutant must die. It is part of
// "make prove".
//
//	go run ./internal/mutants            all of them
//	go run ./internal/mutants -only NAME the ones whose name contains NAME
//	go run ./internal/mutants -list
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A mutant is one breakage: in file, old becomes new. It names the rule that
// it breaks and the packages whose tests have to notice.
type mutant struct {
	name, rule    string
	file          string
	old, new      string
	tests         []string
	alsoOld, also string // a second replacement in the same file, if one is needed
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	failed := run(ctx)
	stop()
	if failed > 0 {
		fmt.Printf("%d mutants are not dead\n", failed)
		os.Exit(1)
	}
}

// run tries the mutants, and returns how many are not dead.
func run(ctx context.Context) (failed int) {
	only := flag.String("only", "", "run the mutants whose name contains this")
	list := flag.Bool("list", false, "print the mutants and the rules that they break")
	flag.Parse()
	for _, m := range mutants {
		if !strings.Contains(m.name, *only) {
			continue
		}
		if *list {
			fmt.Printf("%-28s %s\n", m.name, m.rule)
			continue
		}
		start := time.Now()
		killer, err := m.run(ctx)
		verdict := "died in " + killer
		if err != nil {
			failed++
			verdict = "SURVIVES: " + err.Error()
		}
		fmt.Printf("%-28s %5.1fs  %s\n", m.name, time.Since(start).Seconds(), verdict)
	}
	return failed
}

// run returns the first test that notices the mutant.
func (m mutant) run(ctx context.Context) (killer string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	pkg := "./" + filepath.Dir(m.file)
	if out, err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %s", out)
	}
	for _, tests := range m.tests {
		args := []string{"test", "-overlay", overlay, "-short", "-count=1", "-failfast", "-timeout=90s", tests}
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil { //nolint:gosec // arguments are constants
			return tests + " " + firstFailure(out), nil
		}
	}
	return "", errors.New("no test notices")
}

// overlay writes the mutant, and the file that tells the go command of it.
func (m mutant) overlay(dir string) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	code := string(source)
	for _, r := range [][2]string{{m.old, m.new}, {m.alsoOld, m.also}} {
		if r[0] == "" {
			continue
		}
		if n := strings.Count(code, r[0]); n != 1 {
			return "", fmt.Errorf("it no longer applies: %q is %d times in %s", r[0], n, m.file)
		}
		code = strings.Replace(code, r[0], r[1], 1)
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(dir, "mutated.go")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.WriteFile(mutated, []byte(code), 0o600), os.WriteFile(overlay, replace, 0o600))
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: test timed out|panic: deadlock)`)

func firstFailure(out []byte) string {
	match := failure.FindSubmatch(out)
	switch {
	case match == nil:
		return "(" + strings.TrimSpace(string(out[max(0, len(out)-200):])) + ")"
	case len(match[1]) > 0:
		return string(match[1])
	default:
		return string(match[2])
	}
}
