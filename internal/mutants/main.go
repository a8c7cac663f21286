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
//	go run ./internal/mutants -only NAME -seed N   the story of a mutant's death, event by event
//
// First all tests are run on the code as it is, since a death says nothing if
// they fail anyway.
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
	seed          uint64 // of the corpus: in this world the simulator sees it
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var (
	only      = flag.String("only", "", "run the mutants whose name contains this")
	list      = flag.Bool("list", false, "print the mutants and the rules that they break")
	schedules = flag.Int("schedules", 200, "how many schedules each mutant is tried in, to count in how many it dies")
	seed      = flag.Uint64("seed", 0, "with -only: tell what happens in this world")
	most      = flag.Int("most", 2000, "how many schedules a mutant may survive before it is left to tests")
)

const simulator = "./internal/sim"

// nights, among the tests of a mutant, are the worlds of TestNights, in which a job is
// due each night, instead of those of TestSchedules.
const nights = "nights"

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

func run(ctx context.Context) error {
	var chosen []mutant
	for _, m := range mutants {
		if strings.Contains(m.name, *only) {
			chosen = append(chosen, m)
		}
	}
	switch {
	case len(chosen) == 0:
		return fmt.Errorf("no mutant's name contains %q: -list prints them", *only)
	case *list:
		for _, m := range chosen {
			fmt.Printf("%-34s %s\n", m.name, m.rule)
		}
		return nil
	case *seed > 0:
		return chosen[0].tell(ctx, *seed)
	}
	if err := checkUnbroken(ctx, chosen); err != nil {
		return fmt.Errorf("the code as it is: %w", err)
	}
	var s score
	for _, m := range chosen {
		fmt.Printf("%-34s %s\n", m.name, s.count(m.run(ctx)))
	}
	fmt.Printf("%d mutants: %d died in the simulator, %d by tests, %d are not dead\n", len(chosen), s.simulated, s.tested, s.alive)
	if s.alive > 0 {
		return errors.New("there are rules that nobody checks")
	}
	return nil
}

// checkUnbroken runs everything that mutants are tried with on the code as it is.
func checkUnbroken(ctx context.Context, chosen []mutant) error {
	done := map[string]bool{simulator: true, nights: true}
	for _, m := range chosen {
		for _, tests := range m.tests {
			if done[tests] {
				continue
			}
			done[tests] = true
			if out, failed := goTest(ctx, tests); failed {
				return fmt.Errorf("%s fails: %s", tests, firstFailure(out))
			}
		}
	}
	if out, failed := goTest(ctx, simulator, "-run=^Test(Schedules|Nights)$", "-args", "-schedules", fmt.Sprint(*schedules)); failed {
		return fmt.Errorf("the simulator finds: %s", firstFailure(out))
	}
	return nil
}

// goTest runs the tests of a package. Flags of the test itself come last.
func goTest(ctx context.Context, pkg string, flags ...string) (out []byte, failed bool) {
	args := append(in(pkg), "-short", "-count=1", "-failfast", "-timeout="+patience)
	args = append(args, flags...)
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput() //nolint:gosec // arguments are constants
	return out, err != nil
}

// patience is for tests that hang. Who runs into it has decided nothing.
const patience = "4m"

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
	if out, err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, pkg).CombinedOutput(); err != nil { //nolint:gosec // constants
		return "", fmt.Errorf("it does not compile: %s", out)
	}
	switch {
	case slices.Contains(m.tests, simulator):
		killer, err = m.simulate(ctx, dir, overlay)
	case slices.Contains(m.tests, nights):
		killer, err = m.goThroughNights(ctx, dir, overlay)
	}
	if killer != "" || err != nil {
		return killer, err
	}
	return m.test(ctx, overlay)
}

