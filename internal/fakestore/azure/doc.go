// Package azure is a strict model of the part of Azure Blob Storage that leader
// election touches: block blobs, their conditions, and their leases.
//
// # What it follows
//
// The default is what Azure documents, above all the two tables of the Lease
// Blob reference ("Outcomes of use attempts" and "Outcomes of lease
// operations"). Below, A and B are lease IDs, and A is the one the blob knows;
// every cell is a row of a test.
//
//	                 available  leased A   breaking A  broken A   expired A
//	write as A       412        ok         ok          412        412 ¹
//	write as B       412        412 ²      412         412        412
//	write, no ID     ok         412        412         ok ³       ok ³
//	read as A        412        ok         ok          412        412
//	read as B        412        412 ²      412 ²       412        412
//	read, no ID      ok         ok         ok          ok         ok
//	acquire, no ID   ok         409        409         ok         ok ⁴
//	acquire A        ok         ok         409         ok         ok
//	acquire B        ok         409        409         ok         ok ⁴
//	break            409        ok         ok          ok         ok
//	change A to B    409        ok         409         409        409
//	renew A          409        ok         409         409        ok ⁵
//	renew B          409        409        409         409        409
//	release A        409        ok         ok          ok         ok
//	release B        409        409        409         409        409
//
// Where Azure contradicts itself, or was reported to do something else, or
// where the emulator Azurite departs, [Options] has a switch:
//
//	¹ documented as refused (LeaseLost), reported as accepted: ExpiredWrite
//	² the table says 409, the list of error codes says 412: WrongLeaseConflict
//	³ and the blob forgets A, so that renewing it fails afterwards
//	⁴ "may need to wait up to one minute": ExpiryGrace
//	⁵ if the blob was not written since: RenewExpired
//
// Conditions on ETag and date are judged before the lease, which is what
// Azurite does; Azure does not say. Put Blob with If-None-Match: * is the
// exception, see CreateOnLeased. Lease operations change neither ETag nor
// Last-Modified.
//
// # How strict
//
// What the model does not know it refuses with 501, rather than ignore it: an
// x-ms header, a query parameter, or an operation. ETags are unique over the
// life of an Account, and in no order. Signatures are not checked; Deny refuses
// requests.
package azure
