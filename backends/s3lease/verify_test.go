package s3lease_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
)

// results are what became of the checks, by name.
func results(r backends.Report) map[string]backends.Result {
	all := map[string]backends.Result{}
	for _, c := range r.Checks {
		all[c.Name] = c.Result
	}
	return all
}

func racy(share float64) func() time.Duration {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(5, 6))
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if chance.Float64() < share {
			return time.Millisecond
		}
		return 0
	}
}

// Every store that is like S3 where it matters passes, S3 included.
func TestVerifyPassesWhatKeepsItsWord(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(t, &k.Options)
				if k.versioned {
					m.KeepVersions()
				}
				report, err := m.open(t, &k.own, k.client...).Verify(t.Context())
				require.NoError(t, err, report)
				for _, c := range report.Checks {
					want := backends.Passed
					if c.Name == "race" || c.Name == "read after write" { // the transport is the model
						want = backends.Warned
					}
					require.Equal(t, want, c.Result, report)
				}
				require.True(t, report.Dates)
			})
		})
	}
}

func TestVerifyRefusesWhatDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		s3.Options
		failed []string
	}{
		"IgnoresAll": {
			s3.Options{IgnoreIfNoneMatch: true, IgnoreIfMatch: true, CreateIfMatch: true, IgnoreDeleteIfMatch: true},
			[]string{"create", "refuse create", "refuse stale", "refuse missing", "race"},
		},
		"IgnoresIfNoneMatch": {s3.Options{IgnoreIfNoneMatch: true}, []string{"create", "refuse create"}},
		"IgnoresIfMatch":     {s3.Options{IgnoreIfMatch: true}, []string{"refuse stale", "race"}},
		"CreatesUnderIfMatch": {
			s3.Options{CreateIfMatch: true}, []string{"refuse missing"},
		},
		"Races":          {s3.Options{Racy: racy(1)}, []string{"create", "race"}},
		"RacesSometimes": {s3.Options{Racy: racy(0.2)}, []string{"race"}},
		"Unconditional":  {s3.Options{Unconditional: true}, []string{"create"}},
		"WeakETags":      {s3.Options{WeakETags: true}, []string{"create"}},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, &c.Options, func(t *testing.T, m *model) {
				b := m.open(t, nil, s3checks.At(elsewhere))
				report, err := b.Verify(t.Context())
				require.ErrorIs(t, err, backends.ErrUnsupported)
				require.NotContains(t, err.Error(), "\n")
				for _, name := range c.failed {
					require.Equal(t, backends.Failed, results(report)[name], report)
					require.ErrorContains(t, err, name+": ")
				}
				_, err = b.Acquire(t.Context(), "job", claim("holder"))
				require.ErrorIs(t, err, backends.ErrUnsupported)
			})
		})
	}
}

// Without the version in the answer nobody can be told that he won.
func TestVerifyTellsThatWritesAreAnsweredWithoutAnETag(t *testing.T) {
	inModel(t, &s3.Options{NoETagOnPut: true}, func(t *testing.T, m *model) {
		report, err := m.open(t, nil, s3checks.At(elsewhere)).Verify(t.Context())
		require.Equal(t, backends.Unclear, results(report)["race"], report)
		require.ErrorContains(t, err, "no strong ETag")
		require.NotErrorIs(t, err, backends.ErrUnsupported)
	})
}

func TestVerifyWarnsOfWhatLeasesDoNotNeed(t *testing.T) {
	for name, c := range map[string]struct {
		s3.Options
		check string
	}{
		"Deletes": {s3.Options{IgnoreDeleteIfMatch: true}, "refuse delete"},
		"NoDate":  {s3.Options{NoDate: true}, "dates"},
		"Frozen":  {s3.Options{FixedModified: true}, "dates"},
		"Apart":   {s3.Options{Clocks: func() time.Duration { return time.Duration(rand.Int64N(int64(time.Minute))) }}, "dates"},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, &c.Options, func(t *testing.T, m *model) {
				report, err := m.client(t).Verify(t.Context())
				require.NoError(t, err)
				require.Equal(t, backends.Warned, results(report)[c.check], report)
				require.Equal(t, c.check != "dates", report.Dates)
			})
		})
	}
}

