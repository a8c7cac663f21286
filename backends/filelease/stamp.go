package filelease

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/bloblease/bloblease/internal/clock"
)

// maxStamp is more than the length of any stamp that this package writes.
const maxStamp = 200

// A stamp is the last line of a file: when it was written, by the boot clock.
type stamp struct {
	Boot   string        `json:"boot"`
	Uptime time.Duration `json:"uptime_ns"`
	// Bare: the line break before the stamp is not part of the data.
	Bare bool `json:"bare,omitempty"`
}

// stamped returns data with a stamp of this moment below it. Without a boot
// clock it adds none, unless data itself ends in what would be taken for one.
func stamped(data []byte, c clock.Clock) []byte {
	boot, ok := c.Boot()
	if _, own := split(data); !ok && own == nil {
		return data
	}
	st := stamp{Boot: boot.ID, Uptime: boot.Since, Bare: !bytes.HasSuffix(data, []byte("\n"))}
	var b bytes.Buffer
	b.Write(data)
	if st.Bare {
		b.WriteByte('\n')
	}
	b.Write(st.line())
	b.WriteByte('\n')
	return b.Bytes()
}

// split takes the stamp off what a file holds. If the last line is not exactly a
// stamp, data is the whole.
func split(stored []byte) (data []byte, st *stamp) {
	lines := bytes.TrimSuffix(stored, []byte("\n"))
	start := bytes.LastIndexByte(lines, '\n') + 1
	st = parseStamp(lines[start:])
	switch {
	case st == nil || st.Bare && start == 0:
		return stored, nil
	case st.Bare:
		return stored[:start-1], st
	default:
		return stored[:start], st
	}
}

func (st stamp) line() []byte {
	line, _ := json.Marshal(st) // cannot fail: a string, a number, a bool
	return line
}

// parseStamp accepts only what line would write.
func parseStamp(line []byte) *stamp {
	var st stamp
	if len(line) > maxStamp || json.Unmarshal(line, &st) != nil || st.Uptime < 0 {
		return nil
	}
	if !bytes.Equal(st.line(), line) {
		return nil
	}
	return &st
}

// dates tells the time, and when a file with this stamp was written; modified
// is zero if that cannot be known: after a reboot, without a boot clock, or if
// the stamp is from the future. Both are dates of c's wall clock, at the time of
// this call: only their difference means anything, and that is the boot
// clock's.
func dates(st *stamp, c clock.Clock) (modified, now time.Time) {
	now = c.Now().Date()
	boot, ok := c.Boot()
	if !ok || st == nil || st.Boot != boot.ID || st.Uptime > boot.Since {
		return time.Time{}, now
	}
	return now.Add(st.Uptime - boot.Since), now
}
