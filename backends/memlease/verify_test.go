package memlease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/memlease"
)

func TestVerifyPassesMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlease.New()
		report, err := store.Verify(t.Context())
		require.NoError(t, err, report)
		require.True(t, report.Dates)
	})
}

func TestVerifyOfAStoreThatFailsFindsNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, outage := memlease.New(), errors.New("the store cannot be reached")
		store.Fail(outage)
		_, err := store.Verify(context.Background())
		require.ErrorIs(t, err, outage)
		store.Fail(nil)
		_, err = store.Verify(context.Background())
		require.NoError(t, err)
	})
}
