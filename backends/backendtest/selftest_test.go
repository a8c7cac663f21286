package backendtest

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
)

// The suite is tested by backends that are broken on purpose. They make its
// checks fail, so this binary runs them in another process.

const childKey = "BACKENDTEST_BREAKAGES"

func TestMain(m *testing.M) {
	if os.Getenv(childKey) != "" {
		os.Exit(m.Run())
	}
	goleak.VerifyTestMain(m)
}

// A breakage is what is wrong with a backend, and the checks that notice it.
type breakage struct {
	name    string
	noticed []string

	untrusted bool                      // the dates of the store
	below     func(cas.Store) cas.Store // between the network and the objects
	above     func(cas.Store) cas.Store // between the engine and the network
	client    func(*client)             // the engine's side
	options   func(*cas.Options)        // given to the engine only
	world     func(*World)              // what the harness says
}

// open makes a World with the breakage in it.
func (b breakage) open(t *testing.T) *World {
	objects := memstore.New(clock.System)
	var inner cas.Store = objects
	if b.below != nil {
		inner = b.below(inner)
	}
	root := NewStore(inner)
	t.Cleanup(root.Close)
	o := cas.Options{Dates: cas.Dates{Trusted: !b.untrusted}}
	w := root.world(o)
	if b.options != nil {
		b.options(&o)
	}
	w.New = func() backends.Backend { return b.newClient(root.Beside(inner), o) }
	w.operate(objects)
	w.Delete = func(name string) error { objects.Delete(name); return nil }
	if b.world != nil {
		b.world(w)
	}
	return w
}

func (b breakage) newClient(s cas.Store, o cas.Options) backends.Backend {
	if b.above != nil {
		s = b.above(s)
	}
	spy := &spy{carrier: clock.Carry(clock.Of(s)), Store: s}
	c := &client{Engine: cas.New(spy, o), spy: spy, notes: map[string]backends.Grant{}}
	if b.client != nil {
		b.client(c)
	}
	return c
}

func (b breakage) run(t *testing.T, c check) {
	t.Run(b.name+"/"+c.name, func(t *testing.T) { c.run(t, Harness{Bubble: true, Open: b.open}) })
}

func TestNothingBroken(t *testing.T) {
	for _, untrusted := range []bool{false, true} {
		for _, c := range checks() {
			breakage{name: "dates", untrusted: untrusted}.run(t, c)
		}
	}
}

func TestBreakages(t *testing.T) {
	if os.Getenv(childKey) == "" {
		t.Skip("runs in another process")
	}
	for _, b := range breakages {
		for _, c := range checks() {
			if slices.Contains(b.noticed, c.name) {
				b.run(t, c)
			}
		}
	}
}

var failed = regexp.MustCompile(`--- FAIL: TestBreakages/(\S+)/(\w+) `)

func TestEveryBreakageIsNoticed(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestBreakages$", "-test.timeout=60s")
	child.Env = append(os.Environ(), childKey+"=1")
	output, err := child.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "it should have failed")
	require.NotRegexp(t, `(?m)^(panic|fatal error|SIG[A-Z]+|ThreadSanitizer):`, string(output))
	noticed := map[string]bool{}
	for _, m := range failed.FindAllStringSubmatch(string(output), -1) {
		noticed[m[1]+"/"+m[2]] = true
	}
	var missed []string
	for _, b := range breakages {
		for _, name := range b.noticed {
			if !noticed[underscored(b.name)+"/"+name] {
				missed = append(missed, b.name+": "+name)
			}
		}
	}
	require.Empty(t, missed, "these checks do not notice what is broken")
}

func underscored(s string) string { return strings.ReplaceAll(s, " ", "_") }

func TestEveryCheckCanFail(t *testing.T) {
	var noticing []string
	for _, b := range breakages {
		require.NotEmpty(t, b.noticed, b.name)
		noticing = append(noticing, b.noticed...)
	}
	names := map[string]bool{}
	for _, c := range checks() {
		require.Contains(t, noticing, c.name, "no breakage makes this check fail")
		require.False(t, names[c.name], "two checks are called %s", c.name)
		names[c.name] = true
	}
	for _, name := range noticing {
		require.True(t, names[name], "there is no check %s", name)
	}
}

func TestWhatIsMissingIsSkipped(t *testing.T) {
	lacks := map[string]func(*World){
		"ALostRenewalIsRecognised":                   func(w *World) { w.Faults = nil },
		"DatesThatRunAheadTakeNothingOver":           func(w *World) { w.Redate = nil },
		"TheTermIsOverWhenTheRecordIsDeleted":        func(w *World) { w.Delete = nil },
		"WhatIsNoRecordIsForeignAndStays":            func(w *World) { w.Overwrite = nil },
		"UnknownFieldsAreCarriedForward":             func(w *World) { w.Annotate = nil },
		"ADeadHoldersLeaseIsTakenOverAtTheFirstLook": func(w *World) { w.FirstLook = nil },
		"ADeadHoldersLeaseIsTakenOverByWatching":     func(w *World) { w.Watching = nil },
		"TokensGrowWhenTheRecordWasDeleted":          func(w *World) { w.Timeless = true },
	}
	for _, c := range checks() {
		lack := lacks[c.name]
		if lack == nil {
			continue
		}
		skipped := false
		t.Run(c.name, func(t *testing.T) {
			t.Cleanup(func() { skipped = t.Skipped() })
			c.run(t, Harness{Bubble: true, Open: breakage{world: lack}.open})
		})
		require.True(t, skipped, c.name)
		delete(lacks, c.name)
	}
	require.Empty(t, lacks)
}

// The whole of it has to work in real time too, for servers that are real. One
// check has to do here.
func TestRealTime(t *testing.T) {
	start := time.Now()
	i := slices.IndexFunc(checks(), func(c check) bool { return c.name == "ADeadHoldersLeaseIsTakenOverByWatching" })
	checks()[i].run(t, Harness{Open: breakage{untrusted: true}.open})
	require.Greater(t, time.Since(start), time.Second)
}
