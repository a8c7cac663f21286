package redact

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secrets are ways to write one down that an SDK, a proxy or a credential helper is
// known to use. Each has the words hunter2, correct, horse, battery or dXNl in it.
var secrets = []string{
	"Proxy-Authorization: Basic dXNlcjpodW50ZXIy",
	"proxy says: Basic dXNlcjpodW50ZXIy",
	"Authorization: Bearer hunter2",
	"Authorization: hunter2",
	"sent Bearer hunter2",
	"sent SharedKey account:hunter2",
	"sent Negotiate hunter2",
	`Authorization: Digest username="joe", realm="x", nonce="hunter2", response="hunter2"`,
	`{"Authorization":["Bearer hunter2"]}`,
	"AWS4-HMAC-SHA256 Credential=hunter2/20261001/eu/s3/aws4_request, SignedHeaders=host, Signature=hunter2",
	"Cookie: a=1; session=hunter2; b=battery",
	"Set-Cookie: session=hunter2; Path=/",
	`password="correct horse battery"`,
	`password='correct horse battery'`,
	`password = "correct \"horse\" battery"`,
	`{"password": "correct horse battery", "user": "joe"}`,
	`{\"password\": \"correct horse battery\"}`,
	"credential:\n{\"secret\": \"hunter2\"}",
	"credential: {\n \"secret\" : \"correct horse\"\n}",
	"client_secret%3Dhunter2",
	"client_secret%3dhunter2&x=y",
	"client_secret%253Dhunter2",
	"%22password%22%3A%22hunter2%22",
	"Sig%3dhunter2",
	`SECRET\u003dhunter2`,
	`SECRET\\u003dhunter2`,
	"secret&#61;hunter2",
	"password=&quot;correct horse&quot;",
	`password\u003d\u0022correct horse\u0022`,
	`{"accessKey":"hunter2"}`,
	`{"SecretAccessKey":"hunter2"}`,
	"AccountName=x;AccountKey=hunter2;EndpointSuffix=y",
	"SharedAccessKey=hunter2",
	"api-key: hunter2", "api_key=hunter2", "apikey=hunter2", "x-functions-key: hunter2",
	"pwd=hunter2", "passwd: hunter2", "passphrase: hunter2",
	"/callback?code=hunter2", "/callback?state=1&code=hunter2",
	"<Password>hunter2</Password>", `<add key="x" password="hunter2"/>`,
	"--password hunter2", "--client-secret hunter2 --x",
	"joe:hunter2@proxy:3128 refused",
	"https://joe:hunter2@proxy:3128 refused",
	"see https://x/y?sig=hunter2",
	"token => hunter2",
	"id_token=hunter2", "access_tokens: hunter2", "session_token=hunter2", "SAS_TOKEN: hunter2",
	"X-Amz-Security-Token=hunter2", "X-Amz-Signature=hunter2", "X-Amz-Credential=AKIAhunter2/2026",
	"se=2027&sig=hunter2",
	"AKIAIOSFODNN7EXAMPLE has no rights",
	"AWS_ACCESS_KEY_ID=hunter2", "aws-access-key-id: hunter2", "aws_access_key_id = hunter2", `{"AccessKeyId":"hunter2"}`,
	"%22AccessKeyId%22%3A%22hunter2%22", "<AWSAccessKeyId>hunter2</AWSAccessKeyId>", "?AWSAccessKeyId=hunter2&x=y",
}

var told = []string{"hunter2", "correct", "horse", "battery", "dXNl", "AKIAIOSFODNN7EXAMPLE"}

func TestNoSecretIsTold(t *testing.T) {
	for _, s := range secrets {
		for _, text := range []string{s, "get: " + s, s + " (gone)", "a\n\t" + s + "\nb"} {
			got := Text(text)
			for _, secret := range told {
				assert.NotContains(t, got, secret, "of %q", text)
			}
			assert.NotContains(t, got, "\n")
		}
	}
}

func TestWhatIsNoSecretIsTold(t *testing.T) {
	for _, s := range []string{
		"dial tcp: lookup model.blob.core.windows.net: no such host",
		"dial tcp [::1]:443: connect: connection refused",
		"x509: certificate signed by unknown authority",
		"signal: killed",
		"status code: 403, ErrorCode: AuthorizationFailure",
		`{"code":"AuthorizationFailed"}`,
		"DefaultAzureCredential: failed to acquire a token",
		"EnvironmentCredential: missing environment variable AZURE_TENANT_ID",
		"AzureCLICredential: Azure CLI not found on path",
		"tls: first record does not look like a TLS handshake",
		"the signature does not match",
		"no token was found",
		"the AWS Access Key Id you provided does not exist in our records",
	} {
		assert.Equal(t, s, Text(s))
	}
}

func TestTextIsOneShortLine(t *testing.T) {
	got := Text("a\n b\r\n\tc " + strings.Repeat("long ", 200))
	assert.True(t, strings.HasPrefix(got, "a b c long "), got)
	assert.LessOrEqual(t, len(got), longest+len("…"))
	assert.True(t, strings.HasSuffix(got, "…"))
}

func TestAnErrorKeepsWhatItIs(t *testing.T) {
	other := errors.New("other")
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		err := Error(&url.Error{Op: "Get", URL: "https://x?sig=hunter2", Err: cause}, other)
		require.ErrorIs(t, err, cause)
		require.NotErrorIs(t, err, other)
		require.NotContains(t, err.Error(), "hunter2")
	}
	var dns *net.DNSError
	require.ErrorAs(t, Error(fmt.Errorf("x: %w", &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true})), &dns)
	require.True(t, dns.IsNotFound)
	require.ErrorIs(t, Error(errors.New("denied"), other), other)
}
