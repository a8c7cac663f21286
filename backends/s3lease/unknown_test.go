package s3lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
	"github.com/bloblease/bloblease/mutex"
)

// What may become of the one write of an act. The reads that follow get through.
var mishaps = map[string]fakestore.Fault{
	"RequestLost":              fakestore.LostBefore(),
	"AnswerLost":               fakestore.LostAfter(),
	"AppliedThen503":           s3.Coded(fakestore.RefusedAfter(http.StatusServiceUnavailable, -1), "SlowDown"),
	"AppliedThen500":           s3.InternalError(),
	"AppliedThen502OfAProxy":   {Status: http.StatusBadGateway, Body: "<html>bad gateway</html>"},
	"AppliedTwice":             fakestore.Twice(0),
	"AppliedTwiceLater":        fakestore.Twice(3 * time.Second),
	"AppliedTwiceAnswersLost":  {Again: []time.Duration{time.Second}, Err: fakestore.ErrReset},
	"AppliedAndCalledConflict": saying(http.StatusPreconditionFailed, "PreconditionFailed"),
	"AppliedAndCalledMissing":  saying(http.StatusNotFound, "NoSuchKey"),
	"AnsweredLate":             fakestore.DelayedAfter(3 * time.Second),
	"ArrivedLate":              fakestore.DelayedBefore(3 * time.Second),
	"Met":                      s3.Conflict("ConditionalRequestConflict"),
	"Aborted":                  s3.Conflict("OperationAborted"),
	"Throttled":                s3.SlowDown(0),
}

// again calls f once more if S3 has asked for that. One of two calls has to do.
func again(t *testing.T, f func() error) {
	t.Helper()
	err := f()
	var retry *backends.RetryError
	if errors.As(err, &retry) {
		err = f()
	}
	require.NoError(t, err)
}

// An act is a write of the backend, on a lease that is prepared for it.
type act struct {
	prepare func(*testing.T, *s3lease.Backend) backends.Grant
	run     func(context.Context, *s3lease.Backend, backends.Grant) (backends.Grant, error)
	free    bool // it leaves a free lease
}

func nothing(*testing.T, *s3lease.Backend) backends.Grant { return backends.Grant{} }

func held(t *testing.T, b *s3lease.Backend) backends.Grant { return acquire(t, b, "job") }

func released(t *testing.T, b *s3lease.Backend) backends.Grant {
	g := held(t, b)
	require.NoError(t, b.Release(t.Context(), g))
	return g
}

func acquireJob(ctx context.Context, b *s3lease.Backend, _ backends.Grant) (backends.Grant, error) {
	return b.Acquire(ctx, "job", claim("holder"))
}

var acts = map[string]act{
	"Create":  {prepare: nothing, run: acquireJob},
	"Replace": {prepare: released, run: acquireJob},
	"Renew": {prepare: held, run: func(ctx context.Context, b *s3lease.Backend, g backends.Grant) (backends.Grant, error) {
		return b.Renew(ctx, g)
	}},
	"Release": {prepare: held, free: true, run: func(ctx context.Context, b *s3lease.Backend, g backends.Grant) (backends.Grant, error) {
		return g, b.Release(ctx, g)
	}},
}

// everyAct runs a test for each act, on S3 and on a store that is not AWS's.
func everyAct(t *testing.T, f func(*testing.T, *model, *s3lease.Backend, act)) {
	for place, o := range map[string][]func(*awss3.Options){"AWS": nil, "Elsewhere": {s3checks.At(elsewhere)}} {
		for name, a := range acts {
			t.Run(place+"/"+name, func(t *testing.T) {
				inModel(t, nil, func(t *testing.T, m *model) { f(t, m, m.client(t, o...), a) })
			})
		}
	}
}

func TestEveryWriteIsResolved(t *testing.T) {
	for name, f := range mishaps {
		t.Run(name, func(t *testing.T) {
			everyAct(t, func(t *testing.T, m *model, b *s3lease.Backend, a act) {
				before := a.prepare(t, b)
				m.inject(s3.PutObject, f)
				g := before
				again(t, func() (err error) {
					g, err = a.run(t.Context(), b, g)
					return err
				})
				m.layer.Wait()
				m.settled(t, b, a, before, g)
			})
		})
	}
}

