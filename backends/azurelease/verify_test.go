package azurelease_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/azurite"
	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
)

func results(r backends.Report) map[string]backends.Result {
	all := map[string]backends.Result{}
	for _, c := range r.Checks {
		all[c.Name] = c.Result
	}
	return all
}

func requireVerified(t *testing.T, b *azurelease.Backend) {
	t.Helper()
	report, err := b.Verify(t.Context())
	require.NoError(t, err, report)
	for _, c := range report.Checks {
		if c.Name != "dates" { // nothing depends on them
			require.Equal(t, backends.Passed, c.Result, report)
		}
	}
	require.Equal(t, backends.Passed, results(report)["lease race"])
	require.Len(t, report.Left, 1)
}

func TestVerifyPassesAzure(t *testing.T) {
	for name, o := range map[string]*azure.Options{"AsDocumented": nil, "LikeAzurite": azure.LikeAzurite()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, o)
				for range 3 { // what one run leaves behind does not disturb the next
					requireVerified(t, m.client(t))
				}
			})
		})
	}
}

func TestVerifyPassesAzurite(t *testing.T) {
	needAzurite(t)
	b, err := azurelease.New(azurite.Test(t), &azurelease.Options{Prefix: "team/"})
	require.NoError(t, err)
	requireVerified(t, b)
}

// What stands between a program and its store may drop headers that it does not know.
func TestVerifyRefusesWhatIsNotAzure(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		failed string
	}{
		"WithoutIfMatch":     {"If-Match", "refuse stale"},
		"WithoutIfNoneMatch": {"If-None-Match", "refuse create"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, nil)
				client, err := azurechecks.NewClient(dropping{m.layer, c.header}, containerName)
				require.NoError(t, err)
				b, err := azurelease.New(client, nil)
				require.NoError(t, err)
				report, err := b.Verify(t.Context())
				require.ErrorIs(t, err, backends.ErrUnsupported)
				require.Equal(t, backends.Failed, results(report)[c.failed], report)
			})
		})
	}
}

type dropping struct {
	http.RoundTripper
	header string
}

func (d dropping) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del(d.header)
	return d.RoundTripper.RoundTrip(r)
}

// A store on which leases do nothing: whoever asks for one has it.
func TestVerifyRefusesLeasesThatExcludeNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, nil)
		client, err := azurechecks.NewClient(&oneForAll{RoundTripper: m.layer}, containerName)
		require.NoError(t, err)
		b, err := azurelease.New(client, nil)
		require.NoError(t, err)
		report, err := b.Verify(t.Context())
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.Equal(t, backends.Failed, results(report)["lease excludes"], report)
		require.Equal(t, backends.Failed, results(report)["lease race"], report)
	})
}

// oneForAll acquires each lease under the same ID, which everybody may.
type oneForAll struct {
	http.RoundTripper
	requests atomic.Int32
}

func (o *oneForAll) RoundTrip(r *http.Request) (*http.Response, error) {
	o.requests.Add(1)
	r = r.Clone(r.Context())
	for _, header := range []string{"x-ms-proposed-lease-id", "x-ms-lease-id"} {
		for name := range r.Header {
			if strings.EqualFold(name, header) {
				r.Header[name] = []string{"11111111-2222-3333-4444-555555555555"}
			}
		}
	}
	return o.RoundTripper.RoundTrip(r)
}

func TestVerifyNamesTheRightOnAzure(t *testing.T) {
	for name, c := range map[string]struct {
		where fakestore.Schedule
		right string
	}{
		"Read":  {fakestore.Always(refusal(http.StatusForbidden, "AuthorizationPermissionMismatch")).Where(azure.Is(azure.GetBlob)), "blobs/read (in a SAS: r)"},
		"Write": {fakestore.Always(instead(http.StatusForbidden, "AuthorizationPermissionMismatch")).Where(azure.Is(azure.PutBlob)), "blobs/write (in a SAS: c and w)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, nil)
				m.layer.Inject(c.where)
				_, err := m.client(t).Verify(t.Context())
				require.ErrorIs(t, err, backends.ErrDenied)
				require.ErrorContains(t, err, c.right)
				require.NotContains(t, err.Error(), "\n")
			})
		})
	}
}

func TestVerifyTellsThatThereIsNoContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, nil)
		client, err := azurechecks.NewClient(m.layer, "missing")
		require.NoError(t, err)
		b, err := azurelease.New(client, nil)
		require.NoError(t, err)
		_, err = b.Verify(t.Context())
		require.ErrorIs(t, err, backends.ErrNoContainer)
		require.ErrorContains(t, err, "az storage container create")
	})
}

// instead refuses in the store's place.
func instead(status int, code string) fakestore.Fault {
	f := fakestore.Refused(status, -1)
	f.Header = http.Header{"X-Ms-Error-Code": {code}}
	return f
}
