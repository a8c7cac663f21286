package s3lease_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/internal/fakestore/s3checks"
	"github.com/bloblease/bloblease/internal/sim"
	"github.com/bloblease/bloblease/internal/sim/days"
)

// dayKinds are the stores of which a day is tried.
func dayKinds() []kind {
	return []kind{
		{Options: s3.Options{Region: s3checks.Region, Clocks: apart()}},
		{versioned: true},
		away(s3.Options{UnquotedETags: true}),
		{Options: s3.Options{OpaqueETags: true, Clocks: apart()}, versioned: true},
	}
}

// day is some time on a store of this kind.
func (k kind) day(t *testing.T, seed uint64, length time.Duration) days.Report {
	m := newModel(t, &k.Options)
	if k.versioned {
		m.KeepVersions()
	}
	return days.Day{
		Seed: seed, Length: length, TTL: 30 * time.Second, Poll: 10 * time.Second,
		Store: m.service, Kind: s3.Kind,
		Open: func(machine *sim.Machine, rt http.RoundTripper) (backends.Backend, error) {
			return s3lease.NewAt(machine, s3checks.NewClient(rt, k.client...), bucketName, &k.own)
		},
		Busy: func(after time.Duration) fakestore.Fault {
			if after < longestConflict {
				return s3.Conflict("ConditionalRequestConflict")
			}
			return s3.SlowDown(after)
		},
		Broken: s3.InternalError,
		Lied: func(*http.Request) fakestore.Fault {
			return saying(http.StatusPreconditionFailed, "PreconditionFailed")
		},
		Acts: m.operator(),
	}.Run(t)
}

const longestConflict = 5 * time.Second

// operator is what somebody may do who has the right to: delete the object and bring
// it back, restore an older version, free it by force, and edit it.
func (m *model) operator() []func(*days.World) {
	var saved s3.Saved
	act := func(what string, f func(*days.World)) func(*days.World) {
		return func(w *days.World) {
			if _, ok := m.Look("job"); ok || what == "undeletes" {
				f(w)
				w.Count(what)
			}
		}
	}
	edit := act("edits", func(*days.World) { m.annotate("job", "seen") })
	return []func(*days.World){
		edit, edit,
		act("deletes", func(w *days.World) { m.Delete("job"); w.Void() }),
		act("undeletes", func(w *days.World) { m.Undelete("job"); w.Void() }),
		act("restores", func(w *days.World) {
			old := saved
			saved = m.Save("job")
			if old != (s3.Saved{}) {
				m.Restore("job", old)
				w.Void()
			}
		}),
		act("breaks", func(w *days.World) { m.set("job", "state", "free"); w.Void() }),
	}
}

// annotate adds a field to a record, set changes one.
func (m *model) annotate(name, note string) { m.set(name, "x-note", note) }

func (m *model) set(name, field, value string) {
	look, _ := m.Look(name)
	var fields map[string]any
	if json.Unmarshal(look.Body, &fields) != nil {
		return
	}
	fields[field] = value
	if body, err := json.Marshal(fields); err == nil {
		m.Overwrite(name, body)
	}
}

// seeds is how many days are tried: few by default, all for the proof. The race
// detector makes a day ten times as long.
func seeds() uint64 {
	proving := os.Getenv("BLOBLEASE_PROVE") != ""
	switch {
	case proving && !raced:
		return 200
	case testing.Short():
		return 1
	case raced && !proving:
		return 2
	}
	return 10
}

var numbers = regexp.MustCompile(`#\d+`)

func TestADayCanBeLivedAgain(t *testing.T) {
	live := func() (events []string) {
		synctest.Test(t, func(t *testing.T) {
			report := dayKinds()[1].day(t, 5, 2*time.Hour)
			require.Empty(t, report.Violations)
			for _, line := range report.Tape {
				if strings.HasSuffix(line, "the faults end") {
					break // in the end all stop at the same moment, in any order
				}
				event, _, _ := strings.Cut(line, ", with token") // whose last bits are random
				events = append(events, numbers.ReplaceAllString(event, "#"))
			}
			slices.Sort(events) // things of one instant come in any order, and so do their numbers
		})
		require.Greater(t, len(events), 100)
		return events
	}
	require.Equal(t, live(), live())
}

func TestNoTwoBelieveInADayOfChaos(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var total days.Report
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds() {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					all := dayKinds()
					report := all[seed%uint64(len(all))].day(t, seed, 24*time.Hour)
					require.Empty(t, report.Violations, "the tape:\n%s", strings.Join(report.Tape, "\n"))
					mu.Lock()
					defer mu.Unlock()
					total.Add(report)
				})
			})
		}
	})
	t.Logf("%d worlds of a day: %v", seeds(), total)
	require.NotZero(t, total.Counts["terms"])
	require.NotZero(t, total.Counts["lost"])
}
