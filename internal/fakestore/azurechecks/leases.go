package azurechecks

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

const badHeader = "400 InvalidHeaderValue"

// leaseChecks are about leases, and need no waiting for expiry.
var leaseChecks = []Check{
	{Name: "AMissingBlobCannotBeLeased", run: func(s *subject) {
		_, err := s.acquire(idA, shortest, If{})
		s.wants("acquire", "404 BlobNotFound", outcome(err))
		s.wants("renew", "404 BlobNotFound", outcome(s.renew(idA, If{})))
		s.wants("release", "404 BlobNotFound", outcome(s.release(idA, If{})))
		_, err = s.breakIn(0)
		s.wants("break", "404 BlobNotFound", outcome(err))
	}},
	{Name: "LeasesLast15To60SecondsOrForever", run: func(s *subject) {
		s.create()
		for _, d := range []time.Duration{0, 14, 61, 3600} {
			_, err := s.acquire(idA, d*time.Second, If{})
			s.wants("acquire for "+(d*time.Second).String(), badHeader, outcome(err))
		}
		for _, d := range []time.Duration{15 * time.Second, time.Minute, -1} {
			resp, err := s.acquire(idA, d, If{})
			s.wants("acquire for "+d.String(), "ok", outcome(err))
			require.Equal(s.t, idA, *resp.LeaseID)
		}
	}},
	{Name: "LeaseIDsAreGUIDs", run: func(s *subject) {
		s.create()
		for _, id := range []string{"me", "host:1234", idA + "0"} {
			_, err := s.acquire(id, shortest, If{})
			s.wants("acquire as "+id, badHeader, outcome(err))
			if err == nil {
				s.ok(s.release(id, If{}))
			}
		}
	}},
	{Name: "LeaseIDsHaveNoCase", run: func(s *subject) {
		s.create()
		s.hold(idA)
		upper := strings.ToUpper(idA)
		s.wants("renew", "ok", outcome(s.renew(upper, If{})))
		_, err := s.put("second", If{lease: upper})
		s.wants("put", "ok", outcome(err))
		s.wants("release", "ok", outcome(s.release(upper, If{})))
	}},
	{Name: "AcquiringAgainMayChangeTheDuration", run: func(s *subject) {
		s.create()
		s.hold(idA)
		_, err := s.acquire(idA, time.Minute, If{})
		s.ok(err)
		remaining, err := s.breakIn(-1)
		s.ok(err)
		require.InDelta(s.t, 60, remaining.Seconds(), 3)
	}},
	{Name: "NobodySeesTheIDOrTheTimeLeft", run: func(s *subject) {
		s.create()
		s.hold(idA)
		resp, err := s.head(If{})
		s.ok(err)
		require.Equal(s.t, "leased", string(*resp.LeaseState))
		require.Equal(s.t, "locked", string(*resp.LeaseStatus))
		require.Equal(s.t, "fixed", string(*resp.LeaseDuration))
	}},
	{Name: "AnInfiniteLeaseShowsAsOne", run: func(s *subject) {
		s.create()
		_, err := s.acquire(idA, -1, If{})
		s.ok(err)
		resp, err := s.head(If{})
		s.ok(err)
		require.Equal(s.t, "infinite", string(*resp.LeaseDuration))
		s.wants("renew", "ok", outcome(s.renew(idA, If{})))
		remaining, err := s.breakIn(-1)
		s.ok(err)
		require.Zero(s.t, remaining, "broken at once")
		require.Equal(s.t, "broken", s.state())
	}},
	{Name: "AnInfiniteLeaseCanBeBrokenLater", run: func(s *subject) {
		s.create()
		_, err := s.acquire(idA, -1, If{})
		s.ok(err)
		remaining, err := s.breakIn(20 * time.Second)
		s.ok(err)
		require.InDelta(s.t, 20, remaining.Seconds(), 3)
		require.Equal(s.t, "breaking", s.state())
	}},
	{Name: "ABreakNeverLengthensALease", run: func(s *subject) {
		s.create()
		s.hold(idA)
		remaining, err := s.breakIn(time.Minute)
		s.ok(err)
		require.InDelta(s.t, 15, remaining.Seconds(), 3)
	}},
	{Name: "ABreakCanBeShortened", run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.mustBreak(10 * time.Second)
		remaining, err := s.breakIn(20 * time.Second)
		s.ok(err)
		require.InDelta(s.t, 10, remaining.Seconds(), 3, "not lengthened")
		remaining, err = s.breakIn(2 * time.Second)
		s.ok(err)
		require.InDelta(s.t, 2, remaining.Seconds(), 1)
		remaining, err = s.breakIn(-1)
		s.ok(err)
		require.InDelta(s.t, 2, remaining.Seconds(), 1, "unchanged")
	}},
	{Name: "ABreakIsAtMostAMinuteAway", run: func(s *subject) {
		s.create()
		s.hold(idA)
		_, err := s.breakIn(61 * time.Second)
		s.wants("break", badHeader, outcome(err))
	}},
	{Name: "BreakingEndsInBroken", run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.mustBreak(time.Second)
		_, err := s.acquire(idB, shortest, If{})
		s.wants("acquire while breaking", alreadyLeased, outcome(err))
		s.env.Sleep(1500 * time.Millisecond)
		require.Equal(s.t, "broken", s.state())
		s.wants("renew", brokenRenew, outcome(s.renew(idA, If{})))
		_, err = s.put("second", If{lease: idA})
		s.wants("put", lost, outcome(err))
		_, err = s.acquire(idB, shortest, If{})
		s.wants("acquire", "ok", outcome(err))
	}},
	{Name: "ReleasingTwiceIsRefused", run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.ok(s.release(idA, If{}))
		s.wants("again", mismatch, outcome(s.release(idA, If{})))
		s.wants("renew", mismatch, outcome(s.renew(idA, If{})))
		_, err := s.put("second", If{lease: idA})
		s.wants("put", noLeaseBlob, outcome(err))
	}},
	{Name: "ChangingTwiceIsOne", run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.ok(s.change(idA, idB))
		s.wants("again", "ok", outcome(s.change(idA, idB)))
		s.wants("renew as A", mismatch, outcome(s.renew(idA, If{})))
		s.wants("renew as B", "ok", outcome(s.renew(idB, If{})))
	}},
	{Name: "LeasingKeepsETagAndDate", run: func(s *subject) {
		s.create()
		before, err := s.head(If{})
		s.ok(err)
		s.env.Sleep(1100 * time.Millisecond)
		acquired, err := s.acquire(idA, shortest, If{})
		s.ok(err)
		require.Equal(s.t, *before.ETag, *acquired.ETag)
		require.Equal(s.t, *before.LastModified, *acquired.LastModified)
		s.ok(s.renew(idA, If{}))
		s.ok(s.change(idA, idB))
		s.ok(s.release(idB, If{}))
		s.hold(idA)
		s.mustBreak(0)
		after, err := s.head(If{})
		s.ok(err)
		require.Equal(s.t, *before.ETag, *after.ETag)
		require.Equal(s.t, *before.LastModified, *after.LastModified)
	}},
	{Name: "AWriteUnderALeaseKeepsIt", run: func(s *subject) {
		s.create()
		s.hold(idA)
		_, err := s.put("second", If{lease: idA})
		s.ok(err)
		_, err = s.setMetadata("x", If{lease: idA})
		s.ok(err)
		require.Equal(s.t, "leased", s.state())
		s.wants("renew", "ok", outcome(s.renew(idA, If{})))
	}},
	{Name: "AWriteMakesABlobForgetABrokenLease", run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.mustBreak(0)
		_, err := s.setMetadata("x", If{})
		s.ok(err)
		s.wants("renew", mismatch, outcome(s.renew(idA, If{})))
		_, err = s.breakIn(0)
		s.wants("break", noLease, outcome(err))
	}},
	{Name: "ARecreatedBlobHasNoLease", run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.ok(s.delete(If{lease: idA}))
		s.wants("renew", "404 BlobNotFound", outcome(s.renew(idA, If{})))
		s.create()
		require.Equal(s.t, "available", s.state())
		s.wants("renew after recreation", mismatch, outcome(s.renew(idA, If{})))
	}},
}

