// Package redact makes of the errors of SDKs and transports something that may be
// printed: one short line, without URLs and secrets. Those of net/http print the
// URL, which may be signed; those of credential providers print whole answers.
package redact

import (
	"context"
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A plainError keeps of its causes only those that a caller may ask for.
type plainError struct {
	text   string
	causes []error
}

func (e *plainError) Error() string   { return e.text }
func (e *plainError) Unwrap() []error { return e.causes }

// Error is err, which came in place of an answer, cleaned. It still matches
// context.Canceled, context.DeadlineExceeded, and *net.DNSError; if it matches
// none of these, then otherwise.
func Error(err error, otherwise ...error) error {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	e := &plainError{text: Text(err.Error())}
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, cause) {
			e.causes = append(e.causes, cause)
		}
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		e.causes = append(e.causes, &net.DNSError{
			Err: Text(dns.Err), Name: dns.Name, IsNotFound: dns.IsNotFound, IsTimeout: dns.IsTimeout, IsTemporary: dns.IsTemporary,
		})
	}
	if len(e.causes) == 0 {
		e.causes = otherwise
	}
	return e
}

// How names are tied to values, and values quoted, also where somebody has encoded
// that for a URL, for JSON or for XML.
const (
	quote  = `(?:\\*["'` + "`" + `]|%(?:25)*2[27]|&quot;|\\+u0022)?`
	tie    = `(?:=>|[=:>]|%(?:25)*3[ade]|\\+u003[ade]|&#(?:61|x3d);)`
	naming = `(?:sig|signature|secret|passw(?:or)?d|pwd|passphrase|token|assertion|authorization|(?:\b|_)credential|cookie|access[_-]?key[_-]?id|key)s?`
)

var (
	urls    = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://\S+`)
	users   = regexp.MustCompile(`[^\s/:@"']+:[^\s/@]+@\S+`)                                                              // and passwords, before a host
	lines   = regexp.MustCompile(`(?i)\b(?:(?:proxy-)?authorization|(?:set-)?cookie)` + quote + `\s*` + tie + `[^\r\n]*`) // headers, whose values have spaces
	headers = regexp.MustCompile(`(?i)\b(bearer|basic|digest|negotiate|ntlm|sharedkey(?:lite)?|sharedaccesssignature)\s+\S+|aws4-[a-z0-9-]+\s.*`)
	names   = regexp.MustCompile(`(?i)(?:` + naming + quote + `\s*` + tie + `|--[\w-]*` + naming + `\s|[?&]code=)\s*`)
	values  = regexp.MustCompile(`^(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\\+"[^"]*"?|&quot;.*?(?:&quot;|$)|\\+u0022.*?(?:u0022|$))?\S*`)
	keyIDs  = regexp.MustCompile(`\b(AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b`)           // of AWS
	encoded = regexp.MustCompile(`\beyJ[A-Za-z0-9_.-]+|[A-Za-z0-9+/_%-]{40,}={0,2}`) // a JWT, or a key in base 64
)

const longest = 300

// Text makes one short line of text, without URLs and whatever looks like a
// secret.
func Text(text string) string {
	text = lines.ReplaceAllString(text, "…")
	text = strings.Join(strings.Fields(text), " ")
	text = urls.ReplaceAllString(text, "URL")
	text = users.ReplaceAllString(text, "…")
	text = headers.ReplaceAllString(text, "$1 …")
	text = withoutValues(text)
	text = keyIDs.ReplaceAllString(text, "…")
	text = encoded.ReplaceAllString(text, "…")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// withoutValues cuts out what a name says is a secret, with its name. It begins with
// the last: a value may have names in it.
func withoutValues(text string) string {
	for _, name := range slices.Backward(names.FindAllStringIndex(text, -1)) {
		rest := text[name[1]:]
		text = text[:name[0]] + "…" + rest[len(values.FindString(rest)):]
	}
	return text
}
