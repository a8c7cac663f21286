package azurelease_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
)

// Rules that the usual days do not touch: each test is about one, and fails
// without it.

// used leaves a free lease behind, and returns a backend that knows nothing of it.
func (m *model) used(t *testing.T) *azurelease.Backend {
	t.Helper()
	b := m.client(t)
	require.NoError(t, b.Release(t.Context(), acquire(t, b, "job")))
	return m.client(t)
}

// on does something when the first request of this kind is on its way.
func (m *model) on(o azure.Operation, do func()) {
	m.inject(o, fakestore.DelayedBefore(2*time.Second))
	time.AfterFunc(time.Second, do)
}

func (m *model) leaseState(t *testing.T) azure.LeaseState {
	t.Helper()
	look, ok := m.Look("job")
	require.True(t, ok)
	return look.Lease
}

func TestALateCreationOverwritesNothing(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		slow, quick := m.client(t), m.client(t)
		m.inject(azure.PutBlob, fakestore.DelayedBefore(5*time.Second))
		late := make(chan backends.Grant)
		go func() {
			g, err := slow.Acquire(t.Context(), "job", claim("slow"))
			if err != nil {
				t.Error(err)
			}
			late <- g
		}()
		time.Sleep(time.Second)
		m.layer.Inject(nil)
		g := acquire(t, quick, "job")
		g.Done = "all"
		require.NoError(t, quick.Release(t.Context(), g))
		next := <-late
		require.Equal(t, "all", next.Done)
		require.Greater(t, next.Token, g.Token)
	})
}

func TestAReleaseAfterAnothersWholeTermIsLost(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b, other := m.client(t), m.client(t)
		g := acquire(t, b, "job")
		time.Sleep(ttl)
		require.NoError(t, other.Release(t.Context(), acquire(t, other, "job")))
		require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
	})
}

func TestABreakIsOfTheVersionThatWasSeen(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b, operator := m.client(t), m.client(t)
		g := acquire(t, b, "job")
		m.inject(azure.BreakLease, fakestore.DelayedBefore(5*time.Second))
		broken := make(chan error)
		go func() { broken <- operator.BreakNow(t.Context(), "job", g.Version) }()
		time.Sleep(time.Second)
		m.layer.Inject(nil)
		require.NoError(t, b.Release(t.Context(), g))
		acquire(t, m.client(t), "job")
		require.ErrorIs(t, <-broken, backends.ErrLost)
		require.Equal(t, azure.Leased, m.leaseState(t))
	})
}

func TestWhatHasRunOutMeanwhileIsNotGranted(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.used(t)
		_, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		put := fakestore.Each(fakestore.LostAfter()).Where(azure.Is(azure.PutBlob))
		get := fakestore.Each(fakestore.DelayedBefore(ttl + time.Second)).Where(azure.Is(azure.GetBlob))
		m.layer.Inject(put.Or(get))
		acquire(t, b, "job")
		require.Equal(t, azure.Leased, m.leaseState(t))
	})
}

func TestWhatSomebodyElseLeasedIsHeldThoughAnAttemptIsOpen(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.used(t)
		m.layer.Inject(cut(azure.AcquireLease, never))
		_, err := b.Acquire(t.Context(), "job", claim("holder"))
		require.Error(t, err)
		m.layer.Inject(nil)
		m.forever(t, "job") // under the same ETag
		_, err = b.Acquire(t.Context(), "job", claim("holder"))
		require.ErrorIs(t, err, backends.ErrHeld)
	})
}

func TestSettlingCarriesDone(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		g := acquire(t, b, "job")
		g.Done = "all"
		require.NoError(t, b.Release(t.Context(), g))
		m.layer.Inject(cut(azure.AcquireLease, applied))
		g, err := b.Acquire(t.Context(), "job", claim("unlucky"))
		require.Error(t, err)
		m.layer.Inject(nil)
		require.NoError(t, b.Release(t.Context(), g))
		r, err := m.client(t).Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, "all", r.Done)
	})
}

// A field of a later version of this library, or of an operator.
func TestRecordingDoneKeepsWhatItDoesNotKnow(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.used(t)
		require.NoError(t, m.annotate(t, "job", "kept"))
		g := acquire(t, b, "job")
		g.Done = "all"
		require.NoError(t, b.Release(t.Context(), g))
		require.Equal(t, "kept", annotation(m.read("job")))

		g = acquire(t, b, "job")
		require.NoError(t, m.annotate(t, "job", "by somebody who knows the lease"))
		g.Done = "more"
		require.NoError(t, b.Release(t.Context(), g))
		require.Equal(t, "by somebody who knows the lease", annotation(m.read("job")))
	})
}

// Whoever comes after a lease that has run out may have read the old Done.
func TestDoneIsNotWrittenWhenTheLeaseHasRunOut(t *testing.T) {
	for name, o := range map[string]*azure.Options{"Refused": nil, "LikeAzurite": azure.LikeAzurite()} {
		t.Run(name, func(t *testing.T) {
			inModel(t, o, func(t *testing.T, m *model) {
				b := m.client(t)
				g := acquire(t, b, "job")
				time.Sleep(ttl)
				g.Done = "all"
				m.layer.ResetCounts()
				require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
				require.Equal(t, 1, count(m.layer).Writes, "once, and not to be had by asking again")
				r, err := b.Observe(t.Context(), "job")
				require.NoError(t, err)
				require.Empty(t, r.Done)
			})
		})
	}
}

