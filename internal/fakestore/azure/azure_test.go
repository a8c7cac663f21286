package azure_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

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
	t.Helper()
	c, err := azurechecks.NewClient(layer, name)
	require.NoError(t, err)
	return c
}

func TestTheModelServesSocketsToo(t *testing.T) {
	account := azure.New(time.Now, nil)
	server := httptest.NewServer(account)
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	o := &container.ClientOptions{}
	o.Transport = &http.Client{Transport: transport}
	locks, err := container.NewClientWithNoCredential(server.URL+"/account/locks", o)
	require.NoError(t, err)
	_, err = locks.Create(t.Context(), nil)
	require.NoError(t, err)
	for _, check := range azurechecks.All() {
		if check.Name == "OneOfManyAcquires" || check.Name == "BodyAndMetadataComeBack" {
			check.Run(t, azurechecks.Env{Container: locks})
		}
	}
}
