// Package s3 is a strict model of the part of Amazon S3 that leader election
// touches: objects, their conditional writes, and their versions.
//
// # What it follows
//
// The default is what Amazon documents, above all the pages on conditional requests.
// Every row is a test.
//
//	                              there is an object   there is none, or it was deleted
//	PUT, If-None-Match: *         412                  ok
//	PUT, If-None-Match: "etag"    501                  501
//	PUT, If-Match, the ETag       ok                   404 NoSuchKey
//	PUT, If-Match, another        412                  404 NoSuchKey
//	PUT, both                     501                  501
//	DELETE, If-Match, the ETag    ok                   404 NoSuchKey
//	DELETE, If-Match, another     412                  404 NoSuchKey
//	GET, If-Match, another        412                  404 NoSuchKey
//	GET, If-None-Match, the ETag  304                  404 NoSuchKey
//
// An ETag is the MD5 of the content: two writes of the same bytes have the same.
// ETags are accepted with and without quotes. Dates are whole seconds. Conditions are
// judged and writes applied in one step. In a versioned bucket they are judged on the
// current version; a delete marker counts as no object.
//
// A missing right answers 403; so does an object that does not exist to whoever lacks
// s3:ListBucket. If-Match takes s3:GetObject beside s3:PutObject. A request dated
// more than 15 minutes from the store's clock is refused with RequestTimeTooSkewed.
//
// Other stores that have S3's interface differ; [Options] has a switch for each
// departure that matters: the unquoted dialect, stores that ignore conditions, or that
// judge first and act later, or whose dates do not move. 409
// ConditionalRequestConflict, 503 SlowDown and the like come on demand, as faults.
//
// # How strict
//
// What the model does not know it refuses with 501, rather than ignore it: an
// x-amz header, a query parameter, or an operation. Bodies are held against their
// checksums. Requests have to be signed, but signatures are not checked.
package s3
