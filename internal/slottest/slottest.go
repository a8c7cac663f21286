// Package slottest holds a backend to what leader.Once promises of slots. It takes the
// harness that the backend brings to package backendtest, and runs in bubbles, where
// nights take no time.
package slottest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// Run runs the checks, each on an empty store.
func Run(t *testing.T, h backendtest.Harness) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*world)
	}{
		{"TwoReplicasThatStartSecondsApartRunTheJobOnce", startSecondsApart},
		{"TwentyReplicasRunTheJobOnce", twenty},
		{"ASlotThatIsDoneTakesOneRead", doneTakesOneRead},
		{"ASlotTakesTheRequestsOfALease", openTakesTheBudget},
		{"ACrashLeavesTheSlotToWhoWaits", aCrash},
		{"ATroubledReleaseIsResolvedByReading", aTroubledRelease},
		{"WhatIsRecordedCountsThoughTheLeaseIsNotFreed", recordedButNotFreed},
		{"NothingIsSaidToBeRecordedThatIsNot", neverRecorded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(&world{T: t, World: h.Open(t)}) })
		})
	}
}

// A world is one check under way.
type world struct {
	*testing.T
	*backendtest.World

	mu   sync.Mutex
	runs int
}

const night = 24 * time.Hour

// slots are one slot of each kind that is due now.
func slots() map[string]leader.Slot {
	return map[string]leader.Slot{
		"at":    leader.SlotAt(time.Now()),
		"id":    leader.SlotID("the report of " + time.Now().Format(time.DateOnly)),
		"every": leader.Every(night, time.Since(time.Now().Truncate(night))),
	}
}

// replica is another process, which knows nothing of what others did.
func (w *world) replica(name string) *mutex.Mutex {
	w.Helper()
	m, err := mutex.New(w.New(), name, nil)
	require.NoError(w, err)
	return m
}

// work is a job that takes d.
func (w *world) work(d time.Duration) func(context.Context, *mutex.Lease) error {
	return func(ctx context.Context, _ *mutex.Lease) error {
		w.mu.Lock()
		w.runs++
		w.mu.Unlock()
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ran is how often the job was begun since it was last asked.
func (w *world) ran() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.runs
	w.runs = 0
	return n
}

// done makes sure that a new replica finds the slot done.
func (w *world) done(name string, slot leader.Slot, why string) {
	w.Helper()
	ran, err := leader.Once(w.Context(), w.replica(name), slot, w.work(0), nil)
	require.NoError(w, err, why)
	require.False(w, ran, why)
}

// Two replicas start at 02:00, the job takes a second, their clocks are three apart.
func startSecondsApart(w *world) {
	for kind, slot := range slots() {
		first, err := leader.Once(w.Context(), w.replica(kind), slot, w.work(time.Second), nil)
		require.NoError(w, err, kind)
		require.True(w, first, kind)
		time.Sleep(2 * time.Second)
		second, err := leader.Once(w.Context(), w.replica(kind), slot, w.work(time.Second), nil)
		require.NoError(w, err, kind)
		require.False(w, second, kind)
		require.Equal(w, 1, w.ran(), kind)
	}
}

func twenty(w *world) {
	for kind, slot := range slots() {
		var all sync.WaitGroup
		var mu sync.Mutex
		ran := 0
		for i := range 20 {
			all.Go(func() {
				time.Sleep(time.Duration(i%7) * time.Second)
				r, err := leader.Once(w.Context(), w.replica(kind), slot, w.work(20*time.Second), nil)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					w.Errorf("%s: %v", kind, err)
				}
				if r {
					ran++
				}
			})
		}
		all.Wait()
		require.Equal(w, 1, ran, kind)
		require.Equal(w, 1, w.ran(), kind)
	}
}

func doneTakesOneRead(w *world) {
	for kind, slot := range slots() {
		_, err := leader.Once(w.Context(), w.replica(kind), slot, w.work(0), nil)
		require.NoError(w, err)
		before := w.Count()
		w.done(kind, slot, kind)
		require.Equal(w, backendtest.Count{Reads: 1}, w.Count().Since(before), kind)
	}
}

