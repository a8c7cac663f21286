package s3lease_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
)

const (
	bucketName = "leases"
	elsewhere  = "http://store.example" // an endpoint that is not AWS's
	ttl        = 20 * time.Second
)

// A model is a model of S3 behind a network, reached through the real SDK.
type model struct {
	*s3.Bucket
	service *s3.Service
	layer   *fakestore.Layer
	dates   *redating
}

// newModel makes one with an empty bucket. It ends with the test.
func newModel(t testing.TB, o *s3.Options) *model {
	return newModelAt(t, time.Now, o)
}

func newModelAt(t testing.TB, now func() time.Time, o *s3.Options) *model {
	service := s3.New(now, o)
	m := &model{service.Bucket(bucketName), service, fakestore.New(service, &fakestore.Options{Kind: s3.Kind}), nil}
	m.dates = &redating{inner: m.layer}
	t.Cleanup(m.layer.Close)
	m.Create()
	return m
}

// inModel runs a test in a bubble with a model.
func inModel(t *testing.T, o *s3.Options, f func(*testing.T, *model)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newModel(t, o)) })
}

// client returns a backend that knows nothing of what others did.
func (m *model) client(t testing.TB, o ...func(*awss3.Options)) *s3lease.Backend {
	t.Helper()
	return m.open(t, nil, o...)
}

func (m *model) open(t testing.TB, own *s3lease.Options, o ...func(*awss3.Options)) *s3lease.Backend {
	t.Helper()
	b, err := s3lease.New(s3checks.NewClient(m.dates, o...), bucketName, own)
	require.NoError(t, err)
	return b
}

// inject does these faults to the requests of one kind, in this order.
func (m *model) inject(o s3.Operation, faults ...fakestore.Fault) {
	m.layer.Inject(fakestore.Each(faults...).Where(s3.Is(o)))
}

// direct is a client on which no faults befall, and which is not counted.
func (m *model) direct(t testing.TB, o ...func(*awss3.Options)) *awss3.Client {
	layer := fakestore.New(m.service, nil)
	t.Cleanup(layer.Close)
	return s3checks.NewClient(layer, o...)
}

// count splits the requests of a layer into those that read and those that may
// write.
func count(l *fakestore.Layer) (c backendtest.Count) {
	for kind, n := range l.Counts() {
		switch s3.Operation(kind) {
		case s3.GetObject, s3.HeadObject:
			c.Reads += n
		default:
			c.Writes += n
		}
	}
	return c
}

// schedule makes HTTP's faults of the suite's.
func schedule(s backendtest.Schedule) fakestore.Schedule {
	if s == nil {
		return nil
	}
	return func(r *http.Request) fakestore.Fault {
		op := backendtest.Put
		if r.Method == http.MethodGet {
			op = backendtest.Load
		}
		return translate(r, s(backendtest.Request{Op: op, Name: s3.Key(r)}))
	}
}

func translate(r *http.Request, f backendtest.Fault) fakestore.Fault {
	answer := fakestore.Fault{}
	if f.Err != nil {
		answer = said(r, f.Err)
	}
	answer.Before, answer.Dropped, answer.Again = f.Before, f.Dropped, f.Again
	answer.After, answer.Stale, answer.Hang = f.After, f.Stale, f.Hang
	return answer
}

// said is what S3 says, or does not, when a Store would answer err.
func said(_ *http.Request, err error) fakestore.Fault {
	var retry *backends.RetryError
	switch {
	case errors.As(err, &retry):
		return s3.SlowDown(retry.After)
	case errors.Is(err, cas.ErrConflict):
		return saying(http.StatusPreconditionFailed, "PreconditionFailed")
	case errors.Is(err, cas.ErrVanished):
		return saying(http.StatusNotFound, "NoSuchKey")
	case errors.Is(err, backends.ErrDenied):
		return saying(http.StatusForbidden, "AccessDenied")
	case errors.Is(err, backends.ErrNoContainer):
		return saying(http.StatusNotFound, "NoSuchBucket")
	case errors.Is(err, backends.ErrUnsupported):
		return saying(http.StatusNotImplemented, "NotImplemented")
	default:
		return fakestore.LostAfter()
	}
}

// saying answers with a code, after the store has acted.
func saying(status int, code string) fakestore.Fault {
	return s3.Coded(fakestore.RefusedAfter(status, -1), code)
}

// instead answers with a code in the store's place.
func instead(status int, code string) fakestore.Fault {
	return s3.Coded(fakestore.Refused(status, -1), code)
}

// redating is a transport that changes the dates of answers.
type redating struct {
	inner  http.RoundTripper
	header http.Header // added to every answer
	mu     sync.Mutex
	lie    func(name string, modified, now time.Time) (time.Time, time.Time)
}

func (d *redating) redate(lie func(name string, modified, now time.Time) (time.Time, time.Time)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lie = lie
}

func (d *redating) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.inner.RoundTrip(r)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for name, values := range d.header {
		resp.Header[name] = values
	}
	if d.lie == nil {
		return resp, nil
	}
	modified, now := d.lie(strings.TrimPrefix(r.URL.Path, "/"), dateIn(resp, "Last-Modified"), dateIn(resp, "Date"))
	setDate(resp, "Last-Modified", modified)
	setDate(resp, "Date", now)
	return resp, nil
}

func dateIn(resp *http.Response, name string) time.Time {
	t, err := http.ParseTime(resp.Header.Get(name))
	if err != nil {
		return time.Time{}
	}
	return t
}

// setDate sets a date, unless a header cannot have it.
func setDate(resp *http.Response, name string, t time.Time) {
	text := t.UTC().Format(http.TimeFormat)
	if _, err := http.ParseTime(text); t.IsZero() || err != nil {
		resp.Header.Del(name)
		return
	}
	resp.Header.Set(name, text)
}

func claim(holder string) backends.Claim { return backends.Claim{Holder: holder, TTL: ttl} }

func acquire(t testing.TB, b backends.Backend, name string) backends.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), name, claim("holder"))
	require.NoError(t, err)
	return g
}

func within(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// watch notes how ETags are spelt in conditions.
func watch(spelt *string) fakestore.Schedule {
	return func(r *http.Request) fakestore.Fault {
		if etag := r.Header.Get("If-Match"); etag != "" {
			*spelt = etag
		}
		return fakestore.Fault{}
	}
}
