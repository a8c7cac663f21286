// Package azurelease keeps leases as blob leases of Azure Storage.
//
//	client, err := container.NewClient("https://ACCOUNT.blob.core.windows.net/leases", credential, nil)
//	...
//	backend, err := azurelease.New(client, nil)
//
// Each lease is one small block blob. Its Azure lease says whether it is held,
// and for how long; its body is the record, with the fencing token. The body is
// written once at the start of a term, under the lease ID and If-Match, and
// not by renewals, which cost one lease request each.
//
// # A term
//
// A contender reads the blob, and creates it if it is missing. If it is not
// leased, it acquires the Azure lease with a fresh lease ID, on condition that the
// blob is still the one that it read; then it writes the record, with a higher
// token, under that lease and If-Match. Only when this is confirmed is the lease
// granted, and its deadline counts from before the first of these requests. A
// lease whose record cannot be written is given back.
//
// Whether a lease is held is read off its Azure lease, never off the record: the
// body of a free blob still names the last holder.
//
// # Rights
//
// The role Storage Blob Data Contributor, on the container, has all that is
// needed. A SAS needs the letters r, c and w. Nothing is deleted.
//
// # Limits
//
// Azure allows a TTL of 15 to 60 whole seconds. After a holder has died, Azure may
// refuse the lease to others for up to a minute more than its TTL.
package azurelease
