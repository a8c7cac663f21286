package s3lease_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
)

var errUnknown = errors.New("none of the errors that a caller may ask for")

// is makes sure that err is what it has to be.
func is(t *testing.T, err, want error) {
	t.Helper()
	var retry *backends.RetryError
	switch {
	case want == nil:
		require.NoError(t, err)
	case errors.As(want, &retry):
		var got *backends.RetryError
		require.ErrorAs(t, err, &got)
		require.Equal(t, retry.After, got.After)
	case errors.Is(want, errUnknown):
		require.Error(t, err)
		for _, known := range []error{
			cas.ErrConflict, cas.ErrVanished, backends.ErrDenied, backends.ErrNoContainer, backends.ErrUnsupported, backends.ErrForeign,
		} {
			require.NotErrorIs(t, err, known)
		}
		require.False(t, errors.As(err, &retry))
	default:
		require.ErrorIs(t, err, want)
	}
}

// What S3's codes mean to a write; a read has the same, unless it says otherwise.
func TestCodes(t *testing.T) {
	busy := &backends.RetryError{}
	for _, row := range []struct {
		status int
		code   string
		means  error
	}{
		{412, "PreconditionFailed", cas.ErrConflict},
		{412, "", cas.ErrConflict},
		{404, "NoSuchKey", cas.ErrVanished},
		{404, "NoSuchBucket", backends.ErrNoContainer},
		{404, "NoSuchAccessPoint", backends.ErrNoContainer},
		{404, "", errUnknown}, // a proxy's, perhaps
		{409, "ConditionalRequestConflict", busy},
		{409, "OperationAborted", busy},
		{409, "SomethingElse", errUnknown},
		{429, "TooManyRequests", busy},
		{503, "SlowDown", busy},
		{503, "ServiceUnavailable", busy},
		{503, "", busy},
		{400, "RequestTimeout", busy},
		{400, "KMS.ThrottlingException", busy},
		{500, "InternalError", errUnknown},
		{502, "", errUnknown},
		{504, "", errUnknown},
		{408, "", errUnknown},
		{403, "AccessDenied", backends.ErrDenied},
		{403, "InvalidAccessKeyId", backends.ErrDenied},
		{403, "SignatureDoesNotMatch", backends.ErrDenied},
		{403, "", backends.ErrDenied},
		{401, "Unauthorized", backends.ErrDenied},
		{400, "ExpiredToken", backends.ErrDenied},
		{400, "KMS.DisabledException", backends.ErrDenied},
		{403, "InvalidObjectState", backends.ErrUnsupported},
		{400, "InvalidArgument", backends.ErrUnsupported},
		{400, "XAmzContentSHA256Mismatch", backends.ErrUnsupported},
		{405, "MethodNotAllowed", backends.ErrUnsupported},
		{501, "NotImplemented", backends.ErrUnsupported},
		{301, "PermanentRedirect", backends.ErrNoContainer},
		{307, "TemporaryRedirect", backends.ErrNoContainer},
		{400, "InvalidBucketName", backends.ErrNoContainer},
		{404, "XAdminUserNotFound", backends.ErrDenied},
	} {
		t.Run(fmt.Sprint(row.status, row.code), func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				store, _, err := s3lease.OpenStore(s3checks.NewClient(m.layer), bucketName, nil)
				require.NoError(t, err)
				m.layer.Inject(fakestore.Always(instead(row.status, row.code)))
				_, err = store.Put(t.Context(), "job", "", []byte("{}"))
				is(t, err, row.means)
				_, err = store.Touch(t.Context(), "job", `"etag"`, []byte("{}"))
				is(t, err, row.means)
				_, err = store.Load(t.Context(), "job")
				if row.code == "NoSuchKey" {
					is(t, err, nil)
				} else {
					is(t, err, row.means)
				}
			})
		})
	}
}

func TestARetryAfterIsPassedOn(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		store, _, err := s3lease.OpenStore(s3checks.NewClient(m.layer), bucketName, nil)
		require.NoError(t, err)
		for after, want := range map[time.Duration]time.Duration{
			3 * time.Second: 3 * time.Second, -1: 0, 48 * time.Hour: 0,
		} {
			m.layer.Inject(fakestore.Always(s3.SlowDown(after)))
			_, err = store.Load(t.Context(), "job")
			is(t, err, &backends.RetryError{After: want})
		}
	})
}

// Where making a bucket is no remedy, nobody is told to.
func TestABucketThatIsElsewhereOrCannotBeIsNotToBeMade(t *testing.T) {
	for _, row := range []struct {
		status int
		code   string
		says   string
	}{
		{301, "PermanentRedirect", "the bucket is at another endpoint"},
		{307, "TemporaryRedirect", "the bucket is at another endpoint"},
		{400, "InvalidBucketName", "no bucket can have this name"},
	} {
		t.Run(row.code, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				m.layer.Inject(fakestore.Always(instead(row.status, row.code)))
				_, err := m.client(t).Acquire(t.Context(), "job", claim("holder"))
				require.ErrorIs(t, err, backends.ErrNoContainer)
				require.ErrorContains(t, err, row.says)
				require.NotContains(t, err.Error(), "make it with")
			})
		})
	}
}

