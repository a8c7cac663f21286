package azure_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
)

// What a simulated request costs, without the SDK.
func BenchmarkHead(b *testing.B) {
	account := azure.New(time.Now, nil)
	account.Container("locks").Create()
	layer := fakestore.New(account, &fakestore.Options{Kind: azure.Kind, Faults: fakestore.Seeded(1, 0, nil)})
	defer layer.Close()
	request := func(method string) {
		req, err := http.NewRequestWithContext(b.Context(), method, "https://model.blob.core.windows.net/locks/x", nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("x-ms-version", "2026-12-06")
		req.Header.Set("x-ms-blob-type", "BlockBlob")
		resp, err := layer.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
	request(http.MethodPut)
	b.ReportAllocs()
	for b.Loop() {
		request(http.MethodHead)
	}
}
