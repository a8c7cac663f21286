package azurelease_test

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

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/mutex"
)

// Canaries: none of these may be printed.
const (
	sig      = "c2lnbmF0dXJlc2lnbmF0dXJlc2lnbmF0dXJlc2ln+/8="
	key      = "a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5"
	jwt      = "eyJ0eXAiOiJKV1Qi.eyJhdWQiOiJodHRwczov.c2lnbmVk"
	password = "hunter2hunter2"
)

var sas = "sv=2026-02-06&sr=c&sp=rcw&se=2027-01-01&sig=" + url.QueryEscape(sig)

// leaks are the canaries in a text, in any spelling.
func leaks(text string) (found []string) {
	lower := strings.ToLower(text)
	for _, s := range []string{sig, url.QueryEscape(sig), strings.TrimRight(sig, "="), key, jwt, password, "sig="} {
		if strings.Contains(lower, strings.ToLower(s)) {
			found = append(found, s)
		}
	}
	return found
}

// clean makes sure that nothing in the tree of an error tells a secret, however
// it is printed.
func clean(t *testing.T, err error) {
	t.Helper()
	assert.NotContains(t, err.Error(), "\n")
	assert.Less(t, len(err.Error()), 800)
	for _, e := range tree(err) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			text := fmt.Sprintf(verb, e)
			assert.Empty(t, leaks(text), "%s of a %T: %s", verb, e, text)
		}
		var response *azcore.ResponseError
		assert.False(t, errors.As(e, &response), "it holds the request")
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
func secretive(t *testing.T, endpoint string, rt http.RoundTripper) *azurelease.Backend {
	t.Helper()
	o := &container.ClientOptions{}
	o.Transport = &http.Client{Transport: rt}
	o.PerRetryPolicies = []policy.Policy{bearer{}}
	c, err := container.NewClientWithNoCredential(endpoint+"/leases?"+sas, o)
	require.NoError(t, err)
	b, err := azurelease.New(c, nil)
	require.NoError(t, err)
	return b
}

// bearer sends the other secrets along.
type bearer struct{}

func (bearer) Do(r *policy.Request) (*http.Response, error) {
	r.Raw().Header.Set("Authorization", "Bearer "+jwt)
	r.Raw().Header.Set("X-Account-Key", key)
	return r.Next()
}

// wireErrors are what transports return. Some tell more than they should.
var wireErrors = map[string]error{
	"DNS":          &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "model.blob.core.windows.net", IsNotFound: true}},
	"Refused":      &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	"Certificate":  &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "model"}},
	"Authority":    x509.UnknownAuthorityError{},
	"Handshake":    tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
	"Timeout":      context.DeadlineExceeded,
	"Cancelled":    context.Canceled,
	"URL":          &url.Error{Op: "Put", URL: "https://model/leases/job?" + sas, Err: errors.New("gone")},
	"URLInText":    fmt.Errorf("cannot reach https://model/leases/job?%s: gone", sas),
	"QueryInText":  fmt.Errorf("cannot reach /leases/job?%s: gone", sas),
	"Proxy":        fmt.Errorf("proxyconnect tcp: http://user:%s@proxy:3128 refused", password),
	"Header":       fmt.Errorf("bad header Authorization: Bearer %s", jwt),
	"Key":          fmt.Errorf("AccountName=model;AccountKey=%s;EndpointSuffix=core.windows.net", key),
	"JSON":         fmt.Errorf(`{"error":"invalid_client","client_secret": "%s"}`, password),
	"Page":         fmt.Errorf("POST https://login\n-----\nRESPONSE 401\n{\"access_token\":\"%s\"}\n-----", jwt),
	"Quoted":       fmt.Errorf("password=\"correct %s staple\"", password),
	"Escaped":      fmt.Errorf("client_secret%%3D%s", password),
	"BasicAuth":    fmt.Errorf("proxy sent Proxy-Authorization: Basic %s", password),
	"Code":         fmt.Errorf("/callback?code=%s", password),
	"Wrapped":      fmt.Errorf("roundtripper: %w", &url.Error{Op: "Get", URL: "https://model?" + sas, Err: errors.New("gone")}),
	"TwiceWrapped": &url.Error{Op: "Get", URL: "https://a?" + sas, Err: &url.Error{Op: "Get", URL: "https://b?" + sas, Err: errors.New("gone")}},
}

// answers are what servers say, and what they echo.
var answers = map[string]fakestore.Fault{
	"400":             saying(400, "InvalidQueryParameterValue", "Value for the query parameter sig is invalid: "+sig),
	"403":             saying(403, "AuthenticationFailed", "Signature did not match. String to sign used was "+sig+" sig="+url.QueryEscape(sig)),
	"401":             saying(401, "InvalidAuthenticationInfo", "Bearer "+jwt),
	"404":             saying(404, "", "/leases/job?"+sas),
	"409":             saying(409, "Sig="+sig, key),
	"500":             saying(500, "InternalError", sas),
	"503":             saying(503, "ServerBusy", sas),
	"307":             redirected("https://model.blob.core.windows.net/leases/job?" + sas),
	"307 to nowhere":  redirected("://" + sas),
	"307 to a scheme": redirected("ftp://model/?" + sas),
}

