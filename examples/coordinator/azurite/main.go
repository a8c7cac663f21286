// Azurite is the coordinator with its lease in Azurite, which needs Node.js.
//
//	go run ./examples/coordinator -store azurite
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/bloblease/bloblease/azurite"
	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/examples/coordinator/internal/show"
)

func main() {
	os.Exit(show.Main(show.Place{Name: "azurite", TTL: 15 * time.Second, Make: start, Open: open}))
}

// start starts Azurite with a container in it, whose URL the workers are told.
func start(ctx context.Context, _ string) (show.Made, error) {
	server, err := azurite.Start(ctx, nil)
	if err != nil {
		return show.Made{}, err
	}
	client, err := server.Container(ctx, "", nil)
	if err != nil {
		return show.Made{}, errors.Join(err, server.Close())
	}
	return show.Made{Address: client.URL(), Words: "Azurite at " + server.URL(), Remove: server.Close}, nil
}

// open is what a worker does, and the stage, to see the end.
func open(address string) (backends.Backend, error) {
	key, err := container.NewSharedKeyCredential(azurite.Account, azurite.Key)
	if err != nil {
		return nil, err
	}
	client, err := container.NewClientWithSharedKeyCredential(address, key, nil)
	if err != nil {
		return nil, err
	}
	return azurelease.New(client, nil)
}
