package s3lease_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
	"github.com/bloblease/bloblease/mutex"
)

// Canaries: none of these may be printed.
const (
	accessKey    = "ASIAQWERTYUIOPASDFGH"
	plainKey     = "garage-key-31c2f1" // of a store that is not Amazon's
	secretKey    = "c2VjcmV0/c2VjcmV0+c2VjcmV0c2VjcmV0c2Vjcm"
	sessionToken = "IQoJb3JpZ2luX2VjEHoaCWV1LXdlc3QtMSJHMEUCIQDsession/token+ln+AAAAAAAA=="
	signature    = "fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024"
	password     = "hunter2hunter2"
)

// signed is the query of a URL, and authorized a header, of an access key.
func signed(id string) string {
	return "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" + id + "%2F20260101%2Feu-central-1%2Fs3%2Faws4_request" +
		"&X-Amz-Security-Token=" + url.QueryEscape(sessionToken) + "&X-Amz-Signature=" + signature
}

func authorized(id string) string {
	return "AWS4-HMAC-SHA256 Credential=" + id + "/20260101/eu-central-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + signature
}

var presigned, authorization = signed(accessKey), authorized(accessKey)

// leaks are the canaries in a text, in any spelling.
func leaks(text string) (found []string) {
	lower := strings.ToLower(text)
	for _, s := range []string{
		accessKey, plainKey, secretKey, url.QueryEscape(secretKey), sessionToken, url.QueryEscape(sessionToken),
		strings.TrimRight(sessionToken, "="), signature, password, "x-amz-signature", "signedheaders",
	} {
		if strings.Contains(lower, strings.ToLower(s)) {
			found = append(found, s)
		}
	}
	return found
}

// clean makes sure that nothing in the tree of an error tells a secret, however it is
// printed.
func clean(t *testing.T, err error) {
	t.Helper()
	assert.NotContains(t, err.Error(), "\n")
	assert.Less(t, len(err.Error()), 900)
	for _, e := range tree(err) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			text := fmt.Sprintf(verb, e)
			assert.Empty(t, leaks(text), "%s of a %T: %s", verb, e, text)
		}
		var response *smithyhttp.ResponseError
		assert.False(t, errors.As(e, &response), "it holds the answer, with its request")
		var operation *smithy.OperationError
		assert.False(t, errors.As(e, &operation), "it is the SDK's")
		var u *url.Error
		assert.False(t, errors.As(e, &u), "it holds the URL")
	}
}

// tree is an error with all that it wraps.
func tree(err error) []error {
	if err == nil {
		return nil
	}
	all := []error{err}
	switch e := err.(type) { //nolint:errorlint // every node is looked at
	case interface{ Unwrap() error }:
		all = append(all, tree(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, child := range e.Unwrap() {
			all = append(all, tree(child)...)
		}
	}
	return all
}

// secretive is a backend whose every secret is a canary.
func secretive(t *testing.T, rt http.RoundTripper, o ...func(*awss3.Options)) *s3lease.Backend {
	t.Helper()
	o = append(o, func(o *awss3.Options) {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey, SessionToken: sessionToken}, nil
		})
	})
	b, err := s3lease.New(s3checks.NewClient(rt, o...), bucketName, nil)
	require.NoError(t, err)
	return b
}

// wireErrors are what transports return. Some tell more than they should.
var wireErrors = telling(accessKey, telling(plainKey, map[string]error{
	"DNS":         &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "leases.s3.eu-central-1.amazonaws.com", IsNotFound: true}},
	"Refused":     &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	"Certificate": &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "model"}},
	"Authority":   x509.UnknownAuthorityError{},
	"Handshake":   tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
	"Timeout":     context.DeadlineExceeded,
	"Cancelled":   context.Canceled,
	"Proxy":       fmt.Errorf("proxyconnect tcp: http://user:%s@proxy:3128 refused", password),
	"TokenHeader": fmt.Errorf("bad header X-Amz-Security-Token: %s", sessionToken),
	"Page":        fmt.Errorf("GET http://169.254.169.254\n-----\nRESPONSE 401\n{\"Token\":\"%s\"}\n-----", sessionToken),
}))

