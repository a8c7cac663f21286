package leader

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A Slot is one occasion on which a job is due, for Once. It comes from SlotAt,
// SlotID or Every; the zero Slot is none.
//
// The three kinds never mix: each has its own place in the record, and none says
// anything about another. One lease serves one job, so a job that is due on several
// schedules needs a lease for each.
type Slot struct {
	kind           kind
	at             time.Time // of kindAt, and of kindEvery once it is resolved
	id             string    // what is stored of it
	period, offset time.Duration
	err            error // what is wrong with it
}

// A kind is how slots of one kind are called in the record.
type kind string

const (
	kindAt    kind = "at"
	kindEvery kind = "every"
	kindID    kind = "id"
)

// shortestPeriod is what Every takes: stores tell the time in whole seconds.
const shortestPeriod = 10 * time.Second

// SlotAt is the slot of an instant, such as the one for which a scheduler has called.
// It is compared as UTC, to the nanosecond. When a slot is done, so are all older
// ones: take the time that was planned, never the time that it is, and no time of the
// far future by mistake. The year is 1 to 9999, and the zero Time is refused.
func SlotAt(t time.Time) Slot {
	t = t.UTC().Round(0)
	s := Slot{kind: kindAt, at: t}
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		s.err = fmt.Errorf("slot at %v: a time of the years 1 to 9999 is needed, and not the zero one", t)
	}
	return s
}

// SlotID is the slot of any string but "": the ID of an event, the name of a report.
// It is done if it equals one of the last 32 that were recorded, and open if not. The
// store keeps 128 bits of its SHA-256, not the string.
func SlotID(id string) Slot {
	s := Slot{kind: kindID}
	if id == "" {
		s.err = errors.New(`slot "": an ID has at least one byte`)
		return s
	}
	sum := sha256.Sum256([]byte(id))
	s.id = base64.RawURLEncoding.EncodeToString(sum[:16])
	return s
}

// Every is the slot that is due now: that of the present period, by the store's
// clock, which is one for all replicas. Periods are counted from 1970-01-01 00:00 UTC,
// a Thursday, plus offset: Every(24*time.Hour, 2*time.Hour) is two o'clock UTC of each
// day. A call up to OnceOptions.Grace before its time counts as on time, so that
// clocks may be wrong by as much, and one after it as late: until the next period
// begins, less the grace.
//
// When a slot is done, so are all older ones; and if it is more than a period ahead of
// the present one, Once returns ErrSlotAhead. The period is at least 10 s, and the
// offset not negative and less than the period. A store that does not tell the time is
// refused, with an error that matches backends.ErrUnsupported.
func Every(period, offset time.Duration) Slot {
	s := Slot{kind: kindEvery, period: period, offset: offset}
	switch {
	case period < shortestPeriod:
		s.err = fmt.Errorf("period %v is below the minimum of %v", period, shortestPeriod)
	case offset < 0 || offset >= period:
		s.err = fmt.Errorf("offset %v is not between 0 and the period of %v", offset, period)
	}
	return s
}

// resolved is s by the store's clock: floor((now + grace − offset) / period). Others
// than those of Every stay as they are.
func (s Slot) resolved(now time.Time, grace time.Duration) (Slot, error) {
	if s.kind != kindEvery {
		return s, nil
	}
	if now.IsZero() {
		return s, fmt.Errorf("every %v: the store does not tell the time: %w", s.period, backends.ErrUnsupported)
	}
	since := time.Duration(now.UnixNano()) + grace - s.offset // since the first slot
	into := since % s.period
	if into < 0 {
		into += s.period
	}
	s.at = time.Unix(0, int64(since-into+s.offset)).UTC()
	return s, nil
}

// String tells what kind of slot it is, and which one if that is known.
func (s Slot) String() string {
	switch {
	case s.kind == kindEvery && s.at.IsZero():
		return fmt.Sprintf("every %v, at %v", s.period, s.offset)
	case s.kind == kindID:
		return "id " + s.id
	case s.kind == "":
		return "no slot"
	default:
		return string(s.kind) + " " + stored(s.at)
	}
}

type slotKey struct{}

// SlotTime returns the instant of the slot that Once runs the job of ctx for: that of
// SlotAt, or the one that Every has come to. It is the same on every replica, so that
// a job which sums up the day before knows which day, though its own clock may be on
// the other side of midnight. A slot of SlotID has none, nor does a context that is
// not from Once.
func SlotTime(ctx context.Context) (t time.Time, ok bool) {
	s, _ := ctx.Value(slotKey{}).(Slot)
	return s.at, !s.at.IsZero()
}