// settled makes sure that the record is what a successful act has left.
func (m *model) settled(t *testing.T, b *s3lease.Backend, a act, before, g backends.Grant) {
	t.Helper()
	r, err := m.client(t).Observe(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, g.ID, r.ID)
	require.GreaterOrEqual(t, g.Token, before.Token)
	require.Equal(t, a.free, r.State == backends.Free, "is it free?")
	if !a.free {
		_, err = b.Renew(t.Context(), g)
		require.NoError(t, err)
	}
}

// Nothing gets through after the write: it stays unknown what became of it, until the
// same process asks again. It finds its own write, and need not wait for a TTL.
func TestALaterAttemptFindsItsOwnWrite(t *testing.T) {
	for _, name := range []string{
		"RequestLost", "AnswerLost", "AppliedThen503", "AppliedThen500", "AppliedThen502OfAProxy", "AppliedTwiceAnswersLost",
		"AppliedAndCalledConflict", "AppliedAndCalledMissing", "AnsweredLate", "ArrivedLate",
	} {
		f := mishaps[name]
		t.Run(name, func(t *testing.T) {
			everyAct(t, func(t *testing.T, m *model, b *s3lease.Backend, a act) {
				before := a.prepare(t, b)
				m.layer.Inject(cut(f))
				ctx, cancel := within(t, time.Second)
				defer cancel()
				g, err := a.run(ctx, b, before)
				require.Error(t, err)
				require.NotErrorIs(t, err, backends.ErrLost)
				require.NotErrorIs(t, err, backends.ErrHeld)
				m.layer.Inject(nil)
				m.layer.Wait()
				g, err = a.run(t.Context(), b, g)
				require.NoError(t, err)
				m.settled(t, b, a, before, g)
			})
		})
	}
}

// cut does a fault to the first write. Nothing gets through after it.
func cut(f fakestore.Fault) fakestore.Schedule {
	gone := false
	return func(r *http.Request) fakestore.Fault {
		if gone {
			return fakestore.LostBefore()
		}
		if s3.Is(s3.PutObject)(r) {
			gone = true
			return f
		}
		return fakestore.Fault{}
	}
}

// The answer to a renewal arrives when another holds the lease. It was applied, when
// it was; but the holder's deadline counts from the question.
func TestARenewalAnsweredAfterANewerWrite(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		g := acquire(t, b, "job")
		m.inject(s3.PutObject, fakestore.DelayedAfter(3*ttl))
		done := make(chan error)
		go func() {
			_, err := b.Renew(t.Context(), g)
			done <- err
		}()
		time.Sleep(2 * ttl)
		other := m.client(t)
		next := acquire(t, other, "job")
		require.NoError(t, <-done, "it was applied")
		_, err := b.Renew(t.Context(), g)
		require.ErrorIs(t, err, backends.ErrLost)
		_, err = other.Renew(t.Context(), next)
		require.NoError(t, err)
	})
}

// A renewal and a release that arrive after the takeover change nothing.
func TestAWriteThatArrivesAfterANewerOne(t *testing.T) {
	for _, name := range []string{"Renew", "Release"} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b, a := m.client(t), acts[name]
				g := acquire(t, b, "job")
				m.inject(s3.PutObject, fakestore.DelayedBefore(3*ttl))
				done := make(chan error)
				go func() {
					_, err := a.run(t.Context(), b, g)
					done <- err
				}()
				time.Sleep(2 * ttl)
				other := m.client(t)
				next := acquire(t, other, "job")
				require.ErrorIs(t, <-done, backends.ErrLost)
				r, err := m.client(t).Observe(t.Context(), "job")
				require.NoError(t, err)
				require.Equal(t, next.ID, r.ID)
				require.Equal(t, backends.Held, r.State)
			})
		})
	}
}

