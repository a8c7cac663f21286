package s3

import (
	"net/http"
	"strconv"

	"github.com/bloblease/bloblease/internal/clock"
)

const maxKey = 1024

func (x *exchange) putObject() *Error {
	c, err := x.find()
	switch {
	case err != nil:
		return err
	case len(x.key) > maxKey:
		return errKeyTooLong
	}
	if err := x.may("s3:PutObject"); err != nil {
		return err
	}
	object, newest := c.current(x.key)
	condition := readConditions(x.header)
	if err := x.admitPut(condition, object, newest); err != nil {
		return err
	}
	if !condition.none() {
		x.dawdle()
	}
	v := &version{body: x.body, etag: x.etagOf(x.body), checksum: x.sum, header: http.Header{}}
	for _, name := range []string{"Content-Type", "Cache-Control"} {
		if value := x.header.Get(name); value != "" {
			v.header.Set(name, value)
		}
	}
	x.add(c, x.key, v)
	x.tellVersion(v)
	if !x.opts.NoETagOnPut {
		x.w.Header().Set("Etag", x.shown(v.etag))
	}
	x.tellChecksum(v)
	x.w.WriteHeader(http.StatusOK)
	return nil
}

// dawdle lets a racy store serve others between judging a condition and acting.
func (x *exchange) dawdle() {
	if x.opts.Racy == nil {
		return
	}
	x.mu.Unlock()
	if d := x.opts.Racy(); d > 0 {
		timer := clock.System.NewTimer(d)
		<-timer.C()
	}
	x.mu.Lock()
	x.now = x.Service.now()
}

// getObject serves GET and HEAD.
func (x *exchange) getObject() *Error {
	c, err := x.find()
	if err != nil {
		return err
	}
	if err := x.may("s3:GetObject"); err != nil {
		return err
	}
	object, newest := c.current(x.key)
	if object == nil {
		return x.missing(newest)
	}
	if err := x.admitGet(readConditions(x.header), object); err != nil {
		x.w.Header().Set("Etag", x.shown(object.etag))
		return err
	}
	return x.show(object)
}

// missing is the answer that there is no object, for those who may know.
func (x *exchange) missing(marker *version) *Error {
	if err := x.may("s3:ListBucket"); err != nil {
		return err
	}
	if marker != nil {
		x.w.Header().Set("X-Amz-Delete-Marker", "true")
		x.tellVersion(marker)
	}
	return errNoSuchKey
}

func (x *exchange) show(v *version) *Error {
	if x.header.Get("Range") != "" {
		return errUnknown("ranges")
	}
	h := x.w.Header()
	for name, values := range v.header {
		h[name] = values
	}
	x.tellVersion(v)
	if x.header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		x.tellChecksum(v)
	}
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.Itoa(len(v.body)))
	h.Set("Etag", x.shown(v.etag))
	modified := v.modified
	if x.opts.FixedModified {
		modified = v.created
	}
	h.Set("Last-Modified", x.date(modified))
	x.w.WriteHeader(http.StatusOK)
	if x.kind == GetObject {
		_, _ = x.w.Write(v.body)
	}
	return nil
}

func (x *exchange) tellVersion(v *version) {
	if v.id != "" {
		x.w.Header().Set("X-Amz-Version-Id", v.id)
	}
}

func (x *exchange) tellChecksum(v *version) {
	if v.checksum != "" {
		x.w.Header().Set("X-Amz-Checksum-Crc32", v.checksum)
		x.w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
}

func (x *exchange) deleteObject() *Error {
	c, err := x.find()
	if err != nil {
		return err
	}
	if err := x.may("s3:DeleteObject"); err != nil {
		return err
	}
	object, _ := c.current(x.key)
	if match := x.header.Get("If-Match"); match != "" && !x.opts.IgnoreDeleteIfMatch {
		switch {
		case object == nil:
			return errNoSuchKey
		case match != "*" && !x.same(match, object.etag):
			return errPrecondition
		}
	}
	x.remove(c, x.key)
	x.w.WriteHeader(http.StatusNoContent)
	return nil
}

// remove deletes an object; where there are versions, it hides it.
func (x *exchange) remove(c *contents, key string) {
	if c.versioned {
		x.add(c, key, &version{marker: true})
		return
	}
	delete(c.keys, key)
}

func (x *exchange) createBucket() *Error {
	if x.buckets[x.bucket] != nil {
		return errBucketExists
	}
	x.buckets[x.bucket] = &contents{keys: map[string][]*version{}}
	x.w.WriteHeader(http.StatusOK)
	return nil
}

func (x *exchange) headBucket() *Error {
	if _, err := x.find(); err != nil {
		return err
	}
	if err := x.may("s3:ListBucket"); err != nil {
		return err
	}
	x.w.WriteHeader(http.StatusOK)
	return nil
}
