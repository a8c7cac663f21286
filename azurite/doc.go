// Package azurite runs Azurite, Microsoft's emulator of Azure Storage, for
// tests, for examples, and for trying things out on a laptop.
//
// In a test one line suffices:
//
//	func TestMyJob(t *testing.T) {
//		container := azurite.Test(t) // an empty container, gone after the test
//		...
//	}
//
// A program starts a server, and closes it:
//
//	server, err := azurite.Start(ctx, nil)
//	...
//	defer server.Close()
//	container, err := server.Container(ctx, "locks", nil)
//
// Azurite is a child process that listens on a free port of the loopback
// interface, keeps everything in memory, and ends with its parent, even if the
// parent is killed.
//
// # Installing it
//
// Azurite needs Node.js 20 or later, and is an npm package:
//
//	npm install --prefix . azurite@3.35.0
//
// It is looked for in node_modules/azurite, in azurite/node_modules/azurite,
// and in the same places in every directory above the working directory, which
// for a test is that of its package; then on PATH. In a checkout of this
// repository it is
//
//	npm ci --prefix azurite
//
// # Using one that runs
//
// If the environment variable BLOBLEASE_AZURITE holds the URL of an account,
// such as http://127.0.0.1:10000/devstoreaccount1, nothing is started and that
// one is used, unless Options ask for a server of one's own, or for one with a directory.
// If it holds the word skip, Test skips the test.
//
// # What it is not
//
// Azurite is no proof that something works on Azure. It never throttles, never
// loses an answer, and departs from the service in the details of leases that
// have expired; above all it lets anybody renew one.
package azurite
