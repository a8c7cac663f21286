package azure

import (
	"crypto/md5" // Content-MD5 is part of the protocol
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A blob is a block blob. Its body and metadata are replaced, never changed.
type blob struct {
	body        []byte
	contentType string
	metadata    map[string]string
	etag        string
	created     time.Time
	modified    time.Time
	lease       lease
}

// admitWrite judges a write of the blob b whose conditions are met. id is the
// lease ID that the request carries, or empty.
func (x *exchange) admitWrite(b *blob, id string) *Error {
	if err := b.lease.admitWrite(x.now, id, &x.opts); err != nil {
		return err
	}
	if x.opts.Immutable {
		return errImmutable
	}
	return nil
}

// touch marks the blob as written.
func (x *exchange) touch(b *blob) {
	b.etag, b.modified, b.lease = x.nextETag(), x.now, b.lease.written(x.now)
}

func (x *exchange) putBlob() *Error {
	c, err := x.find()
	if err != nil {
		return err
	}
	fresh, err := x.uploaded()
	if err != nil {
		return err
	}
	old := c.blobs[x.blob]
	if err := x.admitPut(old); err != nil {
		return err
	}
	if old != nil {
		fresh.created, fresh.lease = old.created, old.lease
	}
	x.touch(fresh)
	c.blobs[x.blob] = fresh
	x.stamp(fresh)
	sum := md5.Sum(x.body)
	x.w.Header().Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
	x.w.Header().Set("X-Ms-Request-Server-Encrypted", "true")
	x.w.WriteHeader(http.StatusCreated)
	return nil
}

// uploaded is the blob that a Put Blob describes.
func (x *exchange) uploaded() (*blob, *Error) {
	if len(x.blob) > 1024 {
		return nil, errName
	}
	switch x.header.Get("X-Ms-Blob-Type") {
	case "":
		return nil, errHeaderMissing("x-ms-blob-type")
	case "BlockBlob":
	default:
		return nil, errUnknown("other blobs than block blobs")
	}
	if x.opts.PageBlobsOnly {
		return nil, errBlobType
	}
	meta, err := readMetadata(x.header)
	if err != nil {
		return nil, err
	}
	contentType := x.header.Get("X-Ms-Blob-Content-Type")
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	return &blob{body: x.body, contentType: contentType, metadata: meta, created: x.now}, nil
}

// admitPut judges a Put Blob over old, which is nil if there is none.
func (x *exchange) admitPut(old *blob) *Error {
	c, err := readConditions(x.header)
	if err != nil {
		return err
	}
	id, err := x.leaseID("X-Ms-Lease-Id")
	switch {
	case err != nil:
		return err
	case old == nil:
		return x.admitCreation(c, id)
	case c.creating() && x.opts.CreateOnLeased == ExistenceFirst:
		return errBlobExists
	case !c.creating() && c.failed(old):
		return x.conditionError()
	}
	if err := x.admitWrite(old, id); err != nil {
		return err
	}
	if c.creating() {
		return errBlobExists
	}
	return nil
}

func (x *exchange) admitCreation(c conditions, id string) *Error {
	switch {
	case c.match == "*" && x.opts.IfMatchAnyCreates:
		return nil
	case c.match != "":
		return x.conditionError()
	case id != "" && !x.opts.CreateIgnoresLeaseID:
		return errNoLeaseOnBlob
	}
	return nil
}

// existing is the blob of a request that needs one, and its conditions.
func (x *exchange) existing() (*contents, *blob, conditions, *Error) {
	when, err := readConditions(x.header)
	if err != nil {
		return nil, nil, when, err
	}
	c, b, err := x.findBlob()
	if c != nil && b == nil && when.match != "" && x.opts.ConditionsFirst {
		err = x.conditionError()
	}
	return c, b, when, err
}

// changeable is existing for requests that change something. Their conditions
// are met but for those of the lease.
func (x *exchange) changeable() (*contents, *blob, *Error) {
	c, b, when, err := x.existing()
	switch {
	case err != nil:
		return nil, nil, err
	case when.creating() && x.opts.IgnoreIfNoneMatchAny:
		return c, b, nil
	case when.creating() || when.failed(b):
		return nil, nil, x.conditionError()
	}
	return c, b, nil
}

// writable is changeable for writes.
func (x *exchange) writable() (*contents, *blob, *Error) {
	c, b, err := x.changeable()
	if err != nil {
		return nil, nil, err
	}
	id, err := x.leaseID("X-Ms-Lease-Id")
	if err != nil {
		return nil, nil, err
	}
	return c, b, x.admitWrite(b, id)
}

func (x *exchange) setMetadata() *Error {
	_, b, err := x.writable()
	if err != nil {
		return err
	}
	meta, err := readMetadata(x.header)
	if err != nil {
		return err
	}
	b.metadata = meta
	x.touch(b)
	x.stamp(b)
	x.w.WriteHeader(http.StatusOK)
	return nil
}

func (x *exchange) deleteBlob() *Error {
	c, _, err := x.writable()
	if err != nil {
		return err
	}
	delete(c.blobs, x.blob)
	x.w.WriteHeader(http.StatusAccepted)
	return nil
}

// getBlob serves Get Blob and Get Blob Properties.
func (x *exchange) getBlob() *Error {
	_, b, c, err := x.existing()
	if err != nil {
		return err
	}
	id, err := x.leaseID("X-Ms-Lease-Id")
	if err != nil {
		return err
	}
	if err := c.read(b); err != nil {
		return err
	}
	if err := b.lease.admitRead(x.now, id, &x.opts); err != nil {
		return err
	}
	return x.show(b)
}

func (x *exchange) show(b *blob) *Error {
	part, status, err := x.part(b.body)
	if err != nil {
		return err
	}
	x.stamp(b)
	x.tellLease(b)
	h := x.w.Header()
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.Itoa(len(part)))
	h.Set("Content-Type", b.contentType)
	h.Set("X-Ms-Blob-Type", "BlockBlob")
	h.Set("X-Ms-Creation-Time", b.created.UTC().Format(http.TimeFormat))
	h.Set("X-Ms-Server-Encrypted", "true")
	for name, value := range b.metadata {
		h.Set(metaPrefix+name, value)
	}
	x.w.WriteHeader(status)
	if x.kind == GetBlob {
		_, _ = x.w.Write(part)
	}
	return nil
}