// simulate tries the mutant in the simulator: in the world of its seed, if it has one; in
// some schedules, to count in how many it dies; and if it dies in none of these, in more,
// until it does.
func (m mutant) simulate(ctx context.Context, dir, overlay string) (killer string, err error) {
	binary, err := buildSimulator(ctx, dir, overlay)
	if err != nil {
		return "", err
	}
	if m.seed > 0 {
		if out := m.try(ctx, binary, "-seed", fmt.Sprint(m.seed)); out == nil {
			return "", fmt.Errorf("the world of seed %d, in the corpus, no longer shows it: find another", m.seed)
		}
	}
	out, of := m.try(ctx, binary, "-schedules", fmt.Sprint(*schedules), "-all"), *schedules
	if rest := *most - *schedules; out == nil && rest > 0 {
		out, of = m.try(ctx, binary, "-from", fmt.Sprint(*schedules+1), "-schedules", fmt.Sprint(rest)), *most
	}
	if out == nil {
		return "", nil
	}
	return m.tellOf(out, of)
}

// goThroughNights tries the mutant in the nights of the simulator.
func (m mutant) goThroughNights(ctx context.Context, dir, overlay string) (killer string, err error) {
	binary, err := buildSimulator(ctx, dir, overlay)
	if err != nil {
		return "", err
	}
	out := m.trial(ctx, binary, "TestNights", "-all")
	if out == nil {
		return "", nil
	}
	t := tally.FindSubmatch(out)
	if t == nil {
		return "", fmt.Errorf("not decided, the simulator ended with %s", firstFailure(out))
	}
	return fmt.Sprintf("in %s worlds of nights, first seed %s: %s", t[1], t[2], t[3]), nil
}

func buildSimulator(ctx context.Context, dir, overlay string) (binary string, err error) {
	binary = filepath.Join(dir, "sim.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlay, "-o", binary, simulator) //nolint:gosec // constants
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the simulator does not compile: %s", out)
	}
	return binary, nil
}

// try runs worlds. It returns what the simulator printed if a rule was broken.
func (m mutant) try(ctx context.Context, binary string, args ...string) []byte {
	return m.trial(ctx, binary, "TestSchedules", args...)
}

func (m mutant) trial(ctx context.Context, binary, test string, args ...string) []byte {
	args = append([]string{"-test.run=^" + test + "$", "-test.v", "-test.timeout=" + patience}, args...)
	c := exec.CommandContext(ctx, binary, args...) //nolint:gosec // it was built above
	c.Dir = simulator
	if out, err := c.CombinedOutput(); err != nil {
		return out
	}
	return nil
}

// tell prints the story of one world in which the mutant lives.
func (m mutant) tell(ctx context.Context, seed uint64) (err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return err
	}
	binary, err := buildSimulator(ctx, dir, overlay)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s: %s\n%s", m.name, m.rule, m.try(ctx, binary, "-seed", fmt.Sprint(seed), "-trace"))
	return err
}

var tally = regexp.MustCompile(`(\d+) died, first seed (\d+): (.*)`)

// tellOf reads what the simulator printed, and adds how to see it.
func (m mutant) tellOf(out []byte, of int) (string, error) {
	t := tally.FindSubmatch(out)
	if t == nil {
		return "", fmt.Errorf("not decided, the simulator ended with %s", firstFailure(out))
	}
	return fmt.Sprintf("in %s of %d schedules, first seed %s: %s (go run ./internal/mutants -only %s -seed %s)", t[1], of, t[2], t[3], m.name, t[2]), nil
}

// test returns the first test, outside the simulator, that notices the mutant.
func (m mutant) test(ctx context.Context, overlay string) (killer string, err error) {
	for _, tests := range m.tests {
		if tests == simulator || tests == nights {
			continue
		}
		out, failed := goTest(ctx, tests, "-overlay="+overlay)
		if !failed {
			continue
		}
		if undecided.Match(out) {
			return "", fmt.Errorf("not decided: %s %s", tests, firstFailure(out))
		}
		return byTest + tests + " " + firstFailure(out), nil
	}
	return "", errors.New("no test notices")
}

// in is the command that tests a package, in the module that it belongs to. The package
// is named last but for flags, which go test allows.
func in(tests string) []string {
	if _, err := os.Stat(filepath.Join(tests, "go.mod")); err == nil {
		return []string{"-C", tests, "test", "."}
	}
	return []string{"test", tests}
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

// undecided: the tests were not run, or not to the end.
var undecided = regexp.MustCompile(`\[(build|setup) failed\]|panic: test timed out`)

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*)`)

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