// expiryChecks sleep until leases expire.
var expiryChecks = []Check{
	{Name: "ALeaseEndsOnTime", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.env.Sleep(14 * time.Second)
		require.Equal(s.t, "leased", s.state())
		_, err := s.acquire(idB, shortest, If{})
		s.wants("acquire before", alreadyLeased, outcome(err))
		s.env.Sleep(1500 * time.Millisecond)
		resp, err := s.head(If{})
		s.ok(err)
		require.Equal(s.t, "expired", string(*resp.LeaseState))
		require.Equal(s.t, "unlocked", string(*resp.LeaseStatus))
		require.Nil(s.t, resp.LeaseDuration)
		_, err = s.acquire(idB, shortest, If{})
		s.wants("acquire after", "ok", outcome(err))
	}},
	{Name: "RenewingRestartsTheClock", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.env.Sleep(10 * time.Second)
		s.ok(s.renew(idA, If{}))
		s.env.Sleep(10 * time.Second)
		require.Equal(s.t, "leased", s.state())
		s.env.Sleep(5500 * time.Millisecond)
		require.Equal(s.t, "expired", s.state())
	}},
	{Name: "AcquiringAgainRestartsTheClock", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.env.Sleep(10 * time.Second)
		s.hold(idA)
		s.env.Sleep(10 * time.Second)
		require.Equal(s.t, "leased", s.state())
	}},
	{Name: "AnExpiredLeaseIsNotRenewedAfterAPut", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.expire()
		_, err := s.put("second", If{})
		s.ok(err)
		s.wants("renew", mismatch, outcome(s.renew(idA, If{})))
		s.wants("release", mismatch, outcome(s.release(idA, If{})))
	}},
	{Name: "AnExpiredLeaseIsNotRenewedAfterSetMetadata", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.expire()
		_, err := s.setMetadata("x", If{})
		s.ok(err)
		s.wants("renew", mismatch, outcome(s.renew(idA, If{})))
	}},
	{Name: "AnExpiredLeaseIsNotRenewedAfterASuccessor", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.expire()
		s.hold(idB)
		s.wants("renew", mismatch, outcome(s.renew(idA, If{})))
		s.wants("release", mismatch, outcome(s.release(idA, If{})))
		_, err := s.put("second", If{lease: idA})
		s.wants("put", mismatchBlob, outcome(err))
		s.ok(s.release(idB, If{}))
		s.wants("renew after the successor left", mismatch, outcome(s.renew(idA, If{})))
	}},
	{Name: "AnExpiredLeaseIsReleasedOnce", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		s.expire()
		s.ok(s.release(idA, If{}))
		s.wants("again", mismatch, outcome(s.release(idA, If{})))
	}},
	{Name: "AFixedLeaseThatIsBreakingStillEnds", Slow: true, run: func(s *subject) {
		s.create()
		s.hold(idA)
		remaining, err := s.breakIn(-1)
		s.ok(err)
		require.InDelta(s.t, 15, remaining.Seconds(), 3)
		s.expire()
		require.Equal(s.t, "broken", s.state())
	}},
}
