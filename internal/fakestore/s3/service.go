package s3

import (
	"crypto/md5" // an ETag of S3's
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Service is a store with S3's interface, in memory. It is an [http.Handler],
// safe for concurrent use; it treats requests one after the other.
type Service struct {
	now  func() time.Time
	opts Options

	mu       sync.Mutex
	buckets  map[string]*contents
	requests uint64
	versions uint64
}

// contents is one bucket.
type contents struct {
	versioned bool
	keys      map[string][]*version // the current one is the last
}

// A version is never changed once it is made.
type version struct {
	id       string // "" in a bucket without versions
	marker   bool   // it says that the object was deleted
	body     []byte
	etag     string
	created  time.Time
	modified time.Time
	header   http.Header // Content-Type and the like
	checksum string      // CRC-32, if the request had it
}

// New returns a Service without buckets. It asks now for the time.
func New(now func() time.Time, o *Options) *Service {
	s := &Service{now: now, buckets: map[string]*contents{}}
	if o != nil {
		s.opts = *o
	}
	return s
}

// An exchange is one request and the answer to it.
type exchange struct {
	*Service
	target
	w      http.ResponseWriter
	header http.Header // of the request
	body   []byte
	sum    string // the checksum that came with it
	now    time.Time
}

const maxBody = 4 << 20

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &exchange{Service: s, target: aim(r), w: w, header: r.Header, now: s.now()}
	x.describe()
	if e := x.run(r, raw, err); e != nil {
		e.write(w, r.Method, x.target)
	}
}

// describe sets the headers that every answer has.
func (x *exchange) describe() {
	x.requests++
	h := x.w.Header()
	if !x.opts.NoDate {
		h.Set("Date", x.date(x.now))
	}
	h.Set("Server", "AmazonS3")
	h.Set("X-Amz-Request-Id", fmt.Sprintf("%016X", x.requests))
	h.Set("X-Amz-Id-2", fmt.Sprintf("model-%d", x.requests))
}

// date is how a machine of the store writes t.
func (x *exchange) date(t time.Time) string {
	if x.opts.Clocks != nil {
		t = t.Add(x.opts.Clocks())
	}
	return t.UTC().Format(http.TimeFormat)
}

func (x *exchange) run(r *http.Request, raw []byte, readErr error) *Error {
	operation := operations[x.kind]
	if operation == nil {
		return errUnknown(r.Method + " of " + r.URL.Path + " with this query")
	}
	if err := x.admit(); err != nil {
		return err
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(readErr, &tooLarge) {
		return errEntityTooLarge
	} else if readErr != nil {
		return errInternal
	}
	var err *Error
	if x.body, x.sum, err = x.payload(raw); err != nil {
		return err
	}
	return operation(x)
}

// operations is what the model can do.
var operations = map[Operation]func(*exchange) *Error{
	CreateBucket: (*exchange).createBucket,
	HeadBucket:   (*exchange).headBucket,
	PutObject:    (*exchange).putObject,
	GetObject:    (*exchange).getObject,
	HeadObject:   (*exchange).getObject,
	DeleteObject: (*exchange).deleteObject,
}

// may refuses the request if a right is missing.
func (x *exchange) may(action string) *Error {
	if slices.Contains(x.opts.Without, action) {
		return errAccessDenied
	}
	return nil
}

// find returns the bucket of the request.
func (x *exchange) find() (*contents, *Error) {
	c := x.buckets[x.bucket]
	if c == nil {
		return nil, errNoSuchBucket
	}
	return c, nil
}

// current is the object as it is, nil if there is none. The newest version is given
// as well if that is a delete marker.
func (c *contents) current(key string) (object, newest *version) {
	all := c.keys[key]
	if len(all) == 0 {
		return nil, nil
	}
	newest = all[len(all)-1]
	if newest.marker {
		return nil, newest
	}
	return newest, newest
}

// add makes v the current version.
func (x *exchange) add(c *contents, key string, v *version) {
	old, _ := c.current(key)
	v.modified, v.created = x.now, x.now
	if old != nil {
		v.created = old.created
	}
	if !c.versioned {
		c.keys[key] = []*version{v}
		return
	}
	v.id = x.nextVersion()
	c.keys[key] = append(c.keys[key], v)
}

// nextVersion is unlike every other, and in no order.
func (s *Service) nextVersion() string {
	s.versions++
	return fmt.Sprintf("v%016x", s.versions*0x9E3779B97F4A7C15)
}

// etagOf is the ETag of a new version.
func (s *Service) etagOf(body []byte) string {
	if s.opts.OpaqueETags {
		body = []byte(s.nextVersion())
	}
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// shown is an ETag as answers have it.
func (s *Service) shown(etag string) string {
	if s.opts.WeakETags {
		return "W/" + etag
	}
	return etag
}

// plain is an ETag without quotes.
func plain(etag string) string { return strings.Trim(etag, `"`) }
