package azurelease_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/azurite"
	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
)

// requireAzurite is the environment variable that makes a missing Azurite a
// failure, and has the tests run that wait for minutes. CI sets it.
const requireAzurite = "BLOBLEASE_REQUIRE_AZURITE"

func azuriteRequired() bool { return os.Getenv(requireAzurite) != "" }

// needAzurite returns the Azurite that the tests of this process share. Where it
// is not installed, the test is skipped.
func needAzurite(t testing.TB) *azurite.Server {
	t.Helper()
	switch {
	case !azuriteRequired() && testing.Short():
		t.Skip("-short")
	case !azuriteRequired() && os.Getenv(azurite.Variable) == "skip":
		t.Skip(azurite.Variable + "=skip")
	}
	s, err := azurite.Shared(context.Background())
	if errors.Is(err, azurite.ErrNotInstalled) && !azuriteRequired() {
		t.Skip(err)
	}
	require.NoError(t, err)
	return s
}

// needMinutes skips a test that waits for leases of Azurite's to run out.
func needMinutes(t testing.TB) {
	t.Helper()
	if !azuriteRequired() {
		t.Skip("leases last a real 15 s, and some run out several times: set " + requireAzurite + "=1")
	}
}

// An emulated is a container of Azurite behind a network, reached through the
// real SDK.
type emulated struct {
	server *azurite.Server
	direct *container.Client // without the network
	name   string
	layer  *fakestore.Layer
}

func newEmulated(t testing.TB) *emulated {
	t.Helper()
	e := &emulated{server: needAzurite(t), direct: azurite.Test(t)}
	e.name = e.direct.URL()[strings.LastIndex(e.direct.URL(), "/")+1:]
	target, err := url.Parse(e.server.URL())
	require.NoError(t, err)
	wires := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(wires.CloseIdleConnections)
	e.layer = fakestore.New(&httputil.ReverseProxy{
		Transport: wires,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		},
	}, &fakestore.Options{Kind: azure.Kind})
	t.Cleanup(e.layer.Close)
	return e
}

func (e *emulated) client(t testing.TB) *azurelease.Backend {
	t.Helper()
	o := &container.ClientOptions{}
	o.Transport = &http.Client{Transport: e.layer}
	c, err := e.server.Client(e.name, o)
	require.NoError(t, err)
	b, err := azurelease.New(c, nil)
	require.NoError(t, err)
	return b
}

// busy are the checks that keep Azurite busy. They run one by one, before those that
// mostly wait, and for which a second matters.
var busy = []string{
	"OneWinnerOfMany", "OneWinnerOfManyOnOneClient", "AClientIsSafeForConcurrentUse", "NamesThatDifferAreDifferentLeases",
	"WhatIsNoRecordIsForeignAndStays", "ADamagedRecordIsForeignAndStays",
}

// The same suite on Azurite, in real time, with the same faults in front of it.
// The checks that wait do so together, for about two minutes.
func TestConformanceOnAzurite(t *testing.T) {
	needMinutes(t)
	t.Parallel()
	backendtest.Run(t, backendtest.Harness{Open: func(t *testing.T) *backendtest.World {
		name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
		if name == "ARenewingHolderIsNeverTakenOver" {
			t.Skip("takes seven minutes in real time")
		}
		if !slices.Contains(busy, name) {
			t.Parallel()
		}
		return emulatedWorld(t)
	}})
}

func emulatedWorld(t *testing.T) *backendtest.World {
	e := newEmulated(t)
	return &backendtest.World{
		New:       func() backends.Backend { return breaking{e.client(t)} },
		Count:     func() backendtest.Count { return count(e.layer) },
		Faults:    func(s backendtest.Schedule) { e.layer.Inject(schedule(e.name, s)) },
		Read:      func(name string) []byte { return e.read(t, name) },
		Overwrite: func(name string, data []byte) error { return overwrite(e.direct, name, "", data) },
		Delete:    e.remove,
		FirstLook: func(record, _ time.Duration) backendtest.Window {
			return backendtest.Window{NotBefore: record, By: record}
		},
		Budget: budget,
	}
}

func (e *emulated) read(t testing.TB, name string) []byte {
	t.Helper()
	r, err := e.direct.NewBlobClient(name).DownloadStream(context.Background(), nil)
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return data
}

// remove deletes a blob as an operator has to: a lease is broken first.
func (e *emulated) remove(name string) error {
	b := e.direct.NewBlobClient(name)
	breaker, err := lease.NewBlobClient(b, nil)
	if err != nil {
		return err
	}
	at := int32(0)
	_, err = breaker.BreakLease(context.Background(), &lease.BlobBreakOptions{BreakPeriod: &at})
	if err != nil && !bloberror.HasCode(err, bloberror.LeaseNotPresentWithLeaseOperation) {
		return err
	}
	_, err = b.Delete(context.Background(), nil)
	return err
}