// The date rule on an endpoint of one's own is off until Verify has allowed it; on
// AWS it is on until Verify has found otherwise.
func TestVerifyAllowsTheDateRuleOrForbidsIt(t *testing.T) {
	for name, c := range map[string]struct {
		s3.Options
		client []func(*awss3.Options)
		before bool
		after  bool
	}{
		"Elsewhere":       {client: []func(*awss3.Options){s3checks.At(elsewhere)}, after: true},
		"ElsewhereFrozen": {Options: s3.Options{FixedModified: true}, client: []func(*awss3.Options){s3checks.At(elsewhere)}},
		"OnAWS":           {before: true, after: true},
		"OnAWSFrozen":     {Options: s3.Options{FixedModified: true}, before: true},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, &c.Options, func(t *testing.T, m *model) {
				b := m.open(t, nil, c.client...)
				takesOver := func(name string, want bool) {
					acquire(t, m.client(t), name)
					time.Sleep(time.Hour)
					_, err := b.Acquire(t.Context(), name, claim("contender"))
					if want {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, backends.ErrHeld)
					}
				}
				takesOver("before", c.before)
				_, err := b.Verify(t.Context())
				require.NoError(t, err)
				takesOver("after", c.after)
			})
		})
	}
}

// Each right of the policy is needed, and Verify names the one that is missing.
func TestVerifyNamesTheMissingRight(t *testing.T) {
	for right, want := range map[string]string{
		"s3:GetObject":  "s3:GetObject on arn:aws:s3:::leases/team/*",
		"s3:PutObject":  "s3:PutObject on arn:aws:s3:::leases/team/*",
		"s3:ListBucket": "s3:ListBucket on arn:aws:s3:::leases",
	} {
		t.Run(right[len("s3:"):], func(t *testing.T) {
			inModel(t, &s3.Options{Without: []string{right}}, func(t *testing.T, m *model) {
				_, err := m.open(t, &s3lease.Options{Prefix: "team/"}).Verify(t.Context())
				require.ErrorIs(t, err, backends.ErrDenied)
				require.ErrorContains(t, err, "the right that is missing: "+want)
			})
		})
	}
	for region, want := range map[string]string{
		"eu-central-1": "arn:aws:s3:::leases/", "cn-north-1": "arn:aws-cn:s3:::leases/", "us-gov-west-1": "arn:aws-us-gov:s3:::leases/",
		"eusc-de-east-1": "arn:aws-eusc:s3:::leases/",
	} {
		t.Run("In"+region, func(t *testing.T) {
			inModel(t, &s3.Options{Without: []string{"s3:PutObject"}}, func(t *testing.T, m *model) {
				_, err := m.client(t, s3checks.At(elsewhere), func(o *awss3.Options) { o.Region = region }).Verify(t.Context())
				require.ErrorIs(t, err, backends.ErrDenied)
				require.ErrorContains(t, err, " on "+want)
			})
		})
	}
	t.Run("ACredentialIsNone", func(t *testing.T) {
		inModel(t, nil, func(t *testing.T, m *model) {
			m.layer.Inject(fakestore.Always(s3.Denied("SignatureDoesNotMatch")))
			_, err := m.client(t).Verify(t.Context())
			require.ErrorIs(t, err, backends.ErrDenied)
			require.ErrorContains(t, err, "the secret key is not the access key's")
			require.NotContains(t, err.Error(), "the right that is missing")
		})
	})
	t.Run("DeleteObjectIsNot", func(t *testing.T) {
		inModel(t, &s3.Options{Without: []string{"s3:DeleteObject"}}, func(t *testing.T, m *model) {
			report, err := m.client(t).Verify(t.Context())
			require.NoError(t, err)
			require.Equal(t, backends.NotTried, results(report)["refuse delete"])
		})
	})
}

func TestVerifyTellsThatThereIsNoBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, nil)
		b, err := s3lease.New(s3checks.NewClient(m.dates), "missing", nil)
		require.NoError(t, err)
		report, err := b.Verify(t.Context())
		require.ErrorIs(t, err, backends.ErrNoContainer)
		require.ErrorContains(t, err, "aws s3 mb s3://missing")
		require.Contains(t, report.String(), "no leases here")
	})
}

// Who never called Verify is told by the first acquisition.
func TestTheFirstAcquisitionRefusesAStoreThatIgnoresConditions(t *testing.T) {
	inModel(t, &s3.Options{IgnoreIfNoneMatch: true, IgnoreIfMatch: true, CreateIfMatch: true}, func(t *testing.T, m *model) {
		_, err := m.client(t).Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrUnsupported)
	})
}

// Readers and writers of Verify come over connections of their own, with whatever
// HTTP client.
func TestVerifyUsesNewConnections(t *testing.T) {
	for name, client := range map[string]awss3.HTTPClient{
		"OfTheSDK":       awshttp.NewBuildableClient(),
		"OfTheSDKBuilt":  awshttp.NewBuildableClient().WithTimeout(time.Minute),
		"OfNetHTTP":      &http.Client{Transport: &http.Transport{}},
		"OfNetHTTPPlain": &http.Client{},
	} {
		t.Run(name, func(t *testing.T) {
			service := s3.New(time.Now, nil)
			service.Bucket(bucketName).Create()
			var connections atomic.Int32
			server := httptest.NewUnstartedServer(service)
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			server.Start()
			defer server.Close()
			c := s3checks.NewClient(nil, s3checks.At(server.URL), func(o *awss3.Options) { o.HTTPClient = client })
			b, err := s3lease.New(c, bucketName, nil)
			require.NoError(t, err)
			report, err := b.Verify(t.Context())
			require.NoError(t, err, report)
			require.Contains(t, report.Store, fmt.Sprintf("bucket %s at %s", bucketName, server.Listener.Addr()))
			require.GreaterOrEqual(t, int(connections.Load()), 8+16)
			require.Equal(t, backends.Passed, results(report)["race"], report)
			require.Contains(t, report.String(), "on connections of their own")
			http.DefaultClient.CloseIdleConnections()
		})
	}
}

// What wraps a transport cannot be copied. The report does not say what was not done.
func TestVerifyTellsThatATransportCannotBeCopied(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		wrapped := &http.Client{Transport: struct{ http.RoundTripper }{m.layer}}
		report, err := m.client(t, func(o *awss3.Options) { o.HTTPClient = wrapped }).Verify(t.Context())
		require.NoError(t, err)
		require.Equal(t, backends.Warned, results(report)["race"], report)
		require.Equal(t, backends.Warned, results(report)["read after write"], report)
		require.NotContains(t, report.String(), "connections of their own")
		require.Contains(t, report.String(), "the client's transport cannot be copied: verify with a plain one")
	})
}

// A store that is too busy to delete has refused nothing.
func TestVerifyDoesNotTakeABusyStoresWordForARefusedDeletion(t *testing.T) {
	for name, c := range map[string]struct {
		faults []fakestore.Fault
		want   backends.Result
	}{
		"BusyOnce":    {[]fakestore.Fault{instead(503, "SlowDown"), instead(500, "InternalError")}, backends.Passed},
		"BusyForever": {slices.Repeat([]fakestore.Fault{instead(503, "SlowDown")}, 50), backends.Warned},
		"Silent":      {slices.Repeat([]fakestore.Fault{fakestore.Hung()}, 50), backends.Warned},
		"Unknown":     {[]fakestore.Fault{instead(501, "NotImplemented")}, backends.Passed},
		"Denied":      {[]fakestore.Fault{instead(403, "AccessDenied")}, backends.NotTried},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				m.inject(s3.DeleteObject, c.faults...)
				report, err := m.client(t).Verify(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.want, results(report)["refuse delete"], report)
			})
		})
	}
}
