package azure_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheModelIsWhatAzureDocuments(t *testing.T) {
	for _, check := range azurechecks.All() {
		t.Run(check.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { check.Run(t, env(t, nil, nil)) })
		})
	}
}

func TestTheModelCanBeLikeAzurite(t *testing.T) {
	for _, check := range azurechecks.All() {
		t.Run(check.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				check.Run(t, env(t, azure.LikeAzurite(), azurechecks.Azurite()))
			})
		})
	}
}

// env is a new model with an empty container, inside a bubble.
func env(t *testing.T, o *azure.Options, departs azurechecks.Departures) azurechecks.Env {
	account := azure.New(time.Now, o)
	account.Container("checks").Create()
	layer := fakestore.New(account, &fakestore.Options{Kind: azure.Kind})
	t.Cleanup(layer.Close)
	return azurechecks.Env{
		Container: client(t, layer, "checks"),
		Missing:   client(t, layer, "missing"),
		Sleep:     time.Sleep,
		Departs:   departs,
	}
}

func client(t *testing.T, layer *fakestore.Layer, name string) *container.Client {
	o := &container.ClientOptions{}
	o.Transport = &http.Client{Transport: layer}
	o.Retry = policy.RetryOptions{MaxRetries: -1}
	c, err := container.NewClientWithNoCredential("https://model.blob.core.windows.net/"+name, o)
	require.NoError(t, err)
	return c
}
