package s3

import "net/http"

// Conditions are the conditional headers of a request.
type conditions struct{ match, noneMatch string }

func readConditions(h http.Header) conditions {
	return conditions{match: h.Get("If-Match"), noneMatch: h.Get("If-None-Match")}
}

// none reports whether there are none.
func (c conditions) none() bool { return c == conditions{} }

// same compares an ETag with that of a condition, which may lack the quotes.
func (x *exchange) same(condition, etag string) bool {
	if x.opts.UnquotedETags && condition != plain(condition) {
		return false
	}
	return plain(condition) == plain(etag)
}

// admitPut judges a PUT over object, which is nil if there is none; newest may then
// be a delete marker.
func (x *exchange) admitPut(c conditions, object, newest *version) *Error {
	switch {
	case !c.none() && x.opts.Unconditional, c.noneMatch != "" && (c.noneMatch != "*" || c.match != ""), c.match == "*":
		return errNotImplemented
	case c.noneMatch != "":
		return x.admitCreation(object, newest)
	case c.match != "":
		return x.admitReplacement(c.match, object)
	}
	return nil
}

func (x *exchange) admitCreation(object, newest *version) *Error {
	if x.opts.IgnoreIfNoneMatch {
		return nil
	}
	if object != nil || newest != nil && x.opts.MarkersExist {
		return errPrecondition
	}
	return nil
}

func (x *exchange) admitReplacement(match string, object *version) *Error {
	if err := x.may("s3:GetObject"); err != nil {
		return err
	}
	switch {
	case object == nil && x.opts.CreateIfMatch:
		return nil
	case object == nil && x.opts.ConflictIfMissing:
		return errPrecondition
	case object == nil:
		return errNoSuchKey
	case x.opts.IgnoreIfMatch || x.same(match, object.etag):
		return nil
	}
	return errPrecondition
}

// admitGet judges a read of object.
func (x *exchange) admitGet(c conditions, object *version) *Error {
	switch {
	case c.match != "" && c.match != "*" && !x.same(c.match, object.etag):
		return errPrecondition
	case c.noneMatch == "*", c.noneMatch != "" && x.same(c.noneMatch, object.etag):
		return errNotModified
	}
	return nil
}
