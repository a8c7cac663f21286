package azurechecks

import (
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/stretchr/testify/require"
)

const notMet azcore.ETag = `"0x8D0000000000000"` // no blob's

const condition = "412 ConditionNotMet"

// conditionChecks are about ETags and conditional headers.
var conditionChecks = []Check{
	{Name: "OnlyOneCreates", run: func(s *subject) {
		s.create()
		_, err := s.put("second", If{noneMatch: azcore.ETagAny})
		s.wants("create again", "409 BlobAlreadyExists", outcome(err))
	}},
	{Name: "CreatingALeasedBlobIsRefused", run: func(s *subject) {
		s.create()
		s.hold(idA)
		_, err := s.put("second", If{noneMatch: azcore.ETagAny})
		s.wants("without ID", missing, outcome(err))
		_, err = s.put("second", If{noneMatch: azcore.ETagAny, lease: idA})
		s.wants("with the ID", "409 BlobAlreadyExists", outcome(err))
	}},
	{Name: "CreatingWithALeaseIDIsRefused", run: func(s *subject) {
		_, err := s.put("first", If{lease: idA})
		s.wants("create", noLeaseBlob, outcome(err))
	}},
	{Name: "IfMatchReplacesThatVersionOnly", run: func(s *subject) {
		first := s.create()
		second, err := s.put("second", If{match: first})
		s.ok(err)
		_, err = s.put("third", If{match: first})
		s.wants("stale", condition, outcome(err))
		body, resp, err := s.get(If{})
		s.ok(err)
		require.Equal(s.t, "second", body)
		require.Equal(s.t, *second.ETag, *resp.ETag)
	}},
	{Name: "IfMatchNeedsABlob", run: func(s *subject) {
		_, err := s.put("first", If{match: notMet})
		s.wants("put", condition, outcome(err))
		_, err = s.put("first", If{match: azcore.ETagAny})
		s.wants("put any", condition, outcome(err))
	}},
	{Name: "IfMatchOnAMissingBlobIsNotFound", run: func(s *subject) {
		c := If{match: notMet}
		_, err := s.setMetadata("x", c)
		s.wants("set metadata", "404 BlobNotFound", outcome(err))
		_, err = s.acquire(idA, shortest, c)
		s.wants("acquire", "404 BlobNotFound", outcome(err))
		s.wants("delete", "404 BlobNotFound", outcome(s.delete(c)))
		_, err = s.head(c)
		s.wants("head", "404 BlobNotFound", outcome(err))
	}},
	{Name: "EqualBytesGetAnotherETag", run: func(s *subject) {
		first := s.create()
		second, err := s.put("first", If{})
		s.ok(err)
		require.NotEqual(s.t, first, *second.ETag)
		resp, err := s.setMetadata("x", If{})
		s.ok(err)
		require.NotEqual(s.t, *second.ETag, *resp.ETag)
		again, err := s.setMetadata("x", If{})
		s.ok(err)
		require.NotEqual(s.t, *resp.ETag, *again.ETag)
		require.Equal(s.t, *again.ETag, s.etag())
	}},
	{Name: "ARecreatedBlobGetsAnotherETag", run: func(s *subject) {
		first := s.create()
		s.ok(s.delete(If{}))
		require.NotEqual(s.t, first, s.create())
	}},
	{Name: "ConditionsComeBeforeTheLease", run: func(s *subject) {
		s.create()
		s.hold(idA)
		stale := If{match: notMet}
		_, err := s.acquire(idB, shortest, stale)
		s.wants("acquire by another", condition, outcome(err))
		s.wants("renew by another", condition, outcome(s.renew(idB, stale)))
		s.wants("release by the holder", condition, outcome(s.release(idA, stale)))
		for _, id := range []string{idA, idB, ""} {
			_, err = s.put("second", If{match: notMet, lease: id})
			s.wants("put as "+id, condition, outcome(err))
			_, err = s.setMetadata("x", If{match: notMet, lease: id})
			s.wants("set metadata as "+id, condition, outcome(err))
			s.wants("delete as "+id, condition, outcome(s.delete(If{match: notMet, lease: id})))
		}
		require.Equal(s.t, "leased", s.state())
	}},
	{Name: "ALeaseIDAndAnETagTogether", run: func(s *subject) {
		etag := s.create()
		s.hold(idA)
		_, err := s.put("second", If{match: etag, lease: idB})
		s.wants("wrong ID", mismatchBlob, outcome(err))
		_, err = s.put("second", If{match: etag, lease: idA})
		s.wants("both good", "ok", outcome(err))
		_, err = s.put("third", If{match: etag, lease: idA})
		s.wants("stale ETag", condition, outcome(err))
	}},
	{Name: "AcquireHonoursConditions", run: func(s *subject) {
		etag := s.create()
		try := func(point, want string, c If) {
			_, err := s.acquire(idA, shortest, c)
			s.wants(point, want, outcome(err))
		}
		try("If-Match stale", condition, If{match: notMet})
		try("If-None-Match current", condition, If{noneMatch: etag})
		try("If-None-Match any", condition, If{noneMatch: azcore.ETagAny})
		try("If-None-Match other", "ok", If{noneMatch: notMet})
		try("If-Match current", "ok", If{match: etag})
	}},
	{Name: "DatesAreConditionsToo", run: func(s *subject) {
		s.create()
		resp, err := s.head(If{})
		s.ok(err)
		at := *resp.LastModified
		try := func(point, want string, c If) {
			_, err := s.acquire(idA, shortest, c)
			s.wants(point, want, outcome(err))
		}
		try("modified since itself", condition, If{since: at})
		try("modified since before", "ok", If{since: at.Add(-time.Second)})
		try("unmodified since before", condition, If{notSince: at.Add(-time.Second)})
		try("unmodified since itself", "ok", If{notSince: at})
	}},
	{Name: "ContradictingConditionsAreRefused", run: func(s *subject) {
		etag := s.create()
		_, err := s.put("second", If{match: etag, noneMatch: notMet})
		s.wants("put", "400 MultipleConditionHeadersNotSupported", outcome(err))
		_, err = s.acquire(idA, shortest, If{match: etag, noneMatch: notMet})
		s.wants("acquire", "400 MultipleConditionHeadersNotSupported", outcome(err))
	}},
	{Name: "ReadsHonourConditions", run: func(s *subject) {
		etag := s.create()
		try := func(point, want string, c If) {
			_, err := s.head(c)
			s.wants("head "+point, want, outcome(err))
			_, _, err = s.get(c)
			s.wants("get "+point, want, outcome(err))
		}
		try("If-None-Match current", "304 ConditionNotMet", If{noneMatch: etag})
		try("If-None-Match other", "ok", If{noneMatch: notMet})
		try("If-Match current", "ok", If{match: etag})
		try("If-Match stale", condition, If{match: notMet})
	}},
}
