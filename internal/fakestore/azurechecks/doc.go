// Package azurechecks says in executable form how Azure Blob Storage treats
// blobs and leases, as far as this module depends on it. The checks go through
// the real SDK, and run against the model in package azure and against the
// emulator Azurite; whoever has an account can run them there.
//
// What a store does otherwise is listed as [Departures], so that a departure is
// something that was seen and written down, and that is noticed when it ends.
package azurechecks