// part is what the request's range selects, if it has one.
func (x *exchange) part(body []byte) ([]byte, int, *Error) {
	value := x.header.Get("X-Ms-Range")
	if value == "" {
		value = x.header.Get("Range")
	}
	if value == "" || x.kind == HeadBlob {
		return body, http.StatusOK, nil
	}
	from, to, ok := parseRange(value)
	switch {
	case !ok:
		return nil, 0, errHeaderValue("Range")
	case from >= len(body):
		return nil, 0, errRange
	}
	to = min(to, len(body)-1)
	x.w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(body)))
	return body[from : to+1], http.StatusPartialContent, nil
}

// parseRange reads "bytes=1-5" and "bytes=1-".
func parseRange(value string) (from, to int, ok bool) {
	first, last, _ := strings.Cut(strings.TrimPrefix(value, "bytes="), "-")
	from, err := strconv.Atoi(first)
	if err != nil || from < 0 || !strings.HasPrefix(value, "bytes=") {
		return 0, 0, false
	}
	if last == "" {
		return from, int(^uint(0) >> 2), true
	}
	to, err = strconv.Atoi(last)
	return from, to, err == nil && to >= from
}

// stamp sets the headers that name a version of the blob.
func (x *exchange) stamp(b *blob) {
	x.w.Header().Set("Etag", b.etag)
	x.w.Header().Set("Last-Modified", b.modified.UTC().Format(http.TimeFormat))
}

// tellLease sets what anybody may know of a lease: not its ID, and not when it
// ends.
func (x *exchange) tellLease(b *blob) {
	h, state := x.w.Header(), b.lease.state(x.now)
	h.Set("X-Ms-Lease-State", string(state))
	h.Set("X-Ms-Lease-Status", status(state))
	if state == Leased {
		h.Set("X-Ms-Lease-Duration", b.lease.kind())
	}
}

func status(s LeaseState) string {
	if s.locked() {
		return "locked"
	}
	return "unlocked"
}

func (l lease) kind() string {
	if l.duration == Infinite {
		return "infinite"
	}
	return "fixed"
}

// copyOf is b with nothing shared that could change.
func copyOf(b *blob) *blob {
	c := *b
	c.metadata = maps.Clone(b.metadata)
	return &c
}
