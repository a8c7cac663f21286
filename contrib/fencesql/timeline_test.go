//go:build unix

package fencesql_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/backends/memlease"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/fence"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/fakestore/azurechecks"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
	"github.com/bloblease/bloblease/internal/fencetest"
)

// backendsInTime make backends in a bubble.
var backendsInTime = map[string]func(*testing.T) backends.Backend{
	"memlease": func(*testing.T) backends.Backend { return memlease.New() },
	"filelease": func(t *testing.T) backends.Backend {
		b, err := filelease.New(t.TempDir())
		require.NoError(t, err)
		return b
	},
	"azurelease": func(t *testing.T) backends.Backend {
		account := azure.New(time.Now, nil)
		account.Container("leases").Create()
		layer := fakestore.New(account, nil)
		t.Cleanup(layer.Close)
		c, err := azurechecks.NewClient(layer, "leases")
		require.NoError(t, err)
		b, err := azurelease.New(c, nil)
		require.NoError(t, err)
		return b
	},
	"s3lease": func(t *testing.T) backends.Backend {
		service := s3.New(time.Now, nil)
		service.Bucket("leases").Create()
		layer := fakestore.New(service, nil)
		t.Cleanup(layer.Close)
		b, err := s3lease.New(s3checks.NewClient(layer), "leases", nil)
		require.NoError(t, err)
		return b
	},
}

// fencesInTime make resources in a bubble, where the connections have to be made, too.
// The databases are outside.
func fencesInTime(d database, dsn string) map[string]func(*testing.T) fencetest.Resource {
	return map[string]func(*testing.T) fencetest.Resource{
		"Row in " + d.name:    func(t *testing.T) fencetest.Resource { return newLedger(t, d, d.connect(t, dsn), nil) },
		"Column in " + d.name: func(t *testing.T) fencetest.Resource { return newPage(t, d, d.connect(t, dsn)) },
	}
}

func TestTheClassicTimeline(t *testing.T) {
	inMemory := map[string]func(*testing.T) fencetest.Resource{
		"Gate": func(*testing.T) fencetest.Resource { return new(gated) },
	}
	timelines(t, inMemory)
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			dsn := d.dsn(t)
			prepared := d
			prepared.dsn = func(testing.TB) string { return dsn }
			require.NoError(t, prepared.open(t).Close())
			timelines(t, fencesInTime(d, dsn))
		})
	}
}

// timelines is the history of every backend with every fence.
func timelines(t *testing.T, fences map[string]func(*testing.T) fencetest.Resource) {
	for store, backend := range backendsInTime {
		for name, resource := range fences {
			t.Run(name+" with "+store, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fencetest.Timeline(t, backend(t), 2*time.Second, resource(t))
				})
			})
		}
	}
}

// gated is a journal behind a Gate.
type gated struct {
	gate    fence.Gate
	effects []fencetest.Effect
}

func (g *gated) Write(_ context.Context, lock string, t fence.Token, text string) error {
	return g.gate.Do(lock, t, func() error {
		g.effects = append(g.effects, fencetest.Effect{Token: t, Text: text})
		return nil
	})
}

func (g *gated) Raise(_ context.Context, lock string, t fence.Token) error {
	return g.gate.Raise(lock, t)
}

func (g *gated) Journal(context.Context) ([]fencetest.Effect, error) { return g.effects, nil }
