package leader

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A ledger is what the mark of a lease says of slots: one entry for each kind. Its
// stored form is
//
//	at=2026-10-12T02:00:00.000000000Z;every=2026-10-12T02:00:00.000000000Z;id=HASH,HASH
//
// in the order in which kinds were first used. It is frozen: add kinds, change none.
// Entries of kinds that this version does not know are carried along.
type ledger []entry

type entry struct {
	kind  kind
	value string
}

// instant is the stored form of an instant. All have one width, so they sort as text.
const instant = "2006-01-02T15:04:05.000000000Z"

func stored(t time.Time) string { return t.Format(instant) }

// keptIDs is how many IDs are remembered.
const keptIDs = 32

// ledgerOf reads a mark.
func ledgerOf(mark string) (ledger, error) {
	if mark == "" {
		return nil, nil
	}
	var l ledger
	for part := range strings.SplitSeq(mark, ";") {
		name, value, found := strings.Cut(part, "=")
		e := entry{kind(name), value}
		if !found || name == "" || value == "" || !e.sound() || l.find(e.kind) >= 0 {
			return nil, fmt.Errorf("the mark %.60q is none of leader.Once's: %w", mark, backends.ErrForeign)
		}
		l = append(l, e)
	}
	return l, nil
}

// sound reports whether the value is one of its kind, as far as the kind is known.
func (e entry) sound() bool {
	if e.kind != kindAt && e.kind != kindEvery {
		return true
	}
	t, err := time.Parse(instant, e.value)
	return err == nil && stored(t) == e.value
}

func (l ledger) find(k kind) int {
	return slices.IndexFunc(l, func(e entry) bool { return e.kind == k })
}

// has reports whether s is done.
func (l ledger) has(s Slot) bool {
	i := l.find(s.kind)
	switch {
	case i < 0:
		return false
	case s.kind == kindID:
		return slices.Contains(strings.Split(l[i].value, ","), s.id)
	default:
		return stored(s.at) <= l[i].value
	}
}

// notAhead refuses a slot of Every that is done though it is more than a period after
// the one that is due. One period is what grace and a change of it can make.
func (l ledger) notAhead(due Slot) error {
	i := l.find(kindEvery)
	if i < 0 || l[i].value <= stored(due.at.Add(due.period)) {
		return nil
	}
	return fmt.Errorf("slot %s is due by the store's clock, but %s is recorded as done: %w", stored(due.at), l[i].value, ErrSlotAhead)
}

// with is l with s as done, which it does not have.
func (l ledger) with(s Slot) ledger {
	i := l.find(s.kind)
	if i < 0 {
		return append(slices.Clip(l), entry{s.kind, s.value("")})
	}
	next := slices.Clone(l)
	next[i].value = s.value(l[i].value)
	return next
}

// value is what the entry of s becomes, which was old.
func (s Slot) value(old string) string {
	switch {
	case s.kind != kindID:
		return stored(s.at)
	case old == "":
		return s.id
	}
	ids := append(strings.Split(old, ","), s.id)
	return strings.Join(ids[max(0, len(ids)-keptIDs):], ",")
}

// mark is the stored form.
func (l ledger) mark() string {
	parts := make([]string, len(l))
	for i, e := range l {
		parts[i] = string(e.kind) + "=" + e.value
	}
	return strings.Join(parts, ";")
}
