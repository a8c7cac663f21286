package backends

import (
	"context"
	"fmt"
	"strings"
)

// A Verifier is a Backend that can find out whether its store keeps the word
// that leases stand on. All backends of this module are.
type Verifier interface {
	// Verify tries out, with the credentials of this program, what leases need
	// of the store: some two hundred requests within seconds, on objects of its
	// own. No lease is touched. It is meant for a new store, a new version of one
	// or new rights, not for each start of a program.
	//
	// The error is nil if leases may be kept there. It matches ErrUnsupported if
	// the store does not do what it was asked, ErrDenied and names the right
	// that is missing, ErrNoContainer; anything else says that it could not be
	// found out, because the store could not be reached for example. The Report
	// tells what was found, with an error too.
	//
	// A store that passes may fail all the same: Verify cannot see what happens
	// seldom, or only while a part of the store is out of order. See
	// docs/verify.md.
	Verify(ctx context.Context) (Report, error)
}

// A Report is what Verify found.
type Report struct {
	// Store is what was tried, for people.
	Store string
	// Checks are in the order in which they were made.
	Checks []Check
	// Dates says that the store's dates may be used to take over the lease of a
	// process that died before anybody watched it.
	Dates bool
	// Left are the names of the objects that Verify has left behind. They hold
	// nothing, and may be deleted whenever no Verify runs.
	Left []string
}

// A Check is one thing that a store was held to.
type Check struct {
	Name   string // a few words, such as "refuse stale"
	Result Result
	Saw    string // what the store did
	Means  string // what follows for leases; "" if it passed
	Do     string // what to do about it; "" if it passed
}

// A Result is what became of a Check.
type Result int

// The results of a Check.
const (
	NotTried Result = iota // Saw says why
	Passed
	Warned  // leases do not depend on it
	Unclear // it could not be found out; Saw says why
	Failed  // no leases here
)

// String returns "not tried", "ok", "warning", "unclear" or "FAILED".
func (r Result) String() string {
	switch r {
	case Passed:
		return "ok"
	case Warned:
		return "warning"
	case Unclear:
		return "unclear"
	case Failed:
		return "FAILED"
	default:
		return "not tried"
	}
}

// String returns the report as lines of text, the last of which is the verdict.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Store)
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "  %-9s  %-17s  %s\n", c.Result, c.Name, c.Saw)
		for _, more := range [][2]string{{"means", c.Means}, {"do", c.Do}} {
			if more[1] != "" {
				fmt.Fprintf(&b, "  %30s %s\n", more[0]+":", more[1])
			}
		}
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(&b, "left behind, and free to be deleted: %s\n", strings.Join(r.Left, ", "))
	}
	fmt.Fprintln(&b, r.verdict())
	return b.String()
}

func (r Report) verdict() string {
	failed := r.count(Failed)
	switch {
	case failed > 0:
		return fmt.Sprintf("no leases here: %d of %d checks failed", failed, len(r.Checks))
	case r.count(Unclear) > 0 || r.count(Passed) == 0:
		return "it could not be found out whether leases may be kept here"
	}
	switch warned := r.count(Warned); warned {
	case 0:
		return "leases may be kept here"
	case 1:
		return "leases may be kept here, with one warning"
	default:
		return fmt.Sprintf("leases may be kept here, with %d warnings", warned)
	}
}

func (r Report) count(result Result) (n int) {
	for _, c := range r.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}
