package azure

import (
	"encoding/xml"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var containerName = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])+$`)

func (x *exchange) createContainer() *Error {
	switch {
	case len(x.container) < 3 || len(x.container) > 63 || !containerName.MatchString(x.container):
		return errName
	case x.containers[x.container] != nil:
		return errContainerExists
	}
	c := x.newContainer(x.container, x.now)
	x.stampContainer(c)
	x.w.WriteHeader(http.StatusCreated)
	return nil
}

func (a *Account) newContainer(name string, now time.Time) *contents {
	c := &contents{etag: a.nextETag(), modified: now, blobs: map[string]*blob{}}
	a.containers[name] = c
	return c
}

func (x *exchange) getContainer() *Error {
	c, err := x.find()
	if err != nil {
		return err
	}
	x.stampContainer(c)
	h := x.w.Header()
	h.Set("X-Ms-Lease-State", string(Available))
	h.Set("X-Ms-Lease-Status", "unlocked")
	h.Set("X-Ms-Has-Immutability-Policy", strconv.FormatBool(x.opts.Immutable))
	h.Set("X-Ms-Has-Legal-Hold", "false")
	x.w.WriteHeader(http.StatusOK)
	return nil
}

func (x *exchange) deleteContainer() *Error {
	if _, err := x.find(); err != nil {
		return err
	}
	delete(x.containers, x.container)
	x.w.WriteHeader(http.StatusAccepted)
	return nil
}

func (x *exchange) stampContainer(c *contents) {
	x.w.Header().Set("Etag", c.etag)
	x.w.Header().Set("Last-Modified", c.modified.UTC().Format(http.TimeFormat))
}

func (x *exchange) getAccount() *Error {
	h := x.w.Header()
	h.Set("X-Ms-Account-Kind", "StorageV2")
	h.Set("X-Ms-Sku-Name", "Standard_LRS")
	if x.opts.PageBlobsOnly {
		h.Set("X-Ms-Sku-Name", "Premium_LRS")
	}
	h.Set("X-Ms-Is-Hns-Enabled", strconv.FormatBool(x.opts.Hierarchical))
	x.w.WriteHeader(http.StatusOK)
	return nil
}

// A listing is the body of List Blobs.
type listing struct {
	XMLName    xml.Name `xml:"EnumerationResults"`
	Container  string   `xml:"ContainerName,attr"`
	Prefix     string
	Marker     string
	MaxResults int
	Blobs      []listed `xml:"Blobs>Blob"`
	NextMarker string
}

type listed struct {
	Name       string
	Properties properties
}

type properties struct {
	CreationTime  string `xml:"Creation-Time"`
	LastModified  string `xml:"Last-Modified"`
	Etag          string
	ContentLength int    `xml:"Content-Length"`
	ContentType   string `xml:"Content-Type"`
	BlobType      string
	LeaseStatus   string
	LeaseState    string
	LeaseDuration string `xml:",omitempty"`
}

const longestPage = 5000

func (x *exchange) listBlobs() *Error {
	c, err := x.find()
	if err != nil {
		return err
	}
	list, err := x.readListing()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.blobs)) {
		if !strings.HasPrefix(name, list.Prefix) || name < list.Marker {
			continue
		}
		if len(list.Blobs) == list.MaxResults {
			list.NextMarker = name
			break
		}
		list.Blobs = append(list.Blobs, x.listed(name, c.blobs[name]))
	}
	x.w.Header().Set("Content-Type", "application/xml")
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(marshal(list))
	return nil
}

// readListing is the empty listing that the query asks for.
func (x *exchange) readListing() (*listing, *Error) {
	list := &listing{
		Container:  x.container,
		Prefix:     x.query.Get("prefix"),
		Marker:     x.query.Get("marker"),
		MaxResults: longestPage,
	}
	for _, name := range []string{"delimiter", "include", "startFrom", "endBefore"} {
		if x.query.Get(name) != "" {
			return nil, errUnknown("the query parameter " + name)
		}
	}
	if value := x.query.Get("maxresults"); value != "" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return nil, &Error{http.StatusBadRequest, "OutOfRangeQueryParameterValue", "maxresults"}
		}
		list.MaxResults = min(n, longestPage)
	}
	return list, nil
}

func (x *exchange) listed(name string, b *blob) listed {
	state := b.lease.state(x.now)
	p := properties{
		CreationTime:  b.created.UTC().Format(http.TimeFormat),
		LastModified:  b.modified.UTC().Format(http.TimeFormat),
		Etag:          strings.Trim(b.etag, `"`),
		ContentLength: len(b.body),
		ContentType:   b.contentType,
		BlobType:      "BlockBlob",
		LeaseStatus:   status(state),
		LeaseState:    string(state),
	}
	if state == Leased {
		p.LeaseDuration = b.lease.kind()
	}
	return listed{Name: name, Properties: p}
}
