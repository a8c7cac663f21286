package azurelease_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/azurelease"
)

func newOf(t *testing.T, url string) error {
	t.Helper()
	c, err := container.NewClientWithNoCredential(url, nil)
	require.NoError(t, err)
	_, err = azurelease.New(c, nil)
	return err
}

func TestTheURLsOfContainersAreTaken(t *testing.T) {
	for _, url := range []string{
		"https://acct.blob.core.windows.net/leases",
		"https://acct.blob.core.windows.net/leases/",
		"https://acct.blob.core.windows.net/leases?sv=2026-02-06&sr=c&sp=rcw&sig=x",
		"https://acct.blob.core.windows.net:443/leases",
		"https://ACCT.Blob.Core.Windows.net/leases",
		"https://acct.z17.blob.storage.azure.net/leases",
		"https://acct.privatelink.blob.core.windows.net/leases",
		"https://acct.blob.core.usgovcloudapi.net/leases",
		"https://acct.blob.core.chinacloudapi.cn/leases",
		"https://acct.blob.local.azurestack.external/leases",
		"https://acct.blob.core.windows.net/$root",
		"https://leases.example.com/leases", // a domain of one's own
		"https://files.web.example.com/leases",
		"https://my-secondary.example.com/leases",
		"http://127.0.0.1:10000/devstoreaccount1/leases", // emulators, whose account is in the path
		"http://[::1]:10000/devstoreaccount1/leases",
		"http://localhost:10000/devstoreaccount1/leases",
		"http://azurite:10000/devstoreaccount1/leases",
		"http://azurite.default.svc.cluster.local:10000/devstoreaccount1/leases",
		"http://azurite.default.svc.cluster.local:10000/another/leases",
		"https://azurite.example.com/devstoreaccount1/leases",
		"http://devstoreaccount1.blob.localhost:10000/leases",
	} {
		assert.NoError(t, newOf(t, url), url)
	}
}

func TestOtherURLsAreRefusedBeforeAnyRequest(t *testing.T) {
	for url, why := range map[string]string{
		"https://acct.dfs.core.windows.net/leases":                              "is the dfs endpoint of an account: leases need the blob endpoint, acct.blob.core.windows.net",
		"https://acct.queue.core.windows.net/leases":                            "is the queue endpoint",
		"https://acct.table.core.windows.net/leases":                            "is the table endpoint",
		"https://acct.file.core.windows.net/leases":                             "is the file endpoint",
		"https://acct.z6.web.core.windows.net/leases":                           "is the web endpoint",
		"https://acct.z17.dfs.storage.azure.net/leases":                         "is the dfs endpoint",
		"https://acct.privatelink.dfs.core.windows.net/leases":                  "is the dfs endpoint",
		"https://ACCT.DFS.core.windows.net/leases":                              "is the dfs endpoint",
		"https://acct.blob.core.windows.net/leases/x":                           "has 2 parts in its path: it needs 1, the container",
		"https://acct.blob.core.windows.net/leases%2Fx":                         "has 2 parts in its path",
		"https://acct.blob.core.windows.net//leases":                            "has an empty part",
		"https://acct.blob.core.windows.net/":                                   "names no container",
		"https://acct.blob.core.windows.net":                                    "names no container",
		"https://leases.example.com/a/b":                                        "has 2 parts in its path",
		"https://acct.blob.core.windows.net/leases?snapshot=1":                  `has the parameter "snapshot"`,
		"https://acct.blob.core.windows.net/leases?VersionId=1":                 `has the parameter "VersionId"`,
		"https://acct.blob.core.windows.net/leases?restype=container&comp=list": "has the parameter",
		"http://127.0.0.1:10000/devstoreaccount1":                               "names no container: it needs 2 parts in its path, the account and the container",
		"http://localhost:10000/devstoreaccount1":                               "names no container",
		"http://127.0.0.1:10000/a/b/c":                                          "has 3 parts in its path",
		"http://127.0.0.1:10000/devstoreaccount1-secondary/leases":              "is the read-only secondary",
		"https://acct-secondary.blob.core.windows.net/leases":                   "is the read-only secondary",
		"https://acct-Secondary.blob.core.windows.net/leases":                   "is the read-only secondary",
		"https://acct.blob.core.windows.net/Bad_Name":                           `container "Bad_Name"`,
		"https://acct.blob.core.windows.net/ab":                                 `container "ab"`,
		"https://acct.blob.core.windows.net/a--b":                               `container "a--b"`,
		"ftp://acct.blob.core.windows.net/leases":                               "is no http or https URL",
	} {
		err := newOf(t, url)
		if assert.ErrorContains(t, err, why, url) {
			clean(t, err)
		}
	}
}

func TestAPrefixThatIsNone(t *testing.T) {
	c, err := container.NewClientWithNoCredential("https://account.blob.core.windows.net/leases", nil)
	require.NoError(t, err)
	for prefix, says := range map[string]string{
		"/":    `prefix "/" has nothing before its "/"`,
		"team": `prefix "team" does not end in "/"`,
	} {
		_, err := azurelease.New(c, &azurelease.Options{Prefix: prefix})
		require.ErrorContains(t, err, says)
	}
}
