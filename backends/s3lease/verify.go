package s3lease

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
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
// one of net/http; another has the connections that it has.
func (s *store) Fresh() (cas.Store, func()) {
	client := freshClient(s.client.Options().HTTPClient)
	if client == nil {
		return s, func() {}
	}
	fresh := *s
	fresh.client = s3.New(s.client.Options(), func(o *s3.Options) { o.HTTPClient = client })
	return &fresh, client.CloseIdleConnections
}

// freshClient returns a client like c, but without its connections; nil if it cannot
// be known what c is like.
func freshClient(c s3.HTTPClient) *http.Client {
	switch c := c.(type) {
	case *awshttp.BuildableClient:
		return &http.Client{Transport: c.GetTransport(), Timeout: c.GetTimeout(), CheckRedirect: stay}
	case *http.Client:
		fresh := *c
		transport := c.Transport
		if transport == nil {
			transport = http.DefaultTransport
		}
		if t, ok := transport.(*http.Transport); ok {
			fresh.Transport = t.Clone()
			return &fresh
		}
	}
	return nil
}

// stay follows no redirect.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Right implements cas.Verifiable.
func (s *store) Right(r cas.Right) string {
	bucket, objects := "arn:aws:s3:::"+s.bucket, "/"
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

// Inspect implements cas.Verifiable: it tries a deletion that must be refused. The
// backend deletes nothing, but its users may.
func (s *store) Inspect(ctx context.Context, name, _ string) ([]backends.Check, error) {
	c := backends.Check{Name: "refuse delete"}
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{
		Bucket: &s.bucket, Key: s.key(name), IfMatch: aws.String(noETag),
	}, s.each)
	if err != nil {
		err = s.explain(writing, err)
	}
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
	case err != nil:
		c.Result, c.Saw = backends.Passed, fmt.Sprintf("a deletion under a condition is refused: %v", err)
	default:
		c.Saw = "a deletion of an older version is answered with yes, but deletes nothing"
	}
	return []backends.Check{c}, nil
}

// noETag is that of no record.
const noETag = `"00000000000000000000000000000000"`