// The look is the read that a cold acquisition needs anyway.
func openTakesTheBudget(w *world) {
	m := w.replica("job") // its first acquisition may cost more
	_, err := leader.Once(w.Context(), m, leader.SlotID("first"), w.work(0), nil)
	require.NoError(w, err)
	before := w.Count()
	_, err = leader.Once(w.Context(), m, leader.SlotID("second"), w.work(0), nil)
	require.NoError(w, err)
	want := backendtest.Count{Reads: 1, Writes: w.Budget.Known.Writes + w.Budget.Done.Writes}
	require.Equal(w, want, w.Count().Since(before))
}

// crash runs the job in a process that dies in the middle of it.
func (w *world) crash(name string, slot leader.Slot) {
	died := make(chan struct{})
	go func() {
		defer close(died)
		_, _ = leader.Once(context.Background(), w.replica(name), slot, func(context.Context, *mutex.Lease) error {
			time.Sleep(time.Second)
			runtime.Goexit()
			return nil
		}, nil)
	}()
	<-died
}

func aCrash(w *world) {
	for kind, slot := range slots() {
		w.crash(kind, slot)
		ran, err := leader.Once(w.Context(), w.replica(kind), slot, w.work(time.Second), nil)
		require.NoError(w, err, kind)
		require.True(w, ran, kind)
		w.done(kind, slot, kind)
	}
}

// during runs the job of a slot, and then lets s befall what follows.
func (w *world) during(name string, slot leader.Slot, s backendtest.Schedule) error {
	w.Helper()
	defer w.Faults(nil)
	ran, err := leader.Once(w.Context(), w.replica(name), slot, func(context.Context, *mutex.Lease) error {
		w.Faults(s)
		return nil
	}, nil)
	require.True(w, ran)
	return err
}

func (w *world) needFaults() {
	if w.Faults == nil {
		w.Skip("the harness has no Faults")
	}
}

// Each single thing that may befall one of the requests that record the slot.
func aTroubledRelease(w *world) {
	w.needFaults()
	faults := map[string]backendtest.Fault{
		"lost":                   backendtest.LostBefore(),
		"answer lost":            backendtest.LostAfter(),
		"refused though applied": backendtest.Conflict(),
		"throttled":              backendtest.Refused(backendtest.Busy(15 * time.Second)),
		"throttled, but applied": backendtest.RefusedAfter(backendtest.Busy(15 * time.Second)),
		"hung":                   backendtest.Hung(),
		"hung, but applied":      backendtest.HungAfter(),
		"twice":                  backendtest.Twice(2 * time.Second),
	}
	for why, fault := range faults {
		for n := range w.Budget.Done.Writes {
			name, slot := fmt.Sprint(why, n), leader.SlotID("x")
			err := w.during(name, slot, backendtest.Nth(n+1, fault).Where(backendtest.Request.Writes))
			require.NoError(w, err, name)
			w.done(name, slot, name)
		}
	}
}

// What frees the lease never arrives. Where that is the write that records the slot,
// only its answer is lost.
func recordedButNotFreed(w *world) {
	w.needFaults()
	first := true
	s := func(backendtest.Request) backendtest.Fault {
		if first {
			first = false
			return backendtest.LostAfter()
		}
		return backendtest.LostBefore()
	}
	slot := leader.SlotID("x")
	require.NoError(w, w.during("job", slot, backendtest.Schedule(s).Where(backendtest.Request.Writes)))
	w.done("job", slot, "by one read, though the lease may have to run out")
	ran, err := leader.Once(w.Context(), w.replica("job"), leader.SlotID("y"), w.work(0), nil)
	require.NoError(w, err)
	require.True(w, ran, "the next slot")
	w.done("job", slot, "the old slot is still known")
}

// Nothing arrives at all, so the slot is not recorded, and is run again.
func neverRecorded(w *world) {
	w.needFaults()
	slot := leader.SlotID("x")
	err := w.during("job", slot, backendtest.Always(backendtest.LostBefore()))
	require.ErrorIs(w, err, leader.ErrNotRecorded)
	r, err := w.New().Observe(w.Context(), "job")
	require.NoError(w, err)
	require.Empty(w, r.Done)
	ran, err := leader.Once(w.Context(), w.replica("job"), slot, w.work(0), nil)
	require.NoError(w, err)
	require.True(w, ran)
}
