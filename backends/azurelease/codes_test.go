package azurelease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
)

// errUnknown stands for an error that is none of package backends: it tells
// nothing of the lease.
var errUnknown = errors.New("unknown")

// What Azure answers to a kind of request, every time, and what becomes of it.
// Nil means success: the answer is no obstacle.
var codes = []struct {
	to     azure.Operation
	status int
	code   string
	means  error
}{
	// Leases.
	{azure.AcquireLease, 409, "LeaseAlreadyPresent", backends.ErrHeld},
	{azure.AcquireLease, 409, "LeaseIsBreakingAndCannotBeAcquired", backends.ErrHeld},
	{azure.AcquireLease, 412, "ConditionNotMet", errRetry},
	{azure.AcquireLease, 412, "TargetConditionNotMet", errRetry},
	{azure.AcquireLease, 404, "BlobNotFound", errRetry},
	{azure.AcquireLease, 404, "ContainerNotFound", backends.ErrNoContainer},
	{azure.AcquireLease, 400, "InvalidHeaderValue", backends.ErrUnsupported},
	{azure.RenewLease, 409, "LeaseIdMismatchWithLeaseOperation", backends.ErrLost},
	{azure.RenewLease, 409, "LeaseNotPresentWithLeaseOperation", backends.ErrLost},
	{azure.RenewLease, 409, "LeaseIsBrokenAndCannotBeRenewed", backends.ErrLost},
	{azure.RenewLease, 409, "LeaseAlreadyBroken", backends.ErrLost},
	{azure.RenewLease, 404, "BlobNotFound", backends.ErrLost},
	{azure.RenewLease, 404, "ContainerNotFound", backends.ErrNoContainer},
	{azure.ReleaseLease, 409, "LeaseIdMismatchWithLeaseOperation", backends.ErrLost},
	{azure.ReleaseLease, 404, "BlobNotFound", backends.ErrLost},
	{azure.BreakLease, 409, "LeaseNotPresentWithLeaseOperation", nil},
	{azure.BreakLease, 412, "ConditionNotMet", backends.ErrLost},
	{azure.BreakLease, 404, "BlobNotFound", backends.ErrLost},

	// The record, under the lease.
	{azure.PutBlob, 412, "ConditionNotMet", errUnknown},
	{azure.PutBlob, 412, "TargetConditionNotMet", errUnknown},
	{azure.PutBlob, 412, "LeaseLost", errRetry},
	{azure.PutBlob, 412, "LeaseNotPresentWithBlobOperation", errRetry},
	{azure.PutBlob, 412, "LeaseIdMismatchWithBlobOperation", errRetry},
	{azure.PutBlob, 409, "LeaseIdMismatchWithBlobOperation", errRetry},
	{azure.PutBlob, 412, "LeaseIdMissing", errRetry},
	{azure.PutBlob, 409, "BlobImmutableDueToPolicy", backends.ErrUnsupported},
	{azure.PutBlob, 409, "BlobArchived", backends.ErrUnsupported},
	{azure.PutBlob, 409, "InvalidBlobType", backends.ErrForeign},
	{azure.PutBlob, 409, "ResourceTypeMismatch", backends.ErrForeign},
	{azure.PutBlob, 400, "BlobTypeNotSupported", backends.ErrUnsupported},
	{azure.PutBlob, 400, "MultipleConditionHeadersNotSupported", backends.ErrUnsupported},
	{azure.PutBlob, 400, "InvalidResourceName", backends.ErrUnsupported},
	{azure.PutBlob, 413, "RequestBodyTooLarge", backends.ErrUnsupported},
	{azure.PutBlob, 403, "UnauthorizedBlobOverwrite", backends.ErrDenied},
	{azure.PutBlob, 501, "NotImplemented", backends.ErrUnsupported},

	// Reading.
	{azure.GetBlob, 404, "ContainerNotFound", backends.ErrNoContainer},
	{azure.GetBlob, 409, "ContainerBeingDeleted", backends.ErrNoContainer},
	{azure.GetBlob, 409, "BlobArchived", backends.ErrUnsupported},
	{azure.GetBlob, 409, "BlobBeingRehydrated", backends.ErrUnsupported},
	{azure.GetBlob, 404, "", errUnknown}, // a proxy's
	{azure.GetBlob, 404, "ResourceNotFound", errUnknown},
	{azure.GetBlob, 307, "", backends.ErrUnsupported},

	// Rights.
	{azure.GetBlob, 401, "NoAuthenticationInformation", backends.ErrDenied},
	{azure.GetBlob, 401, "InvalidAuthenticationInfo", backends.ErrDenied},
	{azure.GetBlob, 403, "AuthenticationFailed", backends.ErrDenied},
	{azure.GetBlob, 403, "AuthorizationFailure", backends.ErrDenied},
	{azure.GetBlob, 403, "AuthorizationPermissionMismatch", backends.ErrDenied},
	{azure.GetBlob, 403, "AuthorizationSourceIPMismatch", backends.ErrDenied},
	{azure.GetBlob, 403, "InsufficientAccountPermissions", backends.ErrDenied},
	{azure.GetBlob, 403, "AccountIsDisabled", backends.ErrDenied},
	{azure.GetBlob, 407, "", backends.ErrDenied},
	{azure.AcquireLease, 403, "AuthorizationPermissionMismatch", backends.ErrDenied},
	{azure.PutBlob, 403, "AuthorizationPermissionMismatch", backends.ErrDenied},
	{azure.RenewLease, 403, "AuthenticationFailed", backends.ErrDenied},
	{azure.ReleaseLease, 403, "AuthenticationFailed", backends.ErrDenied},

	// Trouble.
	{azure.AcquireLease, 503, "ServerBusy", errRetry},
	{azure.PutBlob, 503, "ServerBusy", errRetry},
	{azure.RenewLease, 503, "ServerBusy", errRetry},
	{azure.RenewLease, 429, "TooManyRequests", errRetry},
	{azure.ReleaseLease, 503, "ServerBusy", errRetry},
	{azure.GetBlob, 503, "ServerBusy", errRetry},
	{azure.AcquireLease, 500, "OperationTimedOut", errUnknown},
	{azure.PutBlob, 500, "InternalError", errUnknown},
	{azure.RenewLease, 500, "OperationTimedOut", errUnknown},
	{azure.RenewLease, 502, "", errUnknown},
	{azure.RenewLease, 504, "", errUnknown},
	{azure.RenewLease, 408, "", errUnknown},
	{azure.RenewLease, 200 + 2, "", errUnknown}, // not what Azure says to that
	{azure.RenewLease, 409, "SomethingNew", errUnknown},
	{azure.ReleaseLease, 500, "InternalError", errUnknown},
	{azure.GetBlob, 500, "InternalError", errUnknown},
}

