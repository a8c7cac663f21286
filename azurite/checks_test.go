package azurite_test

import (
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/azurite"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
)

// The checks that hold the model to what Azure documents, run against Azurite
// with what it is known to do otherwise. Those that wait for leases to end wait
// together, however few tests may run in parallel.
func TestAzuriteDepartsFromAzureOnlyAsKnown(t *testing.T) {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for _, check := range azurechecks.All() {
		run := func() {
			t.Run(check.Name, func(t *testing.T) { check.Run(t, env(t)) })
		}
		switch {
		case !check.Slow:
			run()
		case !testing.Short():
			waiting.Go(run)
		}
	}
}

func env(t *testing.T) azurechecks.Env {
	return azurechecks.Env{
		Container: azurite.Test(t),
		Missing:   missing(t),
		Sleep:     time.Sleep, // Azurite's clock is the machine's
		Departs:   azurechecks.Azurite(),
	}
}

func missing(t *testing.T) *container.Client {
	c, err := shared(t).Client("missing", nil)
	require.NoError(t, err)
	return c
}
