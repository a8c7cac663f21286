package fakestore

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// arriving is req as a server would see it, without its body. SDKs write header
// names as they like; on the wire they are canonical.
func arriving(req *http.Request, body []byte) *http.Request {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	r := &http.Request{
		Method:        req.Method,
		URL:           &url.URL{Path: req.URL.Path, RawPath: req.URL.RawPath, RawQuery: req.URL.RawQuery},
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        canonical(req.Header),
		Body:          http.NoBody,
		ContentLength: int64(len(body)),
		Host:          host,
		RequestURI:    req.URL.RequestURI(),
		RemoteAddr:    "192.0.2.1:1234",
	}
	return r.WithContext(context.Background())
}

func canonical(h http.Header) http.Header {
	c := make(http.Header, len(h))
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		c[name] = append(c[name], values...)
	}
	return c
}

// An answer is a response that can be given more than once.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// serve asks a handler.
func serve(h http.Handler, seen *http.Request, body []byte) answer {
	r := *seen
	r.Body = io.NopCloser(bytes.NewReader(body))
	w := recorder{header: http.Header{}}
	h.ServeHTTP(&w, &r)
	w.WriteHeader(http.StatusOK)
	a := answer{status: w.status, header: w.sent, body: w.body.Bytes()}
	if r.Method == http.MethodHead {
		a.body = nil
	}
	return a
}

// response is the answer as a client sees it.
func (a answer) response(req *http.Request) *http.Response {
	header := a.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status:        strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: a.length(req.Method),
		Request:       req,
	}
}

func (a answer) length(method string) int64 {
	if method != http.MethodHead {
		return int64(len(a.body))
	}
	n, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// says reports whether a and b tell the same, apart from when and to whom.
func (a answer) says(b answer) bool {
	return a.status == b.status && bytes.Equal(a.body, b.body) &&
		covers(a.header, b.header) && covers(b.header, a.header)
}

// covers reports whether h has all that other says, apart from what differs
// between any two answers.
func covers(h, other http.Header) bool {
	for name, values := range other {
		if !fleeting[name] && !slices.Equal(h[name], values) {
			return false
		}
	}
	return true
}

var fleeting = map[string]bool{
	"Date":                   true,
	"X-Amz-Id-2":             true,
	"X-Amz-Request-Id":       true,
	"X-Guploader-Uploadid":   true,
	"X-Ms-Client-Request-Id": true,
	"X-Ms-Request-Id":        true,
}

// A recorder is the http.ResponseWriter behind an answer.
type recorder struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
	}
}
