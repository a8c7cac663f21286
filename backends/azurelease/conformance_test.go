package azurelease_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
	"github.com/bloblease/bloblease/internal/slottest"
)

// budget is what users of Azure pay for.
var budget = backendtest.Budget{
	First:   backendtest.Count{Reads: 1, Writes: 3},
	Cold:    backendtest.Count{Reads: 1, Writes: 2},
	Known:   backendtest.Count{Writes: 2},
	Renew:   backendtest.Count{Writes: 1},
	Release: backendtest.Count{Writes: 1},
	Done:    backendtest.Count{Writes: 2},
	Poll:    backendtest.Count{Reads: 1},
	Observe: backendtest.Count{Reads: 1},
	Refused: backendtest.Count{Reads: 1, Writes: 1},
}

func TestConformance(t *testing.T) { eachModel(t, backendtest.Run) }

func TestSlots(t *testing.T) { eachModel(t, slottest.Run) }

// The model as Azure is documented, as users report it to be, and as Azurite is.
func eachModel(t *testing.T, run func(*testing.T, backendtest.Harness)) {
	for name, o := range map[string]*azure.Options{
		"AsDocumented": nil,
		"AsReported": {
			ExpiredWrite: azure.Accepted, ExpiryGrace: time.Minute, RenewExpired: azure.Never,
			WrongLeaseConflict: true, TargetConditionNotMet: true, ConditionsFirst: true,
		},
		"LikeAzurite": azure.LikeAzurite(),
	} {
		t.Run(name, func(t *testing.T) {
			run(t, backendtest.Harness{Bubble: true, Open: func(t *testing.T) *backendtest.World {
				return modelWorld(t, o)
			}})
		})
	}
}

func modelWorld(t *testing.T, o *azure.Options) *backendtest.World {
	m := newModel(t, o)
	w := &backendtest.World{
		New:        func() backends.Backend { return breaking{m.client(t)} },
		Count:      func() backendtest.Count { return count(m.layer) },
		Faults:     func(s backendtest.Schedule) { m.layer.Inject(schedule(containerName, s)) },
		Read:       m.read,
		Overwrite:  func(name string, data []byte) error { return overwrite(m.direct(t), name, "", data) },
		Delete:     m.remove,
		Annotate:   func(name, note string) error { return m.annotate(t, name, note) },
		Annotation: func(name string) string { return annotation(m.read(name)) },
		Budget:     budget,
	}
	w.FirstLook = func(record, _ time.Duration) backendtest.Window {
		by := record
		if o != nil {
			by += o.ExpiryGrace
		}
		return backendtest.Window{NotBefore: record, By: by}
	}
	return w
}

// breaking is a backend whose Break is the one that the suite means.
type breaking struct{ *azurelease.Backend }

func (b breaking) Break(ctx context.Context, name, version string) error {
	return b.BreakNow(ctx, name, version)
}

func (m *model) read(name string) []byte {
	look, ok := m.Look(name)
	if !ok {
		return nil
	}
	return append([]byte{}, look.Body...)
}

// remove deletes a blob as an operator has to: a lease is broken first.
func (m *model) remove(name string) error {
	if look, _ := m.Look(name); look.Lease == azure.Leased {
		if _, err := m.Break(name, 0); err != nil {
			return err
		}
	}
	return m.Delete(name)
}

// annotate adds a field to the record, as somebody might who knows the lease ID.
func (m *model) annotate(t *testing.T, name, note string) error {
	look, ok := m.Look(name)
	if !ok {
		return fmt.Errorf("there is no blob %q", name)
	}
	var fields map[string]any
	if err := json.Unmarshal(look.Body, &fields); err != nil {
		return err
	}
	fields["x-note"] = map[string]string{"text": note}
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	id := ""
	if look.Lease == azure.Leased {
		id = look.LeaseID
	}
	return overwrite(m.direct(t), name, id, body)
}

func annotation(record []byte) string {
	var fields struct {
		Note struct{ Text string } `json:"x-note"`
	}
	if json.Unmarshal(record, &fields) != nil {
		return ""
	}
	return fields.Note.Text
}
