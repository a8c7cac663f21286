package azurechecks

import (
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// NewClient returns a client of a container of a model behind rt, without
// retries. Nobody signs: the model would not check it.
func NewClient(rt http.RoundTripper, name string) (*container.Client, error) {
	o := &container.ClientOptions{}
	o.Transport = &http.Client{Transport: rt}
	o.Retry = policy.RetryOptions{MaxRetries: -1}
	return container.NewClientWithNoCredential("https://model.blob.core.windows.net/"+name, o)
}
