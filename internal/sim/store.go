package sim

import (
	"bytes"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

// A depot is the store's side: one object, all that it ever was, and two front
// ends whose clocks differ. It is touched by the loop only, so nothing happens at
// once.
type depot struct {
	etags  bool             // versions are a hash of the bytes, as on S3, else they count
	rate   float64          // of the store's clocks
	step   time.Duration    // of its dates
	fronts [2]time.Duration // how far the front ends' clocks are off
	past   []*edition       // the last one is there now, nil: the object does not exist
	writes int
}

// An edition is the object between two writes.
type edition struct {
	data    []byte
	version string
	n       int // of all writes
	at      time.Duration
	front   int
}

const keptEditions = 256

func (d *depot) current() *edition {
	if len(d.past) == 0 {
		return nil
	}
	return d.past[len(d.past)-1]
}

func (d *depot) add(e *edition) {
	if len(d.past) == keptEditions {
		d.past = append(d.past[:0], d.past[keptEditions/2:]...)
	}
	d.past = append(d.past, e)
}

// set writes without a condition.
func (d *depot) set(now time.Duration, front int, data []byte) *edition {
	d.writes++
	e := &edition{data: data, n: d.writes, at: now, front: front}
	if e.version = strconv.Itoa(d.writes); d.etags {
		h := fnv.New64a()
		_, _ = h.Write(data)
		e.version = strconv.FormatUint(h.Sum64(), 36)
	}
	d.add(e)
	return e
}

// put is a conditional write.
func (d *depot) put(now time.Duration, front int, version string, data []byte) (*edition, error) {
	switch c := d.current(); {
	case c == nil && version != "":
		return nil, cas.ErrVanished
	case c != nil && c.version != version:
		return nil, cas.ErrConflict
	}
	return d.set(now, front, data), nil
}

// date is the store's clock as the front end shows it.
func (d *depot) date(now time.Duration, front int) time.Time {
	return epoch.Add(time.Duration(float64(now)*d.rate) + d.fronts[front]).Truncate(d.step)
}

// view is e as an answer has it.
func (d *depot) view(now time.Duration, front int, e *edition) cas.Object {
	o := cas.Object{Now: d.date(now, front)}
	if e != nil {
		o.Exists, o.Data, o.Version, o.Modified = true, e.data, e.version, d.date(e.at, e.front)
	}
	return o
}

// numberOf tells which write made a version, for people; the last one, if several did.
func (d *depot) numberOf(version string) int {
	for i := len(d.past) - 1; i >= 0; i-- {
		if e := d.past[i]; e != nil && e.version == version {
			return e.n
		}
	}
	return 0
}

// A gist is what the simulator wants to know of a record.
type gist struct {
	free  bool
	token backends.Token
	id    string
	ttl   time.Duration
}

// gistOf finds it faster than a decoder would. It returns a zero gist for what is no record.
func gistOf(data []byte) (g gist) {
	token, err := strconv.ParseUint(string(value(data, `"token": `)), 10, 64)
	if err != nil {
		return g
	}
	g.token, g.free = backends.Token(token), bytes.Contains(data, []byte(`"state": "free"`))
	g.id = string(bytes.Trim(value(data, `"id": `), `"`))
	millis, _ := strconv.Atoi(string(value(data, `"ttl_ms": `))) // absent in a free record, perhaps
	g.ttl = time.Duration(millis) * time.Millisecond
	return g
}

func value(data []byte, key string) []byte {
	_, rest, found := bytes.Cut(data, []byte(key))
	if !found {
		return nil
	}
	end := bytes.IndexAny(rest, ",\n}")
	if end < 0 {
		return nil
	}
	return rest[:end]
}