// errRetry stands for a *backends.RetryError.
var errRetry = errors.New("retry")

func TestEveryCodeHasAMeaning(t *testing.T) {
	for _, c := range codes {
		t.Run(strings.Join([]string{string(c.to), c.code}, " "), func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				f := refusal(c.status, c.code)
				f.Dropped = true
				err := m.meet(t, c.to, f)
				if c.means == nil {
					require.NoError(t, err)
					return
				}
				require.Error(t, err)
				assert.NotContains(t, err.Error(), "\n")
				assert.Less(t, len(err.Error()), 400)
				if !errors.Is(c.means, backends.ErrHeld) {
					assert.ErrorContains(t, err, "Azure answers ")
				}
				kind(t, c.means, err)
			})
		})
	}
}

// kind makes sure that err is of this kind, and of no other.
func kind(t *testing.T, want, err error) {
	t.Helper()
	for _, other := range []error{
		backends.ErrHeld, backends.ErrLost, backends.ErrDenied, backends.ErrNoContainer, backends.ErrUnsupported, backends.ErrForeign,
	} {
		assert.Equal(t, errors.Is(want, other), errors.Is(err, other), "%v: %v", other, err)
	}
	var retry *backends.RetryError
	assert.Equal(t, errors.Is(want, errRetry), errors.As(err, &retry), "RetryError: %v", err)
}