func TestAMissingBucketNamesTheCommandThatMakesIt(t *testing.T) {
	for command, o := range map[string][]func(*awss3.Options){
		"`aws s3 mb s3://leases --region eu-central-1`":                                       nil,
		"`aws s3 mb s3://leases --region eu-central-1 --endpoint-url http://store.example`":   {s3checks.At(elsewhere)},
		"`aws s3 mb s3://leases --region eu-central-1 --endpoint-url http://127.0.0.1:9000/`": {s3checks.At("http://user:password@127.0.0.1:9000/")},
	} {
		t.Run(command, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				m.Vanish()
				_, err := m.client(t, o...).Acquire(t.Context(), "job", claim("holder"))
				require.ErrorIs(t, err, backends.ErrNoContainer)
				require.ErrorContains(t, err, command)
			})
		})
	}
}

func TestABucketInAnotherRegionIsNamedAsSuch(t *testing.T) {
	inModel(t, &s3.Options{Region: "us-west-2"}, func(t *testing.T, m *model) {
		_, err := m.client(t).Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrNoContainer)
		require.ErrorContains(t, err, "region us-west-2")
	})
}

// Whoever lacks a right is told which. Without s3:ListBucket, an object that does not
// exist looks like one that must not be read.
func TestMissingRights(t *testing.T) {
	for right, act := range map[string]func(*testing.T, *s3lease.Backend) error{
		"s3:GetObject":  func(t *testing.T, b *s3lease.Backend) error { _, err := b.Observe(t.Context(), "job"); return err },
		"s3:ListBucket": func(t *testing.T, b *s3lease.Backend) error { _, err := b.Observe(t.Context(), "job"); return err },
		"s3:PutObject": func(t *testing.T, b *s3lease.Backend) error {
			_, err := b.Acquire(t.Context(), "job", claim("holder"))
			return err
		},
	} {
		t.Run(right, func(t *testing.T) {
			inModel(t, &s3.Options{Without: []string{right}}, func(t *testing.T, m *model) {
				err := act(t, m.client(t))
				require.ErrorIs(t, err, backends.ErrDenied)
				require.ErrorContains(t, err, right)
			})
		})
	}
}

// With a record that exists it is not needed.
func TestWithoutListBucketALeaseThatWasUsedWorks(t *testing.T) {
	inModel(t, &s3.Options{Without: []string{"s3:ListBucket"}}, func(t *testing.T, m *model) {
		m.Overwrite("job", []byte(`{"bloblease":1,"state":"free","token":7,"nonce":"00000000000000000000000000000000"}`))
		b := m.client(t)
		require.NoError(t, b.Release(t.Context(), acquire(t, b, "job")))
	})
}

func TestCredentialsThatCannotBeHadAreADenial(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t, func(o *awss3.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("no EC2 IMDS role found")
			})
		})
		_, err := b.Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrDenied)
		require.ErrorContains(t, err, "no EC2 IMDS role found")
		require.Empty(t, m.layer.Counts())
	})
}

// Credentials come from a service of their own, such as IMDS or STS. What it answers
// is not S3's answer.
func TestAnAnswerOfTheSourceOfCredentialsIsNotTheStores(t *testing.T) {
	busy := &backends.RetryError{After: 7 * time.Second}
	for status, means := range map[int]error{
		400: backends.ErrDenied, 401: backends.ErrDenied, 403: backends.ErrDenied, 404: backends.ErrDenied, 405: backends.ErrDenied,
		408: busy, 429: busy, 500: busy, 503: busy,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.client(t, func(o *awss3.Options) { o.Credentials = refusing(status) })
				_, observing := b.Observe(t.Context(), "job")
				_, acquiring := b.Acquire(t.Context(), "job", claim("holder"))
				for _, err := range []error{observing, acquiring} {
					is(t, err, means)
					require.Equal(t, means == backends.ErrDenied, errors.Is(err, backends.ErrDenied)) //nolint:errorlint // which row it is
					require.NotErrorIs(t, err, backends.ErrUnsupported)
					require.ErrorContains(t, err, "nothing to sign with: ")
					require.ErrorContains(t, err, fmt.Sprint("StatusCode: ", status))
					require.NotContains(t, err.Error(), "S3 answers")
					require.NotContains(t, err.Error(), "s3:")
					require.NotContains(t, err.Error(), "store")
				}
				require.Empty(t, m.layer.Counts())
			})
		})
	}
}

// refusing is a source of credentials that answers with a status.
func refusing(status int) aws.CredentialsProvider {
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		answer := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"7"}}}
		return aws.Credentials{}, &smithy.OperationError{
			ServiceID: "ec2imds", OperationName: "GetMetadata",
			Err: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: answer}, Err: errors.New("request to EC2 IMDS failed")},
		}
	}))
}

