// Coordinator shows a leader election with everything that can go wrong in it.
//
//	go run ./examples/coordinator
//
// Three worker processes contend for one lease, in a temporary directory. The
// leader is killed; the next one is paused for longer than its lease lasts, in the
// middle of a write; the write arrives late and is refused; and all stop in
// good order. At the end the program checks what it saw, and exits with 1 if
// anything was not as promised.
//
// With -store azurite the lease is kept in Azurite, the emulator of Azure Storage.
// That takes more than a minute, as the leases of Azure last for 15 seconds at
// least. It is the program in azurite/, which this one starts in its place, so
// that nobody else has to compile Azure's SDK.
//
// With -store s3 it is kept in versitygw, a server with the interface of Amazon S3
// that the program in s3/ builds and starts, and with -store s3://BUCKET in a bucket of
// yours.
//
// Read internal/show/worker.go first: it is what a program of your own would look
// like. internal/show/ledger.go is the resource that the lease guards. The rest is
// the stage.
package main

import (
	"os"

	"github.com/bloblease/bloblease/examples/coordinator/internal/show"
)

func main() { os.Exit(show.Main(show.Directory())) }
