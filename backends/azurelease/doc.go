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
// # What a failure leaves behind
//
// Nothing for anybody to clean up, wherever a process or its network ends: what was taken
// runs out within the TTL, and nobody else is granted the lease before. docs/stores.md
// goes through the steps.
//
// A process that lives on reads the blob after an answer that is lost, or that
// refuses, and so finds out: an acquisition that it cannot resolve is settled by its
// next Acquire, or by Release of the grant that came with the error. Settling writes the
// record anew, so that nothing that is still under way applies any more, and then
// releases the Azure lease. If it stays unknown whether Done was recorded, the lease is
// not released.
//
// # Operators
//
// Break leaves the holder its time. BreakNow, breaking the lease with a period by other
// means, deleting the blob, or restoring an older one over it, cuts that short:
// until every deadline that was in force has passed, which takes a TTL at the most,
// two may believe that they hold the lease. Their tokens tell them apart; the one before
// learns of it at its next renewal. Azure lets nobody edit a leased blob. Edits of a
// free one, of its metadata for example, do no harm, and last until the next term begins.
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
