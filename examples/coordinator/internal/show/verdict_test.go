package show

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/fence"
)

func TestAGoodStoryPasses(t *testing.T) {
	var out strings.Builder
	assert.True(t, good().print(&out, decimal))
	assert.NotContains(t, out.String(), "FAILED")
}

// Each of these is one thing wrong in a story that is otherwise good, and the one
// check that has to notice it.
func TestWhatIsNotAsPromisedFails(t *testing.T) {
	for notices, spoil := range map[string]func(*report){
		"terms":                                 func(r *report) { r.terms = r.terms[:3] },
		"tokens strictly rising":                func(r *report) { r.terms[2].token = r.terms[1].token },
		"every term has ended":                  func(r *report) { r.terms[3].until = 0 },
		"overlapping beliefs: 1":                func(r *report) { r.terms[1].until = r.terms[2].from + 1 },
		"overlapping beliefs: 2":                func(r *report) { r.terms[0].until = r.terms[2].from + 1 },
		"stale writes refused: 0":               func(r *report) { r.refused = nil },
		"stale writes refused: 1":               func(r *report) { r.refused[0].token = 10 },
		"stale writes accepted: 1":              func(r *report) { r.accepted[3].token = 10 },
		"the paused worker's context had ended": func(r *report) { r.paused.lost = false },
		"a new leader 5.00 s after the kill":    func(r *report) { r.handovers[0].took = 5 * time.Second },
		"a new leader -1.00 s after the pause":  func(r *report) { r.handovers[1].took = -time.Second },
		"handovers: 2 of 3":                     func(r *report) { r.handovers = r.handovers[:2] },
		"the lease is free at the end":          func(r *report) { r.free = false },
	} {
		r := good()
		spoil(&r)
		var out strings.Builder
		assert.False(t, r.print(&out, decimal), notices)
		assert.Contains(t, out.String(), "  FAILED  "+notices)
		assert.Equal(t, 1, strings.Count(out.String(), "FAILED"), "for %q:\n%s", notices, out.String())
	}
}

// good is what is seen of a story in which all is well.
func good() report {
	terms := []term{
		{number: 1, worker: "A", token: 10, from: 1 * time.Second, until: 3 * time.Second, cause: "killed"},
		{number: 2, worker: "B", token: 20, from: 5 * time.Second, until: 7 * time.Second, cause: "lost", lost: true},
		{number: 3, worker: "C", token: 30, from: 8 * time.Second, until: 9 * time.Second, cause: "stopped"},
		{number: 4, worker: "B", token: 40, from: 9 * time.Second, until: 10 * time.Second, cause: "stopped"},
	}
	return report{
		terms:    terms,
		accepted: []entry{{"A", 10, 1}, {"A", 10, 2}, {"B", 20, 3}, {"C", 30, 4}, {"B", 40, 5}},
		refused:  []entry{{"B", 20, 4}},
		handovers: []handover{
			{"the kill", 2 * time.Second, 4 * time.Second},
			{"the pause", 2 * time.Second, 4 * time.Second},
			{"the release", time.Second, 2 * time.Second},
		},
		paused: terms[1],
		free:   true,
	}
}

func TestTheLedgerRefusesAnOlderToken(t *testing.T) {
	var l ledger
	require.NoError(t, l.write(entry{"A", 10, 1}))
	require.NoError(t, l.write(entry{"A", 10, 2}), "the same term writes again")
	n, err := l.read(20)
	require.NoError(t, err)
	assert.Equal(t, 2, n)

	stale := &fence.StaleError{Lock: leaseName, Token: 10, Highest: 20}
	assert.Equal(t, stale, l.write(entry{"A", 10, 3}), "reading has raised the fence")
	_, err = l.read(10)
	assert.Equal(t, stale, err)
	require.NoError(t, l.write(entry{"B", 20, 3}))

	accepted, refused := l.books()
	assert.Len(t, accepted, 3)
	assert.Equal(t, []entry{{"A", 10, 3}}, refused)
}

func TestTokensAreShortAndKeepTheirOrder(t *testing.T) {
	const first backends.Token = 1_871_300_231_412_345
	tell := newTeller(nil)
	last := ""
	for i := range backends.Token(10) {
		short := tell.short(first + i*60<<20)
		assert.Greater(t, short, last)
		last = short
	}
	assert.Equal(t, "…231_412_345", tell.short(first))
	assert.Equal(t, "2871300231412345", tell.short(2_871_300_231_412_345), "of another beginning")
	assert.Equal(t, fmt.Sprint(7), newTeller(nil).short(7))
}
