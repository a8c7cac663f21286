package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
)

// shortest is the TTL of the conformance tests here: long enough that a machine that is
// busy with something else does not lose a lease; and that the dates of this store,
// which may be off by three seconds, can be caught lying within one.
func shortest() time.Duration { return time.Duration(times(3, 10)) * time.Second }

// quick are the checks that do not wait for leases to run out. The others are for the
// proof.
var quick = []string{
	"ATermIsAcquiredRenewedAndReleased", "TheGrantTellsOfTheTerm", "WhatIsHeldIsNotGranted",
	"ActsTakeTheRequestsOfTheBudget", "APollIsOneReadAndNoWrite",
	"DoneIsRecordedAndCarriedForward", "MetaIsShownForTheWholeTerm", "UnknownFieldsAreCarriedForward", "AForeignEditDoesNotEndTheTerm",
	"AnAbandonedAcquisitionIsTakenOverAtOnceByItsClient", "AnUnknownAcquisitionIsNoSuccess",
	"ARefusedReleaseIsResolved", "AThrottledWriteThatWasAppliedIsFound", "RefusalsPassThroughAndEndNothing",
	"WhatIsNoRecordIsForeignAndStays", "ADamagedRecordIsForeignAndStays",
	"BreakFreesAndEndsTheTerm", "AClientIsSafeForConcurrentUse",
}

// busy are the checks that keep the servers busy. They do not run beside others, for
// which a second matters.
var busy = []string{
	"OneWinnerOfMany", "OneWinnerOfManyOnOneClient", "AClientIsSafeForConcurrentUse", "NamesThatDifferAreDifferentLeases",
	"WhatIsNoRecordIsForeignAndStays", "ADamagedRecordIsForeignAndStays",
}

func TestConformance(t *testing.T) {
	for _, s := range versitygws(t) {
		t.Run(s.name, func(t *testing.T) {
			s.need(t, createGate, replaceGate)
			backendtest.Run(t, backendtest.Harness{Open: func(t *testing.T) *backendtest.World {
				name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
				if !proving() && !slices.Contains(quick, name) {
					t.Skip("waits in real time: set " + prove + "=1")
				}
				if name == "NamesThatDifferAreDifferentLeases" {
					t.Skipf("NOT PROVEN on %s, which keeps objects as files: no name can be a directory of another", s.name)
				}
				if !slices.Contains(busy, name) {
					t.Parallel()
				}
				return newWorld(t, s)
			}})
		})
	}
}

// A lease whose name is a directory of another's cannot be kept there. Its acquisition
// fails at once, and says why.
func TestANameThatIsADirectoryOfAnotherIsRefused(t *testing.T) {
	s := twoVersitygw(t)
	b := s.backend(t, s.bucket(t))
	claim := backends.Claim{Holder: "holder", TTL: time.Minute}
	_, err := b.Acquire(t.Context(), "job", claim)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), "job/part", claim)
	require.ErrorIs(t, err, backends.ErrUnsupported)
	require.ErrorContains(t, err, "ObjectParentIsFile")
	_, err = b.Acquire(t.Context(), "other/part", claim)
	require.NoError(t, err)
	_, err = b.Acquire(t.Context(), "other", claim)
	require.ErrorIs(t, err, backends.ErrUnsupported, err)
}

// A world is a bucket behind a network that loses and repeats requests.
type world struct {
	t      *testing.T
	bucket string
	direct *awss3.Client
	layer  *fakestore.Layer
}

func newWorld(t *testing.T, s *store) *backendtest.World {
	w := &world{t: t, bucket: s.bucket(t), direct: s.client(t)}
	target, err := url.Parse(address)
	require.NoError(t, err)
	wires := s.transport()
	t.Cleanup(wires.CloseIdleConnections)
	w.layer = fakestore.New(&httputil.ReverseProxy{
		Transport: wires,
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host },
	}, &fakestore.Options{Kind: func(r *http.Request) string { return r.Method }})
	t.Cleanup(w.layer.Close)
	dates := &redating{inner: w.layer, bucket: w.bucket}
	// The SDK would sign with the time that lying dates tell.
	client := awss3.New(s.over(dates).Options(), func(o *awss3.Options) { o.DisableClockSkewCorrection = true })
	return &backendtest.World{
		New: func() backends.Backend {
			b, err := s3lease.New(client, w.bucket, &s3lease.Options{TrustDates: true})
			require.NoError(t, err)
			return patient{b}
		},
		Count:      w.count,
		Faults:     func(f backendtest.Schedule) { w.layer.Inject(w.schedule(f)) },
		Redate:     dates.redate,
		Read:       w.read,
		Overwrite:  w.overwrite,
		Delete:     w.remove,
		Annotate:   w.annotate,
		Annotation: w.annotation,
		Budget:     budget(),
		Watching: func(record, own time.Duration) backendtest.Window {
			d := max(record, own) + max(record, own)/100
			return backendtest.Window{NotBefore: d, By: d}
		},
		FirstLook: func(record, own time.Duration) backendtest.Window {
			d := max(record, own) + max(record, own)/50 + 2*time.Second
			// Ages are whole seconds: what is a little more than one is two.
			return backendtest.Window{NotBefore: d, By: d + 3*time.Second}
		},
	}
}

