package main

import (
	"os"
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
