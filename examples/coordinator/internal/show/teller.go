package show

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloblease/bloblease/backends"
)

// A teller tells the story, line by line, with the time since its beginning.
type teller struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Duration // uptime
	cut   string        // what is cut off the tokens
}

func newTeller(out io.Writer) *teller { return &teller{out: out, start: uptime()} }

func (t *teller) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, "%6.2f s  %s\n", (uptime() - t.start).Seconds(), fmt.Sprintf(format, args...))
}

// short is a token without the digits that will not change within ten minutes:
// tokens grow by 2^20 a second. Its digits are in groups, as in Go.
func (t *teller) short(token backends.Token) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut == "" {
		t.cut = commonPrefix(decimal(token), decimal(token+600<<20))
	}
	digits, is := strings.CutPrefix(decimal(token), t.cut)
	if !is || t.cut == "" {
		return decimal(token)
	}
	return "…" + grouped(digits)
}

func decimal(token backends.Token) string { return strconv.FormatUint(uint64(token), 10) }

func commonPrefix(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

func grouped(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte('_')
		}
		b.WriteRune(d)
	}
	return b.String()
}
