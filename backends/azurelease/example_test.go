package azurelease_test

import (
	"context"
	"fmt"
	"log"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/bloblease/bloblease/backends/azurelease"
)

// The credential is what azidentity.NewDefaultAzureCredential(nil) returns, for
// example.
func ExampleNew() {
	var credential azcore.TokenCredential

	client, err := container.NewClient("https://ACCOUNT.blob.core.windows.net/leases", credential, nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := azurelease.New(client, nil)
	if err != nil {
		log.Fatal(err)
	}

	r, err := store.Observe(context.Background(), "first")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.State, r.Holder)
}