// A source of credentials that hangs is like a store that does.
func TestCredentialsThatTakeTooLongAreNoDenial(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t, func(o *awss3.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
				<-ctx.Done()
				return aws.Credentials{}, ctx.Err()
			})
		})
		ctx, cancel := within(t, time.Second)
		defer cancel()
		_, err := b.Acquire(ctx, "job", claim("holder"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, backends.ErrDenied)
	})
}

func TestAnEndedContextIsItsOwnReason(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		m.layer.Inject(fakestore.Always(fakestore.Hung()))
		ctx, cancel := within(t, time.Second)
		defer cancel()
		_, err := b.Observe(ctx, "job")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		ctx, stop := context.WithCancel(t.Context())
		stop()
		_, err = b.Observe(ctx, "job")
		require.ErrorIs(t, err, context.Canceled)
		ctx, stop = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		_, err = b.Verify(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.NotContains(t, err.Error(), "StatusCode")
		require.NotContains(t, err.Error(), "RequestID")
	})
}

func TestAnswersWithoutAnETagThatCanBeACondition(t *testing.T) {
	inModel(t, &s3.Options{WeakETags: true}, func(t *testing.T, m *model) {
		_, err := m.client(t).Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrUnsupported)
	})
}

// A write whose answer lacks the ETag was applied. The read that follows tells it.
func TestAWriteThatIsAnsweredWithoutAnETagWasApplied(t *testing.T) {
	inModel(t, &s3.Options{NoETagOnPut: true}, func(t *testing.T, m *model) {
		b := m.client(t, s3checks.At(elsewhere))
		g := acquire(t, b, "job")
		for range 3 {
			before := count(m.layer)
			var err error
			g, err = b.Renew(t.Context(), g)
			require.NoError(t, err)
			require.Equal(t, backendtest.Count{Reads: 1, Writes: 1}, count(m.layer).Since(before))
		}
		require.NoError(t, b.Release(t.Context(), g))
	})
}

// So it is no proof that conditions are honoured either.
func TestAnAnswerWithoutAnETagSettlesNoDoubt(t *testing.T) {
	for name, first := range map[string]fakestore.Fault{"NoETag": {Status: 200}, "Weak": {Status: 200, Header: http.Header{"Etag": {`W/"e"`}}}} {
		t.Run(name, func(t *testing.T) {
			inModel(t, &s3.Options{IgnoreIfNoneMatch: true}, func(t *testing.T, m *model) {
				b := m.client(t, s3checks.At(elsewhere))
				m.inject(s3.PutObject, fakestore.Fault{}, first)
				_, err := b.Acquire(t.Context(), "job", claim("holder"))
				require.NoError(t, err)
				_, err = b.Acquire(t.Context(), "other", claim("holder"))
				require.ErrorIs(t, err, backends.ErrUnsupported)
			})
		})
	}
}

// A store that does not have conditional writes says so at the first one.
func TestAStoreWithoutConditionalWrites(t *testing.T) {
	inModel(t, &s3.Options{Unconditional: true}, func(t *testing.T, m *model) {
		_, err := m.client(t, s3checks.At(elsewhere)).Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.Empty(t, m.Keys())
	})
}

// Every write has a condition: a bucket policy may demand it.
func TestEveryWriteHasACondition(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		unconditional := 0
		m.layer.Inject(func(r *http.Request) fakestore.Fault {
			if r.Method == http.MethodPut && r.Header.Get("If-Match")+r.Header.Get("If-None-Match") == "" || r.Method == http.MethodDelete {
				unconditional++
			}
			return fakestore.Fault{}
		})
		b := m.client(t)
		g, err := b.Renew(t.Context(), acquire(t, b, "job"))
		require.NoError(t, err)
		g.Done = "all"
		require.NoError(t, b.Release(t.Context(), g))
		require.NoError(t, b.Break(t.Context(), "job", ""))
		require.Zero(t, unconditional)
	})
}

// A large object at the key is not read to its end.
func TestAForeignObjectIsLeftAsItIs(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		for name, body := range map[string][]byte{"empty": {}, "page": []byte("<html>"), "large": make([]byte, 3<<20)} {
			m.Overwrite(name, body)
			_, err := m.client(t).Acquire(t.Context(), name, claim("holder"))
			require.ErrorIs(t, err, backends.ErrForeign, name)
			look, _ := m.Look(name)
			require.Equal(t, len(body), len(look.Body))
		}
	})
}

// In a versioned bucket every write makes a version, and a deleted object is hidden.
func TestAVersionedBucket(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		m.KeepVersions()
		b := m.client(t)
		g := acquire(t, b, "job")
		next, err := b.Renew(t.Context(), g)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		m.Delete("job")
		_, err = b.Renew(t.Context(), next)
		require.ErrorIs(t, err, backends.ErrLost)
		other := acquire(t, m.client(t), "job")
		require.Greater(t, other.Token, g.Token)
		look, _ := m.Look("job")
		require.Equal(t, 4, look.Versions)
	})
}