// It may be leased by somebody who has not written yet.
func TestDoneIsNotWrittenWhenSomebodyElseHasLeasedTheBlob(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		g := acquire(t, b, "job")
		time.Sleep(ttl)
		m.forever(t, "job")
		g.Done = "all"
		require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
	})
}

// An edit under the lease, and then the end of the lease: the record is this term's,
// and the lease is not.
func TestDoneIsNotWrittenWhenTheLeaseWasBrokenAfterAnEdit(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		g := acquire(t, b, "job")
		require.NoError(t, m.annotate(t, "job", "note"))
		_, err := m.Break("job", 0)
		require.NoError(t, err)
		g.Done = "all"
		m.layer.ResetCounts()
		require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
		require.Equal(t, 1, count(m.layer).Writes)
	})
}

func TestAnAttemptWhoseRecordIsWrittenIsRecognisedByItsNonce(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.used(t)
		m.inject(azure.PutBlob, applied)
		m.layer.ResetCounts()
		acquire(t, b, "job")
		require.Equal(t, 2, count(m.layer).Writes, "its record is not written again")
	})
}

// What the memory says is free may by now be this process's own, unknowingly.
func TestAnOpenAttemptIsLookedAtFirst(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		require.NoError(t, b.Release(t.Context(), acquire(t, b, "job")))
		m.layer.Inject(cut(azure.AcquireLease, applied))
		_, err := b.Acquire(t.Context(), "job", claim("unlucky"))
		require.Error(t, err)
		m.layer.Inject(nil)
		m.layer.ResetCounts()
		acquire(t, b, "job")
		require.Equal(t, 0, m.layer.Counts()[string(azure.BreakLease)])
		require.Equal(t, 2, m.layer.Counts()[string(azure.AcquireLease)]+m.layer.Counts()[string(azure.ReleaseLease)],
			"it is settled, and then acquired: no request is wasted on a lease that may be the own")
	})
}

// A grant that comes with an error asks its caller to settle it. Where nothing is
// open there is none.
func TestAnErrorComesWithAGrantOnlyIfSomethingIsOpen(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *model, *azurelease.Backend){
		"ItMayNotCreate": func(t *testing.T, m *model, _ *azurelease.Backend) {
			require.NoError(t, m.Delete("job"))
			m.inject(azure.PutBlob, azure.Denied("AuthorizationPermissionMismatch"))
		},
		"ItMayNotLease": func(_ *testing.T, m *model, _ *azurelease.Backend) {
			m.inject(azure.AcquireLease, azure.Denied("AuthorizationPermissionMismatch"))
		},
		"SomebodyElseHasLeasedIt": func(t *testing.T, m *model, _ *azurelease.Backend) {
			m.on(azure.AcquireLease, func() { m.forever(t, "job") })
		},
		"SomebodyElseHasWrittenAndLeasedIt": func(t *testing.T, m *model, _ *azurelease.Backend) {
			m.on(azure.AcquireLease, func() {
				require.NoError(t, m.SetMetadata("job", map[string]string{"Note": "seen"}))
				m.forever(t, "job")
			})
		},
		"ItWasBrokenBeforeTheRecord": func(t *testing.T, m *model, _ *azurelease.Backend) {
			m.on(azure.PutBlob, func() {
				_, err := m.Break("job", 0)
				require.NoError(t, err)
				m.blind(1)
			})
		},
		"ItWasEditedAndGivenBack": func(t *testing.T, m *model, _ *azurelease.Backend) {
			m.on(azure.PutBlob, func() {
				require.NoError(t, m.annotate(t, "job", "by somebody who knows the lease"))
				m.blind(1)
			})
		},
		"AnEarlierOneWasSettled": func(t *testing.T, m *model, b *azurelease.Backend) {
			m.layer.Inject(cut(azure.AcquireLease, applied))
			_, err := b.Acquire(t.Context(), "job", claim("unlucky"))
			require.Error(t, err)
			m.blind(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.used(t)
				prepare(t, m, b)
				g, err := b.Acquire(t.Context(), "job", claim("holder"))
				require.Error(t, err)
				require.Nil(t, g.Proof)
			})
		})
	}
}

// blind loses all reads but the first few.
func (m *model) blind(after int) {
	faults := make([]fakestore.Fault, after+100)
	for i := range faults[after:] {
		faults[after+i] = fakestore.LostBefore()
	}
	m.inject(azure.GetBlob, faults...)
}

