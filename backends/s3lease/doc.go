// Package s3lease keeps leases in Amazon S3, and in stores with S3's interface that
// honour conditional writes.
//
//	cfg, err := config.LoadDefaultConfig(ctx)
//	...
//	backend, err := s3lease.New(s3.NewFromConfig(cfg), "my-leases", nil)
//
// Each lease is one small object, whose body is the record. It is created under
// If-None-Match: *, and replaced under If-Match with the ETag that was read. Package
// cas says what is done with these, and how an answer that is lost or that refuses
// is resolved. Nothing is ever deleted.
//
// # Which stores
//
// Amazon S3 honours conditional writes. Of the stores with S3's interface, many
// do, some ignore the conditions, and some honour them only as long as no two writers
// come at once. A store of the last two kinds gives a lease to two holders. So try
// a store before you trust it, with Verify. A process that never calls it makes one
// request more, with its first lease, which finds only a store that ignores
// If-None-Match. A multi-region access point is refused: each region
// behind it decides by itself.
//
// # Dates
//
// On AWS, a contender may take over a dead holder's lease by S3's own dates, at its
// first look: Date and Last-Modified of one answer. They are whole seconds, and two
// machines of S3 are taken to agree within 2 seconds. So this is allowed when the TTL
// and 2 %, and 3 seconds more, have passed by these dates. Elsewhere it watches the
// record for a TTL and 1 % by its own clock, until Verify has found, with this Backend, that
// the store's dates are as good, or unless Options.TrustDates says so. If Verify finds
// that they are not, they are not used, on AWS neither.
//
// # Requests
//
// Each act of the engine is one HTTP request. Whatever retries the client was made
// with, the Backend switches them off: it has to know of each request what became
// of it. One exception: if S3 refuses a request because the clock of this machine is
// more than 15 minutes off, the SDK corrects the time in the signature and asks once
// more. S3 refuses such a request before it looks at anything else.
// The other: for a directory bucket (S3 Express One Zone) the SDK asks for a session
// before the first request, and again every few minutes.
//
// # Rights
//
// s3:GetObject and s3:PutObject on the objects, and s3:ListBucket on the bucket.
// Nothing is listed; but without that right S3 answers 403, not 404, for an object
// that does not exist, and a lease that is used for the first time looks like one
// that must not be read.
package s3lease
