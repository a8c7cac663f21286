package s3lease

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
)

var _ cas.Verifiable = (*store)(nil)

// Describe implements cas.Verifiable.
func (s *store) Describe() string {
	host := s.host
	if u, err := url.Parse(aws.ToString(s.client.Options().BaseEndpoint)); err == nil && u.Host != "" {
		host = u.Host // with the port, and without what else may be in it
	}
	return fmt.Sprintf("bucket %s at %s, prefix %q", s.bucket, host, s.prefix)
}

// Fresh implements cas.Verifiable. It works for the SDK's own HTTP client, and for
// one of net/http, but not for one whose transport is wrapped.
func (s *store) Fresh() (cas.Store, func()) {
	client, transport := freshClient(s.client.Options().HTTPClient)
	if client == nil {
		return nil, nil
	}
	transport.WriteBufferSize = smallBuffer
	client.Transport = hesitant{transport, clock.Of(s)}
	fresh := *s
	fresh.client = s3.New(s.client.Options(), func(o *s3.Options) { o.HTTPClient = client })
	return &fresh, transport.CloseIdleConnections
}

// freshClient returns a client like c, but without its connections; nil if it cannot
// be known what c is like.
func freshClient(c s3.HTTPClient) (*http.Client, *http.Transport) {
	switch c := c.(type) {
	case *awshttp.BuildableClient:
		return &http.Client{Timeout: c.GetTimeout(), CheckRedirect: stay}, c.GetTransport()
	case *http.Client:
		transport := c.Transport
		if transport == nil {
			transport = http.DefaultTransport
		}
		if t, ok := transport.(*http.Transport); ok {
			fresh := *c
			return &fresh, t.Clone()
		}
	}
	return nil, nil
}

// stay follows no redirect.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// A hesitant transport sends all of a body but the last byte, and that a little
// later. A store that judges a condition when a request begins, and obeys it when it
// ends, has judged all that come at once by then: what would else show in one round
// of twenty shows in each.
type hesitant struct {
	*http.Transport
	clock clock.Clock
}

const (
	hesitation = 30 * time.Millisecond
	// What is sent waits in a buffer, which is to be full before the last byte.
	smallBuffer = 64
)

func (h hesitant) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength <= 1 {
		return h.Transport.RoundTrip(r)
	}
	later := r.WithContext(r.Context())
	later.Body = &hesitantBody{r.Body, r.ContentLength - 1, r.Context(), h.clock}
	later.GetBody = nil
	return h.Transport.RoundTrip(later)
}

type hesitantBody struct {
	io.ReadCloser
	first int64 // bytes before the pause
	ctx   context.Context
	clock clock.Clock
}

func (b *hesitantBody) Read(p []byte) (int, error) {
	if b.first == 0 {
		if err := clock.Sleep(b.ctx, b.clock, hesitation); err != nil {
			return 0, err
		}
		return b.ReadCloser.Read(p)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.first)])
	b.first -= int64(n)
	return n, err
}

// Right implements cas.Verifiable.
func (s *store) Right(r cas.Right, denial error) string {
	var e *s3Error
	if !errors.As(denial, &e) || meanings[e.code] != nil { // it says itself what is wrong
		return ""
	}
	bucket, objects := "arn:"+partition(s.client.Options().Region)+":s3:::"+s.bucket, "/"
	if strings.HasPrefix(s.bucket, "arn:") { // of an access point
		bucket, objects = s.bucket, "/object/"
	}
	objects = bucket + objects + s.prefix + "*"
	switch r {
	case cas.RightToRead:
		return "s3:GetObject on " + objects
	case cas.RightToFind:
		return "s3:ListBucket on " + bucket
	case cas.RightToCreate:
		return "s3:PutObject on " + objects
	default:
		return "s3:PutObject with If-Match on " + objects + ", or kms:GenerateDataKey and kms:Decrypt on the bucket's key"
	}
}

// partition is the part of AWS that a region is in.
func partition(region string) string {
	for prefix, name := range map[string]string{"cn-": "aws-cn", "us-gov-": "aws-us-gov", "eusc-": "aws-eusc"} {
		if strings.HasPrefix(region, prefix) {
			return name
		}
	}
	return "aws"
}

// Inspect implements cas.Verifiable: it tries a deletion that must be refused. The
// backend deletes nothing, but its users may.
func (s *store) Inspect(ctx context.Context, name, _ string) ([]backends.Check, error) {
	c := backends.Check{Name: "refuse delete"}
	err := s.deleteStale(ctx, name)
	o, lookErr := s.Load(ctx, name)
	switch {
	case lookErr != nil:
		c.Saw = fmt.Sprintf("the store did not answer: %v", lookErr)
	case !o.Exists:
		c.Result, c.Saw = backends.Warned, "it deletes an object in a version that it does not have (If-Match is ignored)"
		c.Means = "nothing for leases, which are never deleted"
		c.Do = "do not build anything on conditional deletions in this store"
	case errors.Is(err, backends.ErrDenied):
		c.Saw = "these credentials may not delete, and need not"
	case errors.Is(err, cas.ErrConflict) || errors.Is(err, cas.ErrVanished):
		c.Result, c.Saw = backends.Passed, "a deletion of an older version is refused"
	case err != nil && !errors.Is(err, backends.ErrUnsupported):
		c.Result, c.Saw = backends.Warned, fmt.Sprintf("the store has not decided on a deletion: %v", err)
		c.Means = "nothing for leases, which are never deleted"
		c.Do = "verify again if you want to know"
	case err != nil:
		c.Result, c.Saw = backends.Passed, fmt.Sprintf("a deletion under a condition is refused: %v", err)
	default:
		c.Saw = "a deletion of an older version is answered with yes, but deletes nothing"
	}
	return []backends.Check{c}, nil
}

const (
	deletions  = 5 // times that one is asked for, if the store is busy or silent
	patience   = 10 * time.Second
	deletePace = 500 * time.Millisecond
)

// deleteStale asks to delete an object in a version that it does not have, until the
// store has decided.
func (s *store) deleteStale(ctx context.Context, name string) (err error) {
	for range deletions {
		err = s.deleteStaleOnce(ctx, name)
		if err == nil || decided(err) || clock.Sleep(ctx, clock.Of(s), deletePace) != nil {
			break
		}
	}
	return err
}

func (s *store) deleteStaleOnce(ctx context.Context, name string) error {
	ctx, cancel := clock.Of(s).WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{
		Bucket: &s.bucket, Key: s.key(name), IfMatch: aws.String(noETag),
	}, s.each)
	if err != nil {
		return s.explain(writing, err)
	}
	return nil
}

// decided reports whether an error is the store's last word.
func decided(err error) bool {
	for _, word := range []error{cas.ErrConflict, cas.ErrVanished, backends.ErrDenied, backends.ErrUnsupported} {
		if errors.Is(err, word) {
			return true
		}
	}
	return false
}

// noETag is that of no record.
const noETag = `"00000000000000000000000000000000"`
