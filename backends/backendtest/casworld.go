package backendtest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
)

// NewWorld returns the World of a backend that is a cas.Engine over the stores
// that open returns. Each of these is another client of one and the same store. Only
// Delete is left for the caller to fill in.
//
// If the backend's requests can be disturbed further down, at its HTTP client
// for example, that proves more: replace New, Count, Faults and Redate.
func NewWorld(t *testing.T, o cas.Options, open func() cas.Store) *World {
	t.Helper()
	root := NewStore(open())
	t.Cleanup(root.Close)
	w := root.world(o)
	w.New = func() backends.Backend { return cas.New(root.Beside(open()), o) }
	w.operate(open())
	return w
}

// world is what follows from the network and from the options of an engine.
func (s *Store) world(o cas.Options) *World {
	w := &World{
		Count:    s.Count,
		Faults:   s.Inject,
		Redate:   s.Redate,
		Watching: func(record, own time.Duration) Window { return stopwatch(max(record, own)) },
		Budget:   CAS,
	}
	if o.Doubtful {
		w.Budget.Once = Count{Writes: 1}
	}
	if o.Dates.Trusted {
		w.FirstLook = func(record, own time.Duration) Window { return byDate(max(record, own), o.Dates) }
	}
	return w
}

// stopwatch is T(1+ε).
func stopwatch(ttl time.Duration) Window {
	d := ttl + ttl/100
	return Window{NotBefore: d, By: d}
}

// byDate is T(1+2ε) and what the dates may be off; each of two dates is itself
// off by the granularity at the most.
func byDate(ttl time.Duration, d cas.Dates) Window {
	sure := ttl + 2*ttl/100 + d.Skew
	return Window{NotBefore: sure, By: sure + 2*d.Granularity}
}

// operate fills in the operator's acts, except Delete.
func (w *World) operate(s cas.Store) {
	w.Read = func(name string) []byte {
		o, err := s.Load(context.Background(), name)
		if err != nil || !o.Exists {
			return nil
		}
		return append([]byte{}, o.Data...)
	}
	w.Overwrite = func(name string, data []byte) error {
		o, err := s.Load(context.Background(), name)
		if err == nil {
			_, err = s.Put(context.Background(), name, o.Version, data)
		}
		return err
	}
	w.Annotate = func(name, note string) error { return w.annotate(name, note) }
	w.Annotation = func(name string) string { return annotation(w.Read(name)) }
}

// The unknown field of an annotated record.
const noteKey = "x-note"

func (w *World) annotate(name, note string) error {
	fields := fieldsOf(w.Read(name))
	if fields == nil {
		return fmt.Errorf("the record of %q is no JSON object", name)
	}
	value, err := json.Marshal(map[string]string{"text": note})
	if err != nil {
		return err
	}
	fields[noteKey] = value
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return w.Overwrite(name, data)
}

func annotation(data []byte) string {
	var note struct{ Text string }
	if json.Unmarshal(fieldsOf(data)[noteKey], &note) != nil {
		return ""
	}
	return note.Text
}

// fieldsOf returns the fields of a JSON object, nil if data is none.
func fieldsOf(data []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil
	}
	return fields
}