// The answer took two seconds and was lost, the read that resolved it took one more:
// three seconds of trust are gone.
func TestTheDeadlineCountsFromTheFirstSend(t *testing.T) {
	for name, f := range map[string]fakestore.Fault{
		"Lost":     {After: 2 * time.Second, Err: fakestore.ErrReset},
		"Conflict": {After: 2 * time.Second, Status: http.StatusPreconditionFailed},
		"Broken":   {After: 2 * time.Second, Status: http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				mu, err := mutex.New(m.client(t), "job", &mutex.Options{TTL: ttl})
				require.NoError(t, err)
				m.layer.Inject(fakestore.Each(fakestore.Fault{}, f, fakestore.DelayedAfter(time.Second)))
				asked := time.Now()
				lease, err := mu.TryLock(t.Context())
				require.NoError(t, err)
				require.Equal(t, 3*time.Second, time.Since(asked))
				require.LessOrEqual(t, lease.Remaining(), ttl*98/100-3*time.Second)
				require.NoError(t, lease.Release(t.Context()))
			})
		})
	}
}

// A user's client retries, and so may what is above and below it.
func TestWhoeverRetriesForUs(t *testing.T) {
	for name, o := range map[string]func(*awss3.Options){
		"TheSDK": func(o *awss3.Options) { o.Retryer = retry.NewStandard(quickly) },
		"TheSDKWithMoreAttempts": func(o *awss3.Options) {
			o.RetryMaxAttempts, o.RetryMode = 7, aws.RetryModeAdaptive
		},
		"AMiddleware": func(o *awss3.Options) {
			o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
				return s.Deserialize.Add(repeating{}, middleware.After)
			})
		},
		"ATransport": func(o *awss3.Options) { o.HTTPClient = &http.Client{Transport: insisting{o.HTTPClient.Do}} },
	} {
		for what, f := range map[string]fakestore.Fault{"AnswerLost": fakestore.LostAfter(), "RequestLost": fakestore.LostBefore(), "Broken": s3.InternalError()} {
			t.Run(name+"/"+what, func(t *testing.T) {
				for act, a := range acts {
					t.Run(act, func(t *testing.T) {
						inModel(t, nil, func(t *testing.T, m *model) {
							b := m.client(t, o)
							before := a.prepare(t, b)
							m.inject(s3.PutObject, f)
							g, err := a.run(t.Context(), b, before)
							require.NoError(t, err)
							m.settled(t, b, a, before, g)
						})
					})
				}
			})
		}
	}
}

func quickly(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond }

// The SDK would send each of these up to seven times.
func TestEachCallIsOneRequestThoughTheClientRetries(t *testing.T) {
	for name, f := range map[string]fakestore.Fault{
		"Lost": fakestore.LostBefore(), "Broken": s3.InternalError(), "Busy": s3.SlowDown(0), "Timeout": {Status: http.StatusGatewayTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				store, _, err := s3lease.OpenStore(s3checks.NewClient(m.layer, func(o *awss3.Options) { o.RetryMaxAttempts = 7 }), bucketName, nil)
				require.NoError(t, err)
				m.layer.Inject(fakestore.Always(f))
				_, err = store.Load(t.Context(), "job")
				require.Error(t, err)
				_, err = store.Put(t.Context(), "job", "", []byte("{}"))
				require.Error(t, err)
				_, err = store.Touch(t.Context(), "job", `"etag"`, []byte("{}"))
				require.Error(t, err)
				require.Equal(t, map[string]int{string(s3.GetObject): 1, string(s3.PutObject): 2}, m.layer.Counts())
			})
		})
	}
}

// repeating is a middleware below the SDK's own that sends again what failed.
type repeating struct{}

func (repeating) ID() string { return "Repeating" }

func (repeating) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, m middleware.Metadata, err error,
) {
	for range 3 {
		out, m, err = next.HandleDeserialize(ctx, in)
		resp, answered := out.RawResponse.(*smithyhttp.Response)
		if err == nil && answered && resp.StatusCode < http.StatusInternalServerError {
			break
		}
		if err := in.Request.(*smithyhttp.Request).RewindStream(); err != nil {
			return out, m, err
		}
	}
	return out, m, err
}

// insisting is a transport that sends again what failed.
type insisting struct {
	do func(*http.Request) (*http.Response, error)
}

func (i insisting) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for range 3 {
		next := r.Clone(r.Context())
		next.Body, next.RequestURI = io.NopCloser(bytes.NewReader(body)), ""
		if resp, err = i.do(next); err == nil && resp.StatusCode < http.StatusInternalServerError {
			return resp, nil
		}
	}
	return resp, fmt.Errorf("in vain: %w", err)
}
