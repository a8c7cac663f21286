// Command mutants breaks the shipped code on purpose, one rule of the safety
// argument at a time: each mutant must die. First the simulator tries: the command
// tells in how many schedules the mutant died, the first seed, and which rule of
// the simulator it broke. What the simulator cannot see, a named test has to. It is
// part of "make prove".
//
//	go run ./internal/mutants              all of them
//	go run ./internal/mutants -only NAME   the ones whose name contains NAME
//	go run ./internal/mutants -schedules N how many schedules are counted
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
	"slices"
	"strings"
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
	flag.Parse()
	s := run(ctx)
	stop()
	if *list {
		return
	}
	fmt.Printf("%d mutants: %d died in the simulator, %d by tests, %d are not dead\n", s.simulated+s.tested+s.alive, s.simulated, s.tested, s.alive)
	if s.alive > 0 {
		os.Exit(1)
	}
}

var (
	only      = flag.String("only", "", "run the mutants whose name contains this")
	list      = flag.Bool("list", false, "print the mutants and the rules that they break")
	schedules = flag.Int("schedules", 200, "how many schedules each mutant is tried in, to count in how many it dies")
	most      = flag.Int("most", 2000, "how many schedules a mutant may survive before it is left to tests")
)

const simulator = "./internal/sim"

// A score is what became of the mutants.
type score struct{ simulated, tested, alive int }

func (s *score) count(killer string, err error) (verdict string) {
	switch {
	case err != nil:
		s.alive++
		return "SURVIVES: " + err.Error()
	case strings.HasPrefix(killer, byTest):
		s.tested++
	default:
		s.simulated++
	}
	return "dies " + killer
}

// run tries the mutants.
func run(ctx context.Context) (s score) {
	for _, m := range mutants {
		switch {
		case !strings.Contains(m.name, *only):
		case *list:
			fmt.Printf("%-34s %s\n", m.name, m.rule)
		default:
			fmt.Printf("%-34s %s\n", m.name, s.count(m.run(ctx)))
		}
	}
	return s
}

const byTest = "by "

// run tells what notices the mutant.
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
	if slices.Contains(m.tests, simulator) {
		if killer, err = m.simulate(ctx, dir, overlay); killer != "" || err != nil {
			return killer, err
		}
	}
	return m.test(ctx, overlay)
}

// simulate tries the mutant in the simulator: some schedules to count in how many it
// dies, and if it dies in none of these, more, until it does.
func (m mutant) simulate(ctx context.Context, dir, overlay string) (killer string, err error) {
	binary := filepath.Join(dir, "sim.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-o", binary, simulator)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the simulator does not compile: %s", out)
	}
	try := func(args ...string) []byte {
		args = append([]string{"-test.run=^TestSchedules$", "-test.v", "-test.timeout=5m"}, args...)
		c := exec.CommandContext(ctx, binary, args...) //nolint:gosec // it was built above
		c.Dir = simulator
		out, err := c.CombinedOutput()
		if err == nil {
			return nil
		}
		return out
	}
	out := try("-schedules", fmt.Sprint(*schedules), "-all")
	if out != nil {
		return tellOf(out, *schedules), nil
	}
	if rest := *most - *schedules; rest > 0 {
		out = try("-from", fmt.Sprint(*schedules+1), "-schedules", fmt.Sprint(rest))
	}
	if out != nil {
		return tellOf(out, *most), nil
	}
	return "", nil
}

var tally = regexp.MustCompile(`(\d+) died, first seed (\d+): (.*)`)

// tellOf reads what the simulator printed.
func tellOf(out []byte, of int) string {
	if t := tally.FindSubmatch(out); t != nil {
		return fmt.Sprintf("in %s of %d schedules, first seed %s: %s", t[1], of, t[2], t[3])
	}
	return "in the simulator: " + firstFailure(out)
}

// test returns the first test, outside the simulator, that notices the mutant.
func (m mutant) test(ctx context.Context, overlay string) (killer string, err error) {
	for _, tests := range m.tests {
		if tests == simulator {
			continue
		}
		args := []string{"test", "-overlay", overlay, "-short", "-count=1", "-failfast", "-timeout=90s", tests}
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil { //nolint:gosec // arguments are constants
			return byTest + tests + " " + firstFailure(out), nil
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
