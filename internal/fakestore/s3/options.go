package s3

import "time"

// Options say in what a Service departs from Amazon S3. The zero value is S3.
type Options struct {
	// Region is where the buckets are. Requests signed for another are redirected.
	// If it is empty, any will do.
	Region string
	// Without are the actions that nobody has a right to, such as "s3:ListBucket".
	Without []string

	// UnquotedETags refuses an If-Match whose ETag is in quotes, as Ceph's family
	// does. Answers have them in quotes all the same.
	UnquotedETags bool
	// OpaqueETags makes ETags that are no hash of the content, as encryption with
	// KMS does.
	OpaqueETags bool
	// WeakETags marks them as weak, as a proxy that compresses may.
	WeakETags bool
	// NoETagOnPut leaves the ETag out of the answer to a PUT.
	NoETagOnPut bool

	// IgnoreIfNoneMatch, IgnoreIfMatch and IgnoreDeleteIfMatch apply a write
	// whatever its condition says.
	IgnoreIfNoneMatch, IgnoreIfMatch, IgnoreDeleteIfMatch bool
	// CreateIfMatch creates a missing object under If-Match; ConflictIfMissing
	// answers 412 in place of 404.
	CreateIfMatch, ConflictIfMissing bool
	// Unconditional answers 501 to every conditional write.
	Unconditional bool
	// MarkersExist counts a delete marker as an object for If-None-Match.
	MarkersExist bool
	// Racy is asked for each conditional write that is about to be applied, and
	// may be asked concurrently: how long after its condition was judged. Others are
	// served meanwhile. Nil, or 0: at once.
	Racy func() time.Duration

	// NoChecksums refuses checksums, and bodies with trailers.
	NoChecksums bool

	// Clocks is how far the clock of the machine that answers is off. It is
	// asked for every date, and may be asked concurrently.
	Clocks func() time.Duration
	// NoDate leaves out the Date of answers.
	NoDate bool
	// FixedModified makes Last-Modified the date of the object's creation.
	FixedModified bool
}