// telling adds those that have an access key in them.
func telling(id string, to map[string]error) map[string]error {
	for name, err := range map[string]error{
		"URL":          &url.Error{Op: "Put", URL: "https://model/leases/job?" + signed(id), Err: errors.New("gone")},
		"URLInText":    fmt.Errorf("cannot reach https://model/leases/job?%s: gone", signed(id)),
		"QueryInText":  fmt.Errorf("cannot reach /leases/job?%s: gone", signed(id)),
		"Header":       fmt.Errorf("bad header Authorization: %s", authorized(id)),
		"HeaderAlone":  fmt.Errorf("net/http: invalid header field value %q", authorized(id)),
		"Environment":  fmt.Errorf("AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s", id, secretKey),
		"JSON":         fmt.Errorf(`{"AccessKeyId": "%s", "SecretAccessKey": "%s", "Token": "%s"}`, id, secretKey, sessionToken),
		"Wrapped":      fmt.Errorf("roundtripper: %w", &url.Error{Op: "Get", URL: "https://model?" + signed(id), Err: errors.New("gone")}),
		"TwiceWrapped": &url.Error{Op: "Get", URL: "https://a?" + signed(id), Err: &url.Error{Op: "Get", URL: "https://b?" + signed(id), Err: errors.New("gone")}},
	} {
		to[name+" "+id[:4]] = err
	}
	return to
}

// answers are what servers say, and what they echo.
var answers = map[string]fakestore.Fault{
	"400":             echoing(400, "InvalidArgument", "Authorization: "+authorization),
	"403":             echoing(403, "SignatureDoesNotMatch", "The request signature we calculated does not match: "+accessKey+" "+signature),
	"403 of a proxy":  echoing(403, "", authorization),
	"ExpiredToken":    echoing(400, "ExpiredToken", "The provided token has expired: "+sessionToken),
	"Code":            echoing(409, accessKey+" "+secretKey, secretKey),
	"404":             echoing(404, "NoSuchBucket", "/leases?"+presigned),
	"500":             echoing(500, "InternalError", presigned),
	"503":             echoing(503, "SlowDown", presigned),
	"NoXML":           {Dropped: true, Status: 400, Body: "<html>" + authorization},
	"BrokenXML":       {Dropped: true, Status: 400, Body: "<Error><Code>" + authorization},
	"301":             echoing(301, "PermanentRedirect", presigned),
	"307":             fakestore.Redirected("https://leases.s3.eu-west-1.amazonaws.com/job?" + presigned),
	"307 to nowhere":  fakestore.Redirected("://" + presigned),
	"307 to a scheme": fakestore.Redirected("ftp://model/?" + presigned),
	"Region":          {Dropped: true, Status: 301, Header: http.Header{"X-Amz-Bucket-Region": {secretKey}}},
	"LastModified":    {Status: 200, Header: http.Header{"Last-Modified": {authorization}, "Etag": {`"e"`}}},
	"Success":         {Status: 200, Body: authorization, Header: http.Header{"Etag": {`W/"` + secretKey + `"`}}},
}

func echoing(status int, code, text string) fakestore.Fault {
	f := s3.Coded(fakestore.Refused(status, -1), code)
	f.Header.Set("X-Echo", authorization)
	f.Body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + text + "</Message>" +
		"<AWSAccessKeyId>" + accessKey + "</AWSAccessKeyId><AccessKeyId>" + plainKey + "</AccessKeyId><StringToSign>" + authorization + "</StringToSign></Error>"
	return f
}

func faults() map[string]fakestore.Fault {
	all := map[string]fakestore.Fault{"Hung": fakestore.Hung()}
	for name, err := range wireErrors {
		all[name] = fakestore.Fault{Dropped: true, Err: err}
	}
	for name, f := range answers {
		all[name] = f
	}
	return all
}

func TestNoErrorAndNoLogTellsASecret(t *testing.T) {
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := secretive(t, m.layer)
				held, free := acquire(t, b, "held"), acquire(t, b, "free")
				require.NoError(t, b.Release(t.Context(), free))
				m.layer.Inject(fakestore.Always(f))
				for _, err := range attempts(t, b, held) {
					if err != nil {
						clean(t, err)
					}
				}
				if f.Status == http.StatusOK {
					return // a write takes it for success
				}
				var log bytes.Buffer
				clean(t, locked(t, b, &log))
				require.Empty(t, leaks(log.String()), log.String())
			})
		})
	}
}

