package azurite_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/bloblease/bloblease/azurite"
)

// An example program: it runs on any laptop that has Node.js.
func ExampleStart() {
	ctx := context.Background()
	server, err := azurite.Start(ctx, nil)
	if err != nil {
		log.Fatal(err) // tells how to install Azurite, if that is what is missing
	}
	defer server.Close()

	locks, err := server.Container(ctx, "locks", nil)
	if err != nil {
		log.Fatal(err)
	}
	blob := locks.NewBlockBlobClient("nightly-report")
	if _, err := blob.UploadBuffer(ctx, nil, nil); err != nil {
		log.Fatal(err)
	}
	holder, err := lease.NewBlobClient(blob, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := holder.AcquireLease(ctx, 15, nil); err != nil {
		log.Fatal(err)
	}
	properties, err := blob.GetProperties(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*properties.LeaseState) // leased
}

// A test of your own: the container is empty, and gone after the test. The
// server is started by the first test that needs it.
func ExampleTest() {
	testUpload := func(t *testing.T) { // func TestUpload(t *testing.T)
		reports := azurite.Test(t)
		_, err := reports.NewBlockBlobClient("today").UploadBuffer(t.Context(), []byte("all is well"), nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = testUpload
}

// A test that puts something of its own between client and server, here a
// client that gives up early.
func ExampleTestWith() {
	testTimeout := func(t *testing.T) { // func TestTimeout(t *testing.T)
		options := &container.ClientOptions{}
		options.Transport = &http.Client{Timeout: time.Second}
		locks := azurite.TestWith(t, options)
		if _, err := locks.GetProperties(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	_ = testTimeout
}
