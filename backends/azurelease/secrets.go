package azurelease

import (
	"context"
	"errors"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/bloblease/bloblease/backends"
)

// A plainError is an error without an answer, cleaned of URLs and secrets. It
// keeps of its causes only those that a caller may ask for.
type plainError struct {
	text   string
	causes []error
}

func (e *plainError) Error() string   { return e.text }
func (e *plainError) Unwrap() []error { return e.causes }

// unanswered explains why there is no answer. The errors of net/http print the
// URL, which may hold a SAS, and those of credentials print whole answers.
func unanswered(err error) error {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	e := &plainError{text: clean(err.Error())}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			e.causes = append(e.causes, cause)
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		e.causes = append(e.causes, &net.DNSError{
			Err: clean(dns.Err), Name: dns.Name, IsNotFound: dns.IsNotFound, IsTimeout: dns.IsTimeout, IsTemporary: dns.IsTemporary,
		})
	}
	// The SDK marks what it would not retry: there are no credentials to send.
	var final interface{ NonRetriable() }
	if errors.As(err, &final) && len(e.causes) == 0 {
		e.causes = append(e.causes, backends.ErrDenied)
	}
	return e
}

var (
	urls    = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://\S+`)
	named   = regexp.MustCompile(`(?i)(sig|signature|secret|password|token|assertion|authorization|accountkey)["']?\s*[=:]\s*["']?\S+`)
	headers = regexp.MustCompile(`(?i)(bearer|sharedkey|sharedaccesssignature)\s+\S+`)
	encoded = regexp.MustCompile(`\beyJ[A-Za-z0-9_.-]+|[A-Za-z0-9+/_%-]{40,}={0,2}`) // a JWT, or a key in base 64
)

const longestText = 300

// clean makes one short line of text, without URLs and whatever looks like a
// secret.
func clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = urls.ReplaceAllString(text, "URL")
	text = headers.ReplaceAllString(text, "$1 …")
	text = named.ReplaceAllString(text, "…")
	text = encoded.ReplaceAllString(text, "…")
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return text
}
