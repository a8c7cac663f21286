package sim

import (
	"fmt"
	"strings"
	"time"
)

// A hash sums up a trace: FNV-1a.
type hash uint64

func newHash() hash { return 14695981039346656037 }

func (h *hash) add(s string) {
	for i := range len(s) {
		*h = (*h ^ hash(s[i])) * 1099511628211
	}
}

func (h *hash) num(n uint64) {
	for range 8 {
		*h = (*h ^ hash(n&0xff)) * 1099511628211
		n >>= 8
	}
}

func (h *hash) arg(a any) {
	switch a := a.(type) {
	case int:
		h.num(uint64(a)) //nolint:gosec // any bits will do
	case time.Duration:
		h.num(uint64(a)) //nolint:gosec // any bits will do
	case string:
		h.add(a)
	case bool:
		if a {
			h.num(1)
		}
	}
}

// A trace is what happened. Lines of one event may be noted by several goroutines,
// so that their order means nothing: the sum does not depend on it.
type trace struct {
	sum   hash
	batch hash
	lines []string // of this event
	all   *strings.Builder
}

func (w *world) tracing() bool { return w.trace.all != nil }

// note adds a line about p, or about the world.
func (w *world) note(p *process, what string, args ...any) {
	w.mark(p, what, args...)
	w.say(p, what, args...)
}

// mark adds to the sum only.
func (w *world) mark(p *process, what string, args ...any) {
	h := newHash()
	h.num(uint64(w.loop.now())) //nolint:gosec // not negative
	if p != nil {
		h.num(uint64(p.id)) //nolint:gosec // not negative
	}
	h.add(what)
	for _, a := range args {
		h.arg(a)
	}
	w.trace.batch += h
}

// say adds a line for people only.
func (w *world) say(p *process, what string, args ...any) {
	if !w.tracing() {
		return
	}
	who := "-"
	if p != nil {
		who = p.String()
	}
	line := fmt.Sprintf("%14.6fs  %-6s %s\n", w.loop.now().Seconds(), who, fmt.Sprintf(what, args...))
	w.trace.lines = append(w.trace.lines, line)
}

// settle closes the lines of one event.
func (w *world) settle() {
	t := &w.trace
	if t.batch != 0 {
		t.sum.num(uint64(t.batch))
		t.batch = 0
	}
	for _, line := range t.lines {
		t.all.WriteString(line)
	}
	t.lines = t.lines[:0]
}