func budget() backendtest.Budget {
	b := backendtest.CAS
	b.Once = backendtest.Count{Writes: 1}
	return b
}

// patient is a backend whose leases do not end while a busy machine looks away.
type patient struct{ *s3lease.Backend }

func (p patient) Limits() backends.Limits {
	l := p.Backend.Limits()
	l.MinTTL = shortest()
	return l
}

func (p patient) Acquire(ctx context.Context, name string, c backends.Claim) (backends.Grant, error) {
	if err := c.Check(p.Limits()); err != nil {
		return backends.Grant{}, err
	}
	return p.Backend.Acquire(ctx, name, c)
}

// CheckName refuses what is no name of a file.
func (p patient) CheckName(name string) error {
	const longest = 255
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > longest {
			return fmt.Errorf("a part of it has %d bytes", len(part))
		}
	}
	return p.Backend.CheckName(name)
}

func (w *world) count() (c backendtest.Count) {
	for method, n := range w.layer.Counts() {
		if method == http.MethodGet {
			c.Reads += n
		} else {
			c.Writes += n
		}
	}
	return c
}

func (w *world) read(name string) []byte {
	out, err := w.direct.GetObject(context.Background(), &awss3.GetObjectInput{Bucket: &w.bucket, Key: &name})
	if err != nil {
		return nil
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	require.NoError(w.t, err)
	return data
}

func (w *world) overwrite(name string, data []byte) error {
	_, err := w.direct.PutObject(context.Background(), &awss3.PutObjectInput{Bucket: &w.bucket, Key: &name, Body: bytes.NewReader(data)})
	return err
}

func (w *world) remove(name string) error {
	_, err := w.direct.DeleteObject(context.Background(), &awss3.DeleteObjectInput{Bucket: &w.bucket, Key: &name})
	return err
}

const note = "x-note"

func (w *world) annotate(name, text string) error {
	fields := map[string]any{}
	if err := json.Unmarshal(w.read(name), &fields); err != nil {
		return err
	}
	fields[note] = text
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return w.overwrite(name, data)
}

func (w *world) annotation(name string) string {
	fields := map[string]any{}
	_ = json.Unmarshal(w.read(name), &fields) // then there is none
	return fmt.Sprint(fields[note])
}

// schedule makes HTTP's faults of the suite's.
func (w *world) schedule(s backendtest.Schedule) fakestore.Schedule {
	if s == nil {
		return nil
	}
	return func(r *http.Request) fakestore.Fault {
		op := backendtest.Put
		if r.Method == http.MethodGet {
			op = backendtest.Load
		}
		f := s(backendtest.Request{Op: op, Name: strings.TrimPrefix(r.URL.Path, "/"+w.bucket+"/")})
		answer := fakestore.Fault{}
		if f.Err != nil {
			answer = said(f.Err)
		}
		answer.Before, answer.Dropped, answer.Again = f.Before, f.Dropped, f.Again
		answer.After, answer.Stale, answer.Hang = f.After, f.Stale, f.Hang
		return answer
	}
}

// said is what S3 says, or does not, when a Store would answer err.
func said(err error) fakestore.Fault {
	var retry *backends.RetryError
	if errors.As(err, &retry) {
		return s3.SlowDown(retry.After)
	}
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{cas.ErrConflict, http.StatusPreconditionFailed, "PreconditionFailed"},
		{cas.ErrVanished, http.StatusNotFound, "NoSuchKey"},
		{backends.ErrDenied, http.StatusForbidden, "AccessDenied"},
		{backends.ErrNoContainer, http.StatusNotFound, "NoSuchBucket"},
		{backends.ErrUnsupported, http.StatusNotImplemented, "NotImplemented"},
	} {
		if errors.Is(err, c.err) {
			return s3.Coded(fakestore.RefusedAfter(c.status, -1), c.code)
		}
	}
	return fakestore.LostAfter()
}

// redating is a transport that changes the dates of answers.
type redating struct {
	inner  http.RoundTripper
	bucket string
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
	if err != nil || d.lie == nil {
		return resp, err
	}
	dates := [2]string{"Last-Modified", "Date"}
	modified, now := d.lie(strings.TrimPrefix(r.URL.Path, "/"+d.bucket+"/"), dateOf(resp, dates[0]), dateOf(resp, dates[1]))
	for i, t := range []time.Time{modified, now} {
		resp.Header.Del(dates[i])
		text := t.UTC().Format(http.TimeFormat)
		if _, err := http.ParseTime(text); err == nil && !t.IsZero() { // no header has another
			resp.Header.Set(dates[i], text)
		}
	}
	return resp, nil
}

func dateOf(resp *http.Response, name string) time.Time {
	t, err := http.ParseTime(resp.Header.Get(name))
	if err != nil {
		return time.Time{}
	}
	return t
}