func saying(status int, code, text string) fakestore.Fault {
	f := refusal(status, code)
	f.Dropped = true
	f.Header.Set("Www-Authenticate", "Bearer "+jwt)
	f.Body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + text + "</Message></Error>"
	return f
}

func redirected(to string) fakestore.Fault { return fakestore.Redirected(to) }

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
				b := secretive(t, "https://model.blob.core.windows.net", m.layer)
				held, free := acquire(t, b, "held"), acquire(t, b, "free")
				require.NoError(t, b.Release(t.Context(), free))
				m.layer.Inject(fakestore.Always(f))
				for what, err := range everyAct(t, b, held) {
					require.Error(t, err, what)
					clean(t, err)
				}
				var log bytes.Buffer
				err := everyLog(t, b, &log)
				clean(t, err)
				require.Empty(t, leaks(log.String()), log.String())
			})
		})
	}
}

func everyAct(t *testing.T, b *azurelease.Backend, held backends.Grant) map[string]error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	errs := map[string]error{}
	var unsettled backends.Grant
	for _, name := range []string{"free", "new"} {
		var g backends.Grant
		g, errs["acquire "+name] = b.Acquire(ctx, name, claim("holder"))
		if g.Proof != nil {
			unsettled = g
		}
	}
	_, errs["observe"] = b.Observe(ctx, "held")
	_, errs["renew"] = b.Renew(ctx, held)
	errs["release"] = b.Release(ctx, held)
	held.Done = "all"
	errs["record"] = b.Release(ctx, held)
	errs["break"] = b.Break(ctx, "held", "")
	if unsettled.Proof != nil {
		errs["settle"] = b.Release(ctx, unsettled)
	}
	return errs
}

// everyLog has a mutex try in vain, and lose a lease.
func everyLog(t *testing.T, b *azurelease.Backend, log *bytes.Buffer) error {
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m, err := mutex.New(b, "free", &mutex.Options{TTL: ttl, Logger: logger})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = m.Lock(ctx)
	require.Error(t, err)
	return err
}

func TestALostLeaseLogsNoSecret(t *testing.T) {
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				var log bytes.Buffer
				logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				b := secretive(t, "https://model.blob.core.windows.net", m.layer)
				mu, err := mutex.New(b, "job", &mutex.Options{TTL: ttl, Logger: logger})
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

// The real things: sockets, resolvers and certificates.
func TestRealTransportsTellNoSecret(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	plain := httptest.NewServer(http.RedirectHandler("https://127.0.0.1:1/?"+sas, http.StatusTemporaryRedirect))
	defer plain.Close()
	for name, endpoint := range map[string]string{
		"DNS":      "https://model.blob.core.windows.invalid",
		"Refused":  "https://127.0.0.1:1/account",
		"TLS":      server.URL + "/account",
		"NoTLS":    strings.Replace(plain.URL, "http:", "https:", 1) + "/account",
		"Redirect": plain.URL + "/account",
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{DisableKeepAlives: true}
			b := secretive(t, endpoint, transport)
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
		b := secretive(t, "https://model.blob.core.windows.net", m.layer)
		m.layer.Inject(fakestore.Always(fakestore.Fault{Dropped: true, Err: wireErrors["DNS"]}))
		mu, err := mutex.New(b, "job", nil)
		require.NoError(t, err)
		_, err = mu.Lock(t.Context())
		var dns *net.DNSError
		require.ErrorAs(t, err, &dns)
		require.True(t, dns.IsNotFound)
	})
}

// A credential that has nothing to send is marked so by the SDK.
type unwilling struct{ error }

func (unwilling) NonRetriable() {}

func TestWithoutCredentialsAccessIsDenied(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		err := unwilling{fmt.Errorf("no credential:\n{\"secret\": \"%s\"}", password)}
		m.layer.Inject(fakestore.Always(fakestore.Fault{Dropped: true, Err: err}))
		_, failed := b.Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, failed, backends.ErrDenied)
		require.ErrorContains(t, failed, "`az login`", "the SDK's own advice is too long to be told")
		clean(t, failed)
	})
}

func TestNewTellsNoSecret(t *testing.T) {
	for _, endpoint := range []string{
		"https://account-secondary.blob.core.windows.net/leases?" + sas,
		"https://account.blob.core.windows.net/?" + sas,
		"https://account.blob.core.windows.net/%zz?" + sas,
		"/leases?" + sas,
	} {
		c, err := container.NewClientWithNoCredential(endpoint, nil)
		require.NoError(t, err)
		_, err = azurelease.New(c, nil)
		require.Error(t, err, endpoint)
		clean(t, err)
	}
}
