package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/internal/sim"
)

// corpus are seeds that found something, for docs/track-record.md. The world of a seed
// changes with the simulator. Those that still show the bug when it is brought back are
// also in the mutant that does so, and the command mutants checks that they do.
var corpus = []struct {
	seed  uint64
	found string
}{
	{674, "a token below that of a life of the record that had come and gone unseen"},
	{2456, "the same, after two deletions"},
	{18398, "an acquisition on its way while another life of the record came and was deleted"},
	{29684, "the same, while the answer of the look before it was on its way"},
	{3565, "a lease that the boot clock had ended, granted"},
	{885, "the same, since the simulator has another world for 3565: see the mutant grant-without-boot-clock"},
}

func TestWhatWasFoundStaysFixed(t *testing.T) {
	for _, c := range corpus {
		require.Empty(t, run(t, sim.Draw(c.seed), sim.Run).Violations, "seed %d once found %s", c.seed, c.found)
	}
}
