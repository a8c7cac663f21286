package show

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A report is what was seen of a story.
type report struct {
	start     time.Duration // uptime
	terms     []term
	accepted  []entry // of the ledger, in its order
	refused   []entry
	handovers []handover
	paused    term // of the worker that was paused
	free      bool // nobody held the lease at the end
}

// A handover is the time from the end of a leader to the start of the next.
type handover struct {
	event       string
	took, limit time.Duration
}

// A check is something that has to be so.
type check struct {
	holds bool
	says  string
}

// checks judges r. Tokens are worded by short.
func (r report) checks(short func(backends.Token) string) []check {
	overlaps, stale := overlaps(r.terms), older(r.accepted)
	c := []check{
		{len(r.terms) >= 4, fmt.Sprintf("terms: %d of at least 4", len(r.terms))},
		{rising(r.terms), "tokens strictly rising: " + chain(r.terms, short)},
		{allEnded(r.terms), "every term has ended"},
		{overlaps == 0, fmt.Sprintf("overlapping beliefs: %d", overlaps)},
		{refused(r.refused, r.paused.token), fmt.Sprintf("stale writes refused: %d, and the paused worker's is among them", len(r.refused))},
		{stale == 0, fmt.Sprintf("stale writes accepted: %d of %d", stale, len(r.accepted))},
		{r.paused.lost, fmt.Sprintf("the paused worker's context had ended: %s", r.paused.cause)},
	}
	for _, h := range r.handovers {
		c = append(c, check{h.took > 0 && h.took <= h.limit,
			fmt.Sprintf("a new leader %.2f s after %s, at most %.2f s", h.took.Seconds(), h.event, h.limit.Seconds())})
	}
	return append(c,
		check{len(r.handovers) == 3, fmt.Sprintf("handovers: %d of 3", len(r.handovers))},
		check{r.free, "the lease is free at the end"})
}

// print prints the terms and the checks, and reports whether all hold.
func (r report) print(out io.Writer, short func(backends.Token) string) bool {
	fmt.Fprintln(out, "\nwho believed to lead, and when:")
	for _, t := range r.terms {
		fmt.Fprintf(out, "  %s  %6.2f s to %6.2f s  token %s  %s\n",
			t.worker, (t.from - r.start).Seconds(), (t.until - r.start).Seconds(), short(t.token), t.cause)
	}
	all := true
	fmt.Fprintln(out, "\nchecked:")
	for _, c := range r.checks(short) {
		result := "ok    "
		if !c.holds {
			result, all = "FAILED", false
		}
		fmt.Fprintf(out, "  %s  %s\n", result, c.says)
	}
	return all
}

// rising reports whether each term has a higher token than the one before.
func rising(terms []term) bool {
	for i := range len(terms) - 1 {
		if terms[i].token >= terms[i+1].token {
			return false
		}
	}
	return true
}

func chain(terms []term, short func(backends.Token) string) string {
	var tokens []string
	for _, t := range terms {
		tokens = append(tokens, short(t.token))
	}
	return strings.Join(tokens, " < ")
}

func allEnded(terms []term) bool {
	return !slices.ContainsFunc(terms, func(t term) bool { return t.until == 0 })
}

// overlaps counts the pairs of terms that were believed in at the same time.
func overlaps(terms []term) int {
	n := 0
	for i, a := range terms {
		for _, b := range terms[i+1:] {
			if max(a.from, b.from) < min(a.until, b.until) {
				n++
			}
		}
	}
	return n
}

// older counts the entries with a lower token than one before them.
func older(entries []entry) int {
	n, highest := 0, backends.Token(0)
	for _, e := range entries {
		if e.token < highest {
			n++
		}
		highest = max(highest, e.token)
	}
	return n
}

func refused(entries []entry, token backends.Token) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.token == token })
}
