package azure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// An Account is a storage account in memory. It is an [http.Handler], safe for
// concurrent use; it treats requests one after the other.
type Account struct {
	now  func() time.Time
	opts Options

	mu         sync.Mutex
	containers map[string]*contents
	etags      uint64
	requests   uint64
	leases     uint64
}

// contents is one container.
type contents struct {
	etag     string
	modified time.Time
	blobs    map[string]*blob
}

// New returns an empty account. It asks now for the time, and nothing else.
func New(now func() time.Time, o *Options) *Account {
	a := &Account{now: now, containers: map[string]*contents{}}
	if o != nil {
		a.opts = *o
	}
	return a
}

// nextETag is unlike every other: an odd factor permutes the 52-bit numbers.
// So ETags tell nothing by their order.
func (a *Account) nextETag() string {
	a.etags++
	return fmt.Sprintf("\"0x8D%013X\"", a.etags*0x9E3779B97F4A7C15&(1<<52-1))
}

func (a *Account) nextLeaseID() string {
	a.leases++
	return numbered(0x1ea5e, a.leases)
}

// An exchange is one request and the answer to it.
type exchange struct {
	*Account
	target
	w      http.ResponseWriter
	header http.Header // of the request
	body   []byte
	now    time.Time
}

// ServeHTTP answers one request.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, tooLarge := a.readBody(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	x := &exchange{Account: a, w: w, header: r.Header, body: body, now: a.now()}
	x.describe()
	err := x.run(r, tooLarge)
	if err != nil {
		err.write(w, r.Method, x.now)
	}
}

func (a *Account) readBody(r *http.Request) ([]byte, *Error) {
	limit := a.opts.maxBody()
	var body bytes.Buffer
	_, err := io.Copy(&body, http.MaxBytesReader(nil, r.Body, limit))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, errBodyTooLarge
	}
	if err != nil {
		return nil, errInternal
	}
	return body.Bytes(), nil
}

// describe sets the headers that every answer has.
func (x *exchange) describe() {
	x.requests++
	h := x.w.Header()
	h.Set("Date", x.now.UTC().Format(http.TimeFormat))
	h.Set("Server", "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0")
	h.Set("X-Ms-Request-Id", numbered(0x4e9, x.requests))
	h.Set("X-Ms-Version", x.header.Get("X-Ms-Version"))
	if id := x.header.Get("X-Ms-Client-Request-Id"); id != "" {
		h.Set("X-Ms-Client-Request-Id", id)
	}
}

func (x *exchange) run(r *http.Request, tooLarge *Error) *Error {
	if deny := x.opts.Deny; deny != nil {
		if code := deny(r); code != "" {
			return errDenied(code)
		}
	}
	if err := admitHeaders(r.Header); err != nil {
		return err
	}
	x.target = aim(r)
	operation := operations[x.kind]
	switch {
	case operation == nil:
		return errUnknown(r.Method + " of " + r.URL.Path + " with this query")
	case tooLarge != nil:
		return tooLarge
	}
	return operation(x)
}

// operations is what the model can do.
var operations = map[Operation]func(*exchange) *Error{
	CreateContainer: (*exchange).createContainer,
	GetContainer:    (*exchange).getContainer,
	DeleteContainer: (*exchange).deleteContainer,
	ListBlobs:       (*exchange).listBlobs,
	GetAccount:      (*exchange).getAccount,
	PutBlob:         (*exchange).putBlob,
	GetBlob:         (*exchange).getBlob,
	HeadBlob:        (*exchange).getBlob,
	SetMetadata:     (*exchange).setMetadata,
	DeleteBlob:      (*exchange).deleteBlob,
	AcquireLease:    (*exchange).acquireLease,
	RenewLease:      (*exchange).renewLease,
	ChangeLease:     (*exchange).changeLease,
	ReleaseLease:    (*exchange).releaseLease,
	BreakLease:      (*exchange).breakLease,
}

// find returns the container of the request.
func (x *exchange) find() (*contents, *Error) {
	c := x.containers[x.container]
	if c == nil {
		return nil, errContainerNotFound
	}
	return c, nil
}

// findBlob returns the blob of the request.
func (x *exchange) findBlob() (*contents, *blob, *Error) {
	c, err := x.find()
	if err != nil {
		return nil, nil, err
	}
	b := c.blobs[x.blob]
	if b == nil {
		return c, nil, errBlobNotFound
	}
	return c, b, nil
}

func (x *exchange) conditionError() *Error {
	if x.opts.TargetConditionNotMet {
		return errTargetCondition
	}
	return errCondition
}