// meet does what makes the first request of a kind, which meets a fault every
// time, and returns what came of it.
func (m *model) meet(t *testing.T, o azure.Operation, f fakestore.Fault) error {
	t.Helper()
	b := m.client(t)
	g := acquire(t, b, "job")
	if o != azure.RenewLease && o != azure.ReleaseLease && o != azure.BreakLease {
		require.NoError(t, b.Release(t.Context(), g))
	}
	m.layer.Inject(fakestore.Always(f).Where(azure.Is(o)))
	var err error
	switch o {
	case azure.RenewLease:
		_, err = b.Renew(t.Context(), g)
	case azure.ReleaseLease:
		err = b.Release(t.Context(), g)
	case azure.BreakLease:
		err = m.client(t).Break(t.Context(), "job", "")
	case azure.GetBlob:
		_, err = b.Observe(t.Context(), "job")
	default:
		_, err = b.Acquire(t.Context(), "job", claim("contender"))
	}
	return err
}

func TestAMissingContainerNamesTheCommandThatMakesIt(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		m.Vanish()
		_, err := m.client(t).Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrNoContainer)
		require.ErrorContains(t, err, "`az storage container create --name leases --account-name model`")
	})
}

func TestADenialTellsWhatMayBeWrong(t *testing.T) {
	for code, hint := range map[string]string{
		"AuthorizationPermissionMismatch": "Storage Blob Data Contributor, or a SAS with r, c and w",
		"SomethingNew":                    "Storage Blob Data Contributor, or a SAS with r, c and w",
		"AuthenticationFailed":            "clock is far off",
		"AuthorizationFailure":            "firewall",
	} {
		inModel(t, nil, func(t *testing.T, m *model) {
			err := m.meet(t, azure.GetBlob, azure.Denied(code))
			require.ErrorIs(t, err, backends.ErrDenied)
			require.ErrorContains(t, err, hint)
			require.ErrorContains(t, err, "Azure answers 403 "+code)
		})
	}
}

func TestACodeThatIsNoneIsNotPrinted(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		f := refusal(418, "<b>brew</b> sig=abc")
		f.Dropped = true
		err := m.meet(t, azure.RenewLease, f)
		require.EqualError(t, err, "renew: Azure answers 418 I'm a teapot")
	})
}

func TestWhatIsNotAzureIsUnsupported(t *testing.T) {
	for name, spoil := range map[string]func(*fakestore.Fault){
		"NoLeaseState": func(f *fakestore.Fault) { f.Header.Del("X-Ms-Lease-State") },
		"NoETag":       func(f *fakestore.Fault) { f.Header.Del("Etag") },
		"AWeakETag":    func(f *fakestore.Fault) { f.Header.Set("Etag", `W/"0x8D"`) },
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				f := fakestore.Refused(200, -1)
				f.Header = map[string][]string{"Etag": {`"0x8D"`}, "X-Ms-Lease-State": {"available"}}
				f.Body = `{"bloblease":1,"state":"free","token":1,"nonce":"x"}`
				m.layer.Inject(fakestore.Always(f))
				_, err := m.client(t).Observe(t.Context(), "job")
				require.NoError(t, err)
				spoil(&f)
				_, err = m.client(t).Acquire(t.Context(), "job", claim("holder"))
				require.ErrorIs(t, err, backends.ErrUnsupported)
				_, err = m.client(t).Observe(t.Context(), "job")
				require.ErrorIs(t, err, backends.ErrUnsupported)
			})
		})
	}
}

func TestRetryAfterIsPassedOn(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "0": 0, "-1": 0, "soon": 0, "99999999999": 0, "1000000": 0,
	} {
		inModel(t, nil, func(t *testing.T, m *model) {
			f := refusal(503, "ServerBusy")
			f.Header.Set("Retry-After", header)
			var retry *backends.RetryError
			require.ErrorAs(t, m.meet(t, azure.RenewLease, f), &retry)
			require.Equal(t, want, retry.After)
		})
	}
}
