package azure

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// An Operation is a kind of request.
type Operation string

// The operations that an Account knows.
const (
	CreateContainer Operation = "create container"
	GetContainer    Operation = "get container"
	DeleteContainer Operation = "delete container"
	ListBlobs       Operation = "list blobs"
	GetAccount      Operation = "get account"
	PutBlob         Operation = "put blob"
	GetBlob         Operation = "get blob"
	HeadBlob        Operation = "head blob"
	SetMetadata     Operation = "set metadata"
	DeleteBlob      Operation = "delete blob"
	AcquireLease    Operation = "acquire lease"
	RenewLease      Operation = "renew lease"
	ChangeLease     Operation = "change lease"
	ReleaseLease    Operation = "release lease"
	BreakLease      Operation = "break lease"
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

// A target is what a request is about.
type target struct {
	kind            Operation // empty if unknown
	container, blob string
	query           url.Values
}

// aim reads a target from a request to http://account.blob.example/container/blob
// or, if the host is an address or localhost, http://host/account/container/blob.
func aim(r *http.Request) target {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if addressed(r.Host) {
		_, path, _ = strings.Cut(path, "/")
	}
	t := target{query: r.URL.Query()}
	t.container, t.blob, _ = strings.Cut(path, "/")
	t.kind = kinds[t.shape(r)]
	return t
}

func addressed(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return host == "localhost" || net.ParseIP(host) != nil
}

// A shape is all that tells one operation from another.
type shape struct {
	method   string
	level    string // account, container or blob
	restype  string
	comp     string
	action   string
	versions bool // a snapshot or a version, which cannot be written
}

var kinds = map[shape]Operation{
	{method: "PUT", level: "container", restype: "container"}:                   CreateContainer,
	{method: "GET", level: "container", restype: "container"}:                   GetContainer,
	{method: "HEAD", level: "container", restype: "container"}:                  GetContainer,
	{method: "DELETE", level: "container", restype: "container"}:                DeleteContainer,
	{method: "GET", level: "container", restype: "container", comp: "list"}:     ListBlobs,
	{method: "GET", level: "account", restype: "account", comp: "properties"}:   GetAccount,
	{method: "GET", level: "container", restype: "account", comp: "properties"}: GetAccount,
	{method: "GET", level: "blob", restype: "account", comp: "properties"}:      GetAccount,
	{method: "PUT", level: "blob"}:                                              PutBlob,
	{method: "GET", level: "blob"}:                                              GetBlob,
	{method: "HEAD", level: "blob"}:                                             HeadBlob,
	{method: "DELETE", level: "blob"}:                                           DeleteBlob,
	{method: "PUT", level: "blob", comp: "metadata"}:                            SetMetadata,
	{method: "PUT", level: "blob", comp: "lease", action: "acquire"}:            AcquireLease,
	{method: "PUT", level: "blob", comp: "lease", action: "renew"}:              RenewLease,
	{method: "PUT", level: "blob", comp: "lease", action: "change"}:             ChangeLease,
	{method: "PUT", level: "blob", comp: "lease", action: "release"}:            ReleaseLease,
	{method: "PUT", level: "blob", comp: "lease", action: "break"}:              BreakLease,
}

func (t target) shape(r *http.Request) shape {
	s := shape{
		method:   r.Method,
		level:    "blob",
		restype:  t.query.Get("restype"),
		comp:     t.query.Get("comp"),
		action:   strings.ToLower(r.Header.Get("X-Ms-Lease-Action")),
		versions: t.query.Has("snapshot") || t.query.Has("versionid"),
	}
	switch {
	case t.container == "":
		s.level = "account"
	case t.blob == "":
		s.level = "container"
	}
	return s
}

// known are the x-ms headers that the model honours, or that change nothing.
var known = map[string]bool{
	"X-Ms-Blob-Cache-Control":       true,
	"X-Ms-Blob-Content-Type":        true,
	"X-Ms-Blob-Type":                true,
	"X-Ms-Client-Request-Id":        true,
	"X-Ms-Date":                     true,
	"X-Ms-Lease-Action":             true,
	"X-Ms-Lease-Break-Period":       true,
	"X-Ms-Lease-Duration":           true,
	"X-Ms-Lease-Id":                 true,
	"X-Ms-Proposed-Lease-Id":        true,
	"X-Ms-Range":                    true,
	"X-Ms-Return-Client-Request-Id": true,
	"X-Ms-Version":                  true,
}

const metaPrefix = "X-Ms-Meta-"

// admitHeaders refuses requests that ask for what the model would ignore.
func admitHeaders(h http.Header) *Error {
	for name := range h {
		if strings.HasPrefix(name, "X-Ms-") && !strings.HasPrefix(name, metaPrefix) && !known[name] {
			return errUnknown("the header " + name)
		}
	}
	if h.Get("X-Ms-Version") == "" {
		return errHeaderMissing("x-ms-version")
	}
	return nil
}

// leaseID reads a lease ID from a header of the request; it may be missing.
func (x *exchange) leaseID(name string) (string, *Error) {
	value := x.header.Get(name)
	if value == "" || x.opts.AnyLeaseID {
		return value, nil
	}
	id, ok := guid(value)
	if !ok {
		return "", errHeaderValue(name)
	}
	return id, nil
}

// ownLease is leaseID for operations that need one.
func (x *exchange) ownLease() (string, *Error) {
	id, err := x.leaseID("X-Ms-Lease-Id")
	if err == nil && id == "" {
		err = errHeaderMissing("x-ms-lease-id")
	}
	return id, err
}
