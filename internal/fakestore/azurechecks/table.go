package azurechecks

import (
	"time"
)

// states are the columns of the tables in the Lease Blob reference, and how a
// blob gets there. A is the ID that it knows.
var states = [5]struct {
	name  string
	reach func(*subject)
}{
	{"available", func(s *subject) { s.create() }},
	{"leased", func(s *subject) { s.create(); s.hold(idA) }},
	{"breaking", func(s *subject) { s.create(); s.hold(idA); s.mustBreak(10 * time.Second) }},
	{"broken", func(s *subject) { s.create(); s.hold(idA); s.mustBreak(0) }},
	{"expired", func(s *subject) { s.create(); s.hold(idA); s.expire() }},
}

func (s *subject) mustBreak(period time.Duration) {
	s.t.Helper()
	_, err := s.breakIn(period)
	s.ok(err)
}

// A row is what somebody tries, and for each of the states: the state that
// follows, or the refusal. A refusal changes nothing.
type row struct {
	try     string
	do      func(*subject) error
	results [5]string
}

const (
	alreadyLeased  = "409 LeaseAlreadyPresent"
	breakingAcq    = "409 LeaseIsBreakingAndCannotBeAcquired"
	breakingChange = "409 LeaseIsBreakingAndCannotBeChanged"
	brokenRenew    = "409 LeaseIsBrokenAndCannotBeRenewed"
	lost           = "412 LeaseLost"
	mismatch       = "409 LeaseIdMismatchWithLeaseOperation"
	mismatchBlob   = "412 LeaseIdMismatchWithBlobOperation"
	missing        = "412 LeaseIdMissing"
	noLease        = "409 LeaseNotPresentWithLeaseOperation"
	noLeaseBlob    = "412 LeaseNotPresentWithBlobOperation"
)

func rows() []row {
	return append(useRows(), leaseRows...)
}

// useRows are the "outcomes of use attempts". Every way to write is the same.
func useRows() []row {
	var (
		own     = [5]string{noLeaseBlob, "leased", "breaking", lost, lost}
		other   = [5]string{noLeaseBlob, mismatchBlob, mismatchBlob, noLeaseBlob, noLeaseBlob}
		none    = [5]string{"available", missing, missing, "available", "available"}
		gone    = [5]string{noLeaseBlob, "gone", "gone", lost, lost}
		goneToo = [5]string{"gone", missing, missing, "gone", "gone"}
		seen    = [5]string{"available", "leased", "breaking", "broken", "expired"}
	)
	put := func(c If) func(*subject) error {
		return func(s *subject) error { _, err := s.put("second", c); return err }
	}
	setMetadata := func(c If) func(*subject) error {
		return func(s *subject) error { _, err := s.setMetadata("second", c); return err }
	}
	remove := func(c If) func(*subject) error {
		return func(s *subject) error { return s.delete(c) }
	}
	get := func(c If) func(*subject) error {
		return func(s *subject) error { _, _, err := s.get(c); return err }
	}
	a, b := If{lease: idA}, If{lease: idB}
	return []row{
		{"PutAsA", put(a), own},
		{"PutAsB", put(b), other},
		{"PutWithoutID", put(If{}), none},
		{"SetMetadataAsA", setMetadata(a), own},
		{"SetMetadataAsB", setMetadata(b), other},
		{"SetMetadataWithoutID", setMetadata(If{}), none},
		{"DeleteAsA", remove(a), gone},
		{"DeleteAsB", remove(b), other},
		{"DeleteWithoutID", remove(If{}), goneToo},
		{"GetAsA", get(a), own},
		{"GetAsB", get(b), other},
		{"GetWithoutID", get(If{}), seen},
	}
}

// leaseRows are the "outcomes of lease operations".
var leaseRows = []row{
	{"AcquireA", func(s *subject) error { _, err := s.acquire(idA, shortest, If{}); return err },
		[5]string{"leased", "leased", breakingAcq, "leased", "leased"}},
	{"AcquireB", func(s *subject) error { _, err := s.acquire(idB, shortest, If{}); return err },
		[5]string{"leased", alreadyLeased, alreadyLeased, "leased", "leased"}},
	{"BreakAtOnce", func(s *subject) error { _, err := s.breakIn(0); return err },
		[5]string{noLease, "broken", "broken", "broken", "broken"}},
	{"BreakInFiveSeconds", func(s *subject) error { _, err := s.breakIn(5 * time.Second); return err },
		[5]string{noLease, "breaking", "breaking", "broken", "broken"}},
	{"BreakWithoutPeriod", func(s *subject) error { _, err := s.breakIn(-1); return err },
		[5]string{noLease, "breaking", "breaking", "broken", "broken"}},
	{"ChangeAToB", func(s *subject) error { return s.change(idA, idB) },
		[5]string{noLease, "leased", breakingChange, noLease, noLease}},
	{"ChangeBToA", func(s *subject) error { return s.change(idB, idA) },
		[5]string{noLease, "leased", mismatch, noLease, noLease}},
	{"ChangeBToC", func(s *subject) error { return s.change(idB, idC) },
		[5]string{noLease, mismatch, mismatch, noLease, noLease}},
	{"RenewA", func(s *subject) error { return s.renew(idA, If{}) },
		[5]string{mismatch, "leased", brokenRenew, brokenRenew, "leased"}},
	{"RenewB", func(s *subject) error { return s.renew(idB, If{}) },
		[5]string{mismatch, mismatch, mismatch, mismatch, mismatch}},
	{"ReleaseA", func(s *subject) error { return s.release(idA, If{}) },
		[5]string{mismatch, "available", "available", "available", "available"}},
	{"ReleaseB", func(s *subject) error { return s.release(idB, If{}) },
		[5]string{mismatch, mismatch, mismatch, mismatch, mismatch}},
}

// tableChecks are the cells of the tables.
func tableChecks() []Check {
	var checks []Check
	for _, r := range rows() {
		for i, state := range states {
			checks = append(checks, Check{
				Name: r.try + "When" + title(state.name),
				Slow: state.name == "expired",
				run: func(s *subject) {
					state.reach(s)
					s.wants("result", r.results[i], s.result(r.do(s), state.name))
				},
			})
		}
	}
	return checks
}

func title(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// result is the state that followed from a success, or the refusal.
func (s *subject) result(err error, before string) string {
	s.t.Helper()
	after := s.state()
	switch {
	case err == nil:
		return after
	case after != before:
		return outcome(err) + ", but now " + after
	}
	return outcome(err)
}
