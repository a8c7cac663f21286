// Package explore looks at every history of a small model: one holder, one
// contender, one record. It proves the margin between them within its bounds, and
// finds the history that a margin too small by one step allows.
//
// What is bounded: time goes by in ticks, of which a TTL has a few; the holder has
// two writes open at a time, the contender one request; clocks run at a constant
// rate, each at one end of what is allowed. What is not: how long a history is, when a
// request arrives, when its answer does, whether either does, in which order, how
// long either side stands still, and whether a read shows what is there or what was.
//
// States know ages and no dates, so there are few of them, and histories of any
// length are among their paths. A request that names a version that is gone can only
// be refused, whenever it arrives and how often: the model lets it vanish.
//
// The model is not the shipped code, and it is kinder to the holder than that: it
// always knows the version to write over. What holds for it holds for one that
// knows less.
package explore

import (
	"fmt"
	"slices"
)

// Rules are the numbers that the margin is made of. A clock that is right counts 100
// steps in a tick.
type Rules struct {
	Hold      int // how long the holder trusts, in steps of its clock
	Wait      int // how long the contender waits, in steps of its clock
	Holder    int // steps that the holder's clock counts in a tick: 99 to 101
	Contender int

	// Mistakes that the search must find.
	FromAnswer    bool // the holder counts from the answer, not from the question
	AnyVersion    bool // the stopwatch goes on when the version has changed
	Unconditioned bool // a takeover replaces whatever is there
}

// A phase is how far a request has come.
type phase uint8

const (
	none phase = iota
	sent
	answered // the store has seen it; the answer is on its way
	outdated // of a read: its answer shows what was
)

// never is the age of what has not been, or no longer counts.
const never = 255

// A write is one of the holder's.
type write struct {
	phase phase
	age   uint8 // since it was sent
}

// A state is all that can be told apart. It is comparable.
type state struct {
	trust  uint8 // the age of the write that the holder learned of last
	writes [2]write
	read   phase // of the contender
	seen   uint8 // for how long the contender has seen what is there
	take   phase // of the contender's takeover
	leads  bool  // the contender does
}

// A step is a state, how it came about, and from which.
type step struct {
	state
	act  string
	from *step
}

// Search goes through all histories. It returns one in which both believe, nil if
// there is none, and the number of states.
func Search(r Rules) (history []string, states int) {
	start := &step{act: "the holder sends its acquisition", state: state{trust: never, seen: never}}
	start.writes[0].phase = sent
	visited := map[state]bool{start.state: true}
	for queue := []*step{start}; len(queue) > 0; queue = queue[1:] { // the shortest come first
		s := queue[0]
		if s.leads && s.trusts(r) {
			return s.history(), len(visited)
		}
		s.next(r, func(next state, act string) {
			if !visited[next] {
				visited[next] = true
				queue = append(queue, &step{next, act, s})
			}
		})
	}
	return nil, len(visited)
}

func (s *step) history() []string {
	var lines []string
	for ; s != nil; s = s.from {
		lines = append(lines, s.act)
	}
	slices.Reverse(lines)
	return lines
}

func (s state) trusts(r Rules) bool { return s.trust != never && int(s.trust)*r.Holder < r.Hold }

// next calls then with each state that may follow.
func (s state) next(r Rules, then func(state, string)) {
	then(s.later(r), "a tick goes by")
	for i := range s.writes {
		s.holder(r, i, then)
	}
	s.reader(then)
	s.taker(r, then)
}

// later is s a tick on. Ages that make no difference any more stand still.
func (s state) later(r Rules) state {
	if s.trusts(r) {
		s.trust++
	}
	if !s.trusts(r) {
		s.trust = never
	}
	for i, w := range s.writes {
		if w.phase != none && int(w.age)*r.Holder < r.Hold {
			s.writes[i].age++
		}
	}
	if s.seen != never && int(s.seen)*r.Contender < r.Wait {
		s.seen++
	}
	return s
}

// holder is what may happen to a write of the holder.
func (s state) holder(r Rules, i int, then func(state, string)) {
	t, w := s, s.writes[i]
	t.writes[i] = write{}
	switch w.phase {
	case none:
		if s.trusts(r) && s.take != answered && !s.leads {
			t.writes[i].phase = sent
			then(t, "the holder sends a renewal")
		}
	case sent:
		then(t, fmt.Sprintf("a write of the holder, sent %d ticks ago, is lost", w.age))
		t = s.written(r)
		t.writes[i] = write{answered, w.age}
		then(t, fmt.Sprintf("a write of the holder, sent %d ticks ago, is applied", w.age))
	default:
		then(t, "an answer to the holder is lost")
		if t.trust = w.age; r.FromAnswer {
			t.trust = 0
		}
		then(t, fmt.Sprintf("the holder learns that its write of %d ticks ago was applied", w.age))
	}
}

// written is s with another version of the record: what names the old one vanishes.
func (s state) written(r Rules) state {
	for i, w := range s.writes {
		if w.phase == sent {
			s.writes[i] = write{}
		}
	}
	if !r.AnyVersion {
		s.seen = never
	}
	if s.read == answered {
		s.read = outdated
	}
	if s.take == sent && !r.Unconditioned {
		s.take = none
	}
	return s
}

// reader is what may happen to the contender's read.
func (s state) reader(then func(state, string)) {
	t := s
	switch s.read {
	case none:
		if s.take == none && !s.leads {
			t.read = sent
			then(t, "the contender sends a read")
		}
	case sent:
		t.read = answered
		then(t, "the read finds what is there")
		t.read = outdated
		then(t, "the read finds what was")
	default:
		t.read = none
		then(t, "the answer to the read is lost")
		switch {
		case s.read == outdated:
			t.seen = never
		case s.seen == never:
			t.seen = 0
		}
		then(t, "the contender gets the answer to its read")
	}
}

// taker is what may happen to the contender's takeover.
func (s state) taker(r Rules, then func(state, string)) {
	t := s
	switch s.take {
	case none:
		if s.read == none && !s.leads && s.seen != never && int(s.seen)*r.Contender >= r.Wait {
			t.take = sent
			then(t, "the contender sends a takeover")
		}
	case sent:
		t.take = none
		then(t, "the takeover is lost")
		t = s.written(r)
		t.take = answered
		then(t, "the takeover is applied")
	default:
		t.take, t.leads = none, true
		then(t, "the contender leads")
	}
}
