package azure

import (
	"net/http"
	"time"
)

// Options say how an Account behaves where Azure's documentation leaves room,
// and what kind of account it is. The zero value is what Azure documents.
type Options struct {
	// ExpiredWrite is what becomes of a write that carries the ID of a lease
	// that has expired, and that nobody has taken since.
	ExpiredWrite ExpiredWrite
	// ExpiryGrace is how long after its expiry a lease can be acquired by its
	// own ID only. Azure documents up to a minute.
	ExpiryGrace time.Duration
	// RenewExpired is who may renew a lease that has expired.
	RenewExpired RenewExpired
	// CreateOnLeased is the code of a Put Blob with If-None-Match: * and
	// without lease ID on a leased blob.
	CreateOnLeased CreateOnLeased
	// WrongLeaseConflict makes LeaseIdMismatchWithBlobOperation a 409, as the
	// table in the Lease Blob reference has it; the list of error codes says
	// 412.
	WrongLeaseConflict bool
	// TargetConditionNotMet is an alternative to the code ConditionNotMet in
	// 412 answers to writes; both are seen.
	TargetConditionNotMet bool

	// ConditionsFirst judges conditions before it looks whether the blob
	// exists, so that If-Match on a missing blob is 412, as Azurite has it, not
	// 404 BlobNotFound. Azure does not say. Put Blob is 412 either way.
	ConditionsFirst bool

	// AnyLeaseID accepts lease IDs that are no GUIDs, and minds their case in
	// lease operations, as Azurite does.
	AnyLeaseID bool
	// CreateIgnoresLeaseID lets Put Blob create a blob although it carries a
	// lease ID, as Azurite does.
	CreateIgnoresLeaseID bool
	// IfMatchAnyCreates lets Put Blob with If-Match: * create a blob, as
	// Azurite does before 3.37.
	IfMatchAnyCreates bool
	// IgnoreIfNoneMatchAny ignores If-None-Match: * except on Put Blob, as
	// Azurite does.
	IgnoreIfNoneMatchAny bool

	// Deny, if set, returns the code with which a request is refused with
	// status 403, such as AuthorizationPermissionMismatch or
	// AuthenticationFailed; empty lets it pass.
	Deny func(*http.Request) string
	// MaxBody is the longest body of a Put Blob; 4 MiB by default.
	MaxBody int64
	// PageBlobsOnly makes it a premium account for page blobs, which refuses
	// block blobs.
	PageBlobsOnly bool
	// Hierarchical makes Get Account Information tell of a hierarchical
	// namespace. Nothing else changes.
	Hierarchical bool
	// Immutable puts every blob under a retention policy: it can be created
	// and leased, but neither written again nor deleted.
	Immutable bool
}

// ExpiredWrite is a way to treat a write under an expired lease.
type ExpiredWrite int

const (
	// RefusedAsLost is 412 LeaseLost, as documented. That a write under a broken
	// lease gets the same code is an inference: its text speaks of expiry only.
	RefusedAsLost ExpiredWrite = iota
	// RefusedAsNotPresent is 412 LeaseNotPresentWithBlobOperation, as Azurite
	// answers. It does the same for broken leases.
	RefusedAsNotPresent
	// Accepted lets the write pass, as users report of Azure. The blob is then
	// modified, so it forgets the lease ID.
	Accepted
)

// RenewExpired is a way to treat the renewal of an expired lease.
type RenewExpired int

const (
	// IfUntouched lets its holder renew it if the blob was not written since,
	// as documented.
	IfUntouched RenewExpired = iota
	// Never refuses it as if somebody had written.
	Never
	// WithAnyID lets anybody revive it, as Azurite does.
	WithAnyID
)

// CreateOnLeased is a way to refuse creating a blob that exists and is leased.
type CreateOnLeased int

const (
	// LeaseFirst is 412 LeaseIdMissing, as users report of Azure.
	LeaseFirst CreateOnLeased = iota
	// ExistenceFirst is 409 BlobAlreadyExists, as Azurite answers before 3.39.
	ExistenceFirst
)

// LikeAzurite returns the Options that make an Account answer as Azurite
// 3.35.0 does.
func LikeAzurite() *Options {
	return &Options{
		ExpiredWrite:         RefusedAsNotPresent,
		RenewExpired:         WithAnyID,
		CreateOnLeased:       ExistenceFirst,
		ConditionsFirst:      true,
		AnyLeaseID:           true,
		CreateIgnoresLeaseID: true,
		IfMatchAnyCreates:    true,
		IgnoreIfNoneMatchAny: true,
	}
}

const defaultMaxBody = 4 << 20

func (o *Options) maxBody() int64 {
	if o.MaxBody == 0 {
		return defaultMaxBody
	}
	return o.MaxBody
}