func attempts(t *testing.T, b *s3lease.Backend, held backends.Grant) (errs []error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	note := func(err error) { errs = append(errs, err) }
	for _, name := range []string{"free", "new"} {
		g, err := b.Acquire(ctx, name, claim("holder"))
		note(err)
		if g.Proof != nil {
			note(b.Release(ctx, g))
		}
	}
	_, err := b.Observe(ctx, "held")
	note(err)
	_, err = b.Renew(ctx, held)
	note(err)
	note(b.Release(ctx, held))
	note(b.Break(ctx, "held", ""))
	_, err = b.Verify(ctx)
	note(err)
	return errs
}

// locked is why a mutex tries in vain.
func locked(t *testing.T, b *s3lease.Backend, log *bytes.Buffer) error {
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m, err := mutex.New(b, "held", &mutex.Options{TTL: ttl, Logger: logger})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = m.Lock(ctx)
	require.Error(t, err)
	return err
}

func TestALostLeaseLogsNoSecret(t *testing.T) {
	for name, f := range faults() {
		if f.Status == http.StatusOK {
			continue // a write takes it for success
		}
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				var log bytes.Buffer
				logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				mu, err := mutex.New(secretive(t, m.layer), "job", &mutex.Options{TTL: ttl, Logger: logger})
				require.NoError(t, err)
				lease, err := mu.Lock(t.Context())
				require.NoError(t, err)
				m.layer.Inject(fakestore.Always(f))
				<-lease.Done()
				synctest.Wait()
				clean(t, lease.Err())
				if err := lease.Release(t.Context()); err != nil {
					clean(t, err)
				}
				require.Contains(t, log.String(), "lease lost")
				require.Empty(t, leaks(log.String()), log.String())
			})
		})
	}
}

// Sources of credentials tell whole answers.
func TestCredentialsThatFailTellNoSecret(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		for name, told := range wireErrors {
			b := m.client(t, func(o *awss3.Options) {
				o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{}, fmt.Errorf("failed to refresh cached credentials, %w", told)
				})
			})
			_, err := b.Acquire(t.Context(), "job", claim("holder"))
			require.Error(t, err, name)
			clean(t, err)
		}
	})
}

// The real things: sockets, resolvers and certificates.
func TestRealTransportsTellNoSecret(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	plain := httptest.NewServer(http.RedirectHandler("https://127.0.0.1:1/?"+presigned, http.StatusTemporaryRedirect))
	defer plain.Close()
	for name, endpoint := range map[string]string{
		"DNS":      "https://store.invalid",
		"Refused":  "https://127.0.0.1:1",
		"TLS":      server.URL,
		"NoTLS":    strings.Replace(plain.URL, "http:", "https:", 1),
		"Redirect": plain.URL,
		"Password": "https://user:" + password + "@127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			b := secretive(t, &http.Transport{DisableKeepAlives: true}, s3checks.At(endpoint))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := b.Acquire(ctx, "job", claim("holder"))
			require.Error(t, err)
			clean(t, err)
			_, err = b.Observe(ctx, "job")
			require.Error(t, err)
			clean(t, err)
		})
	}
}

func TestAHostThatDoesNotExistIsKnownAsSuch(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		m.layer.Inject(fakestore.Always(fakestore.Fault{Dropped: true, Err: wireErrors["DNS"]}))
		mu, err := mutex.New(secretive(t, m.layer), "job", nil)
		require.NoError(t, err)
		_, err = mu.Lock(t.Context())
		var dns *net.DNSError
		require.ErrorAs(t, err, &dns)
		require.True(t, dns.IsNotFound)
	})
}

func TestNewTellsNoSecret(t *testing.T) {
	for _, endpoint := range []string{
		"https://user:" + password + "@store.example/%zz",
		"https://user:" + password + "@store.example/?" + presigned,
		"://" + presigned,
		"store.example?" + presigned,
	} {
		_, err := s3lease.New(s3checks.NewClient(nil, s3checks.At(endpoint)), bucketName, nil)
		if err != nil {
			clean(t, err)
		}
	}
}
