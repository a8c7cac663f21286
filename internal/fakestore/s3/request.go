package s3

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// An Operation is a kind of request.
type Operation string

// The operations that a Service knows.
const (
	CreateBucket Operation = "create bucket"
	HeadBucket   Operation = "head bucket"
	PutObject    Operation = "put object"
	GetObject    Operation = "get object"
	HeadObject   Operation = "head object"
	DeleteObject Operation = "delete object"
)

// Kind names the operation of a request, for counting.
func Kind(r *http.Request) string {
	if kind := aim(r).kind; kind != "" {
		return string(kind)
	}
	return "unknown " + r.Method
}

// Is returns a function that recognises requests of these operations.
func Is(operations ...Operation) func(*http.Request) bool {
	return func(r *http.Request) bool {
		kind := aim(r).kind
		for _, o := range operations {
			if kind == o {
				return true
			}
		}
		return false
	}
}

// Key is the key of the object that a request is about.
func Key(r *http.Request) string { return aim(r).key }

// A target is what a request is about.
type target struct {
	kind        Operation // empty if unknown
	bucket, key string
}

// aim reads a target from a request to http://bucket.s3.example/key, or to any
// other host, http://host/bucket/key.
func aim(r *http.Request) target {
	var t target
	path := strings.TrimPrefix(r.URL.Path, "/")
	if bucket, _, virtual := strings.Cut(r.Host, ".s3."); virtual {
		t.bucket, t.key = bucket, path
	} else {
		t.bucket, t.key, _ = strings.Cut(path, "/")
	}
	if t.bucket == "" || !plainQuery(r.URL.Query()) {
		return t
	}
	if t.key == "" {
		t.kind = map[string]Operation{"PUT": CreateBucket, "HEAD": HeadBucket}[r.Method]
	} else {
		t.kind = map[string]Operation{"PUT": PutObject, "GET": GetObject, "HEAD": HeadObject, "DELETE": DeleteObject}[r.Method]
	}
	return t
}

// plainQuery reports whether a query only says what the SDK calls the operation.
func plainQuery(q url.Values) bool {
	for name := range q {
		if name != "x-id" {
			return false
		}
	}
	return true
}

// known are the x-amz headers that the model honours, or that change nothing.
var known = map[string]bool{
	"X-Amz-Checksum-Crc32":         true,
	"X-Amz-Checksum-Mode":          true,
	"X-Amz-Content-Sha256":         true,
	"X-Amz-Date":                   true,
	"X-Amz-Decoded-Content-Length": true,
	"X-Amz-Sdk-Checksum-Algorithm": true,
	"X-Amz-Security-Token":         true,
	"X-Amz-Trailer":                true,
	"X-Amz-User-Agent":             true,
}

var credential = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[^/]+/[0-9]{8}/([a-z0-9-]+)/s3/aws4_request, *SignedHeaders=`)

const signedAt = "20060102T150405Z"

// tolerated is how far the date of a request may be off.
const tolerated = 15 * time.Minute

// admit refuses requests that ask for what the model would ignore, and those that
// are not signed, or for another region or time.
func (x *exchange) admit() *Error {
	for name := range x.header {
		if strings.HasPrefix(name, "X-Amz-") && !known[name] {
			return errUnknown("the header " + name)
		}
	}
	scope := credential.FindStringSubmatch(x.header.Get("Authorization"))
	if scope == nil {
		return errAccessDenied
	}
	at, err := time.Parse(signedAt, x.header.Get("X-Amz-Date"))
	switch {
	case err != nil:
		return errAccessDenied
	case x.now.Sub(at).Abs() > tolerated:
		return errSkewed
	case x.opts.Region != "" && scope[1] != x.opts.Region:
		x.w.Header().Set("X-Amz-Bucket-Region", x.opts.Region)
		return errElsewhere
	}
	return nil
}
