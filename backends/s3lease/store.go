package s3lease

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

type carrier = clock.Carrier

// A store is a bucket. Each method is one request, and its errors are those of
// errors.go.
type store struct {
	carrier
	client  *s3.Client
	bucket  string
	host    string // for people
	prefix  string
	remedy  string
	dialect *dialect // nil where none is needed
	each    func(*s3.Options)
}

var (
	_ cas.Store       = (*store)(nil)
	_ cas.NameChecker = (*store)(nil)
)

func newStore(c *s3.Client, bucket, prefix string, e endpoint) *store {
	s := &store{client: c, bucket: bucket, host: e.host, prefix: prefix, remedy: e.remedy, each: settings(e)}
	if !e.aws {
		s.dialect = &dialect{}
	}
	return s
}

// settings are what each call sets, whatever the client was made with.
func settings(e endpoint) func(*s3.Options) {
	return func(o *s3.Options) {
		o.Retryer = once{}
		if !e.aws {
			// Many other stores refuse the checksums that the SDK adds of its own
			// accord. On AWS they stay: a bucket with Object Lock demands them.
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
		if e.tigris {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Tigris-Consistent", "true"))
		}
	}
}

// once sends a request once: a second try would see the first one's effect, and
// answer for it. Only if the clock of this machine was so far off that the request
// was not looked at, the SDK asks again, with the time that the answer told.
type once struct{ aws.NopRetryer }

func (once) MaxAttempts() int                             { return 2 }
func (once) IsErrorRetryable(err error) bool              { return codeOf(err) == codeSkewed }
func (once) RetryDelay(int, error) (time.Duration, error) { return 0, nil }

// Load implements cas.Store. Body and ETag are of one answer.
func (s *store) Load(ctx context.Context, name string) (cas.Object, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(name)}, s.each)
	if err != nil {
		return absent(s.explain(reading, err))
	}
	defer func() { _ = out.Body.Close() }()
	o, err := answered(out.ETag, out.ResultMetadata)
	if err != nil {
		return cas.Object{}, unsupported(err.Error())
	}
	if o.Data, err = io.ReadAll(io.LimitReader(out.Body, cas.MaxRecord+1)); err != nil {
		return cas.Object{}, s.explain(reading, err)
	}
	if !o.Now.IsZero() {
		o.Modified = aws.ToTime(out.LastModified)
	}
	s.dialect.saw(name, o.Version)
	return o, nil
}

// absent makes an Object of the answer that there is none.
func absent(err error) (cas.Object, error) {
	var e *s3Error
	if errors.As(err, &e) && errors.Is(e, cas.ErrVanished) {
		return cas.Object{Now: e.date}, nil
	}
	return cas.Object{}, err
}

var (
	anything     = "*"
	contentType  = "application/json"
	cacheControl = "no-store"
)

// Put implements cas.Store. What was answered without an ETag was applied, or comes
// from somebody on the way: it is unknown.
func (s *store) Put(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	in := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: s.key(name), Body: bytes.NewReader(data),
		ContentType: &contentType, CacheControl: &cacheControl,
	}
	if version == "" {
		in.IfNoneMatch = &anything
	} else {
		in.IfMatch = aws.String(s.dialect.spell(name, version))
	}
	out, err := s.client.PutObject(ctx, in, s.each)
	if err != nil {
		err = s.explain(writing, err)
		s.dialect.heard(name, version, in.IfMatch, err)
		return cas.Object{}, err
	}
	s.dialect.heard(name, version, in.IfMatch, nil)
	return answered(out.ETag, out.ResultMetadata)
}

// Touch implements cas.Store: S3 replaces an object as a whole.
func (s *store) Touch(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
	return s.Put(ctx, name, version, data)
}

func (s *store) key(name string) *string {
	key := s.prefix + name
	return &key
}

// answered is what the headers of an answer tell of an object. An ETag that is weak
// cannot be a condition.
func answered(etag *string, m middleware.Metadata) (cas.Object, error) {
	version := aws.ToString(etag)
	if version == "" || strings.HasPrefix(version, "W/") {
		return cas.Object{}, errNoETag
	}
	o := cas.Object{Exists: true, Version: version}
	if r, ok := awsmiddleware.GetRawResponse(m).(*smithyhttp.Response); ok {
		o.Now = date(r.Header)
	}
	return o, nil
}

var errNoETag = errors.New("the answer has no strong ETag: either the store gives none, or something on the way changes it")

// date is what the store's clock showed. An answer with an age comes from a cache,
// and its date is of no use.
func date(h http.Header) time.Time {
	if h.Get("Age") != "" {
		return time.Time{}
	}
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}
