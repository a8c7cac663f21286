package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryMutantStillApplies(t *testing.T) {
	require.NoError(t, os.Chdir("../..")) //nolint:usetesting // the command, too, runs at the root
	names := map[string]bool{}
	for _, m := range mutants {
		_, err := m.overlay(t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		require.False(t, names[m.name], "%s is there twice", m.name)
		names[m.name] = true
	}
}

// Mutants of one backend are named after it; the table has the prefix.
func TestEveryMutantIsInTheTableOfRules(t *testing.T) {
	table, err := os.ReadFile("docs/safety.md")
	if errors.Is(err, fs.ErrNotExist) {
		table, err = os.ReadFile("../../docs/safety.md")
	}
	require.NoError(t, err)
	for _, m := range mutants {
		prefix, _, _ := strings.Cut(m.name, "-")
		if !strings.Contains(string(table), "`"+prefix+"-`") {
			require.Contains(t, string(table), "`"+m.name+"`")
		}
	}
}