// What settling has freed is known to be free: the next term costs two requests.
func TestAfterASettlementTheLeaseIsKnownToBeFree(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.used(t)
		m.layer.Inject(cut(azure.AcquireLease, applied))
		g, err := b.Acquire(t.Context(), "job", claim("unlucky"))
		require.Error(t, err)
		m.layer.Inject(nil)
		require.NoError(t, b.Release(t.Context(), g))
		m.layer.ResetCounts()
		acquire(t, b, "job")
		require.Equal(t, budget.Known, count(m.layer))
	})
}

// A blob that is no record is replaced when nobody leases it any more.
func TestABreakReplacesNothingThatIsStillLeased(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		require.NoError(t, overwrite(m.direct(t), "job", "", []byte("not a record")))
		m.leaseFor(t, "job", 30)
		b := m.client(t)
		m.layer.ResetCounts()
		require.NoError(t, b.Break(t.Context(), "job", ""))
		require.Equal(t, 1, count(m.layer).Writes, "the break, and no write that would be refused")
		require.Equal(t, "not a record", string(m.read("job")))
	})
}

func TestOfTwoThatMakeTheContainerBothGoOn(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		m.Vanish()
		m.on(azure.CreateContainer, m.Create) // the other was quicker
		acquire(t, m.creating(t), "job")
	})
}

// A hundred million names would be a leak; what is forgotten costs a request.
func TestTheMemoryIsBounded(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		const more = 4096 + 500
		for i := range more {
			_, err := b.Observe(t.Context(), fmt.Sprint("job-", i))
			require.NoError(t, err)
		}
		require.Equal(t, 4096, azurelease.Known(b))
	})
}

func TestTheOpenAttemptsThatAreRememberedAreBounded(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.used(t)
		_, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		m.layer.Inject(fakestore.Always(fakestore.LostBefore()).Where(azure.Is(azure.AcquireLease)))
		for range 40 {
			_, err := b.Acquire(t.Context(), "job", claim("unlucky"))
			require.Error(t, err)
		}
		require.Equal(t, 16, azurelease.Abandoned(b, "job"))
		m.layer.Inject(nil)
		acquire(t, b, "job")
		require.Zero(t, azurelease.Abandoned(b, "job"), "and none of them can have an effect any more")
	})
}

// Something between may keep copies; a copy of a record is a lie.
func TestARecordIsNotToBeCached(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		seen := 0
		m.layer.Inject(func(r *http.Request) fakestore.Fault {
			if azure.Is(azure.PutBlob)(r) {
				seen++
				require.Equal(t, "no-store", r.Header.Get("X-Ms-Blob-Cache-Control"))
			}
			return fakestore.Fault{}
		})
		acquire(t, m.client(t), "job")
		require.Equal(t, 2, seen)
	})
}

// The answer to the first was lost, and then the rights were: the lease may be the
// own all the same.
func TestAnAttemptThatMayHaveTakenTheLeaseIsSettledWhateverItsRepetitionMet(t *testing.T) {
	gone := refusal(http.StatusNotFound, "ContainerNotFound")
	gone.Dropped = true
	for name, second := range map[string]fakestore.Fault{
		"Denied":      azure.Denied("AuthenticationFailed"),
		"NoContainer": gone,
		"Busy":        azure.ServerBusy(time.Second),
		"Lost":        never,
	} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.used(t)
				m.inject(azure.AcquireLease, applied, second)
				g, err := b.Acquire(t.Context(), "job", claim("unlucky"))
				require.Error(t, err)
				require.Equal(t, azure.Leased, m.leaseState(t))
				require.NotNil(t, g.Proof, "the caller is told that something is open")
				acquire(t, b, "job") // and so is the next attempt
			})
		})
	}
}

// It is not the last holder who holds what Azure refuses, and nothing of that
// holder's is told as if.
func TestALeaseThatIsRefusedThoughItSeemedFreeIsNobodysOneKnows(t *testing.T) {
	inModel(t, &azure.Options{ExpiryGrace: time.Minute}, func(t *testing.T, m *model) {
		c := claim("gone")
		c.Meta = map[string]string{"address": "gone:80"}
		last, err := m.client(t).Acquire(t.Context(), "job", c)
		require.NoError(t, err)
		time.Sleep(ttl)
		_, err = m.client(t).Acquire(t.Context(), "job", claim("next"))
		var held *backends.HeldError
		require.ErrorAs(t, err, &held)
		r := held.Record
		require.Equal(t, backends.Held, r.State)
		require.Empty(t, r.Holder)
		require.Empty(t, r.ID)
		require.Empty(t, r.Meta)
		require.Zero(t, r.TTL)
		require.Equal(t, last.Token, r.Token, "the highest so far: the next one is above it")
		require.EqualError(t, err, "lease is held by somebody unknown")
	})
}

func TestABreakOfNothingSaysSo(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		for _, version := range []string{"", `"0x8D"`} {
			err := b.Break(t.Context(), "job", version)
			require.ErrorIs(t, err, backends.ErrLost)
			require.ErrorContains(t, err, "there is no blob")
			require.NotContains(t, err.Error(), `""`)
		}
		acquire(t, b, "job")
		require.ErrorContains(t, b.Break(t.Context(), "job", `"0x8D"`), `it is not in version "\"0x8D\"" any more`)
	})
}
