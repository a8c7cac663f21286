package azurelease_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/fakestore"
	"github.com/bloblease/bloblease/internal/fakestore/azure"
)

const ttl = 20 * time.Second

// inModel runs a test in a bubble with a model.
func inModel(t *testing.T, o *azure.Options, f func(*testing.T, *model)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newModel(t, o)) })
}

func claim(holder string) backends.Claim { return backends.Claim{Holder: holder, TTL: ttl} }

func acquire(t testing.TB, b backends.Backend, name string) backends.Grant {
	t.Helper()
	g, err := b.Acquire(t.Context(), name, claim("holder"))
	require.NoError(t, err)
	return g
}

// left is what is left of a lease: the state of the Azure lease, and the record.
type left struct {
	lease azure.LeaseState
	token string // whose token it is: nobody's, the one's before, or that of this term
	done  string
}

// leftOf looks at a lease, whose token was before, and is now if this term wrote.
func (m *model) leftOf(t *testing.T, before backends.Token) left {
	t.Helper()
	look, ok := m.Look("job")
	if !ok {
		return left{}
	}
	var r struct {
		Token backends.Token
		Done  string
	}
	require.NoError(t, json.Unmarshal(look.Body, &r))
	l := left{lease: look.Lease, token: "own", done: r.Done}
	switch r.Token {
	case 1:
		l.token = "placeholder"
	case before:
		l.token = "before"
	}
	return l
}

// cut does a fault to the first request of a kind. Nothing gets through after
// it: the process has ended, or has lost its network.
func cut(o azure.Operation, f fakestore.Fault) fakestore.Schedule {
	gone := false
	return func(r *http.Request) fakestore.Fault {
		if gone {
			return fakestore.LostBefore()
		}
		if azure.Is(o)(r) {
			gone = true
			return f
		}
		return fakestore.Fault{}
	}
}

var (
	never   = fakestore.LostBefore() // the process ends before the request
	applied = fakestore.LostAfter()  // it ends before the answer
)

// successor makes sure that another process is granted the lease, now or when
// the lease has run out, and with a higher token than anybody has seen.
func (m *model) successor(t *testing.T, l left, since time.Time, above backends.Token) {
	t.Helper()
	m.layer.Inject(nil)
	other := m.client(t)
	if l.lease == azure.Leased {
		time.Sleep(time.Until(since.Add(ttl - time.Millisecond)))
		_, err := other.Acquire(t.Context(), "job", claim("successor"))
		require.ErrorIs(t, err, backends.ErrHeld, "its time is not up")
		time.Sleep(time.Millisecond)
	}
	g := acquire(t, other, "job")
	assert.Greater(t, g.Token, above)
}

// These are the rows of the table in the package's comment.
func TestWhatAProcessLeavesThatEndsInAnAcquisition(t *testing.T) {
	for _, step := range []struct {
		name string
		used bool // there is a blob already
		at   azure.Operation
		fate fakestore.Fault
		left left
	}{
		{"BeforeItCreates", false, azure.PutBlob, never, left{}},
		{"WhenItHasCreated", false, azure.PutBlob, applied, left{azure.Available, "placeholder", ""}},
		{"BeforeItLeases", true, azure.AcquireLease, never, left{azure.Available, "before", ""}},
		{"WhenItHasLeased", true, azure.AcquireLease, applied, left{azure.Leased, "before", ""}},
		{"BeforeItRecords", true, azure.PutBlob, never, left{azure.Leased, "before", ""}},
		{"WhenItHasRecorded", true, azure.PutBlob, applied, left{azure.Leased, "own", ""}},
	} {
		t.Run(step.name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				before := backends.Grant{Token: 1}
				if step.used {
					b := m.client(t)
					before = acquire(t, b, "job")
					require.NoError(t, b.Release(t.Context(), before))
				}
				time.Sleep(time.Minute)
				m.layer.Inject(cut(step.at, step.fate))
				start := time.Now()
				_, err := m.client(t).Acquire(t.Context(), "job", claim("unlucky"))
				require.Error(t, err)
				require.NotErrorIs(t, err, backends.ErrHeld)
				require.NotErrorIs(t, err, backends.ErrLost)
				require.Equal(t, step.left, m.leftOf(t, before.Token))
				m.successor(t, step.left, start, before.Token)
			})
		})
	}
}

func TestWhatAProcessLeavesThatEndsInARelease(t *testing.T) {
	for _, step := range []struct {
		name string
		at   azure.Operation
		fate fakestore.Fault
		left left
	}{
		{"BeforeItRecordsDone", azure.PutBlob, never, left{azure.Leased, "before", ""}},
		{"WhenItHasRecordedDone", azure.PutBlob, applied, left{azure.Leased, "before", "all"}},
		{"BeforeItReleases", azure.ReleaseLease, never, left{azure.Leased, "before", "all"}},
		{"WhenItHasReleased", azure.ReleaseLease, applied, left{azure.Available, "before", "all"}},
	} {
		t.Run(step.name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.client(t)
				start := time.Now()
				g := acquire(t, b, "job")
				g.Done = "all"
				m.layer.Inject(cut(step.at, step.fate))
				err := b.Release(t.Context(), g)
				require.Error(t, err)
				require.NotErrorIs(t, err, backends.ErrLost)
				require.Equal(t, step.left, m.leftOf(t, g.Token))
				m.successor(t, step.left, start, g.Token)
				r, err := m.client(t).Observe(t.Context(), "job")
				require.NoError(t, err)
				require.Equal(t, step.left.done, r.Done, "it is carried forward")
			})
		})
	}
}

// A process that lives on, and has lost one answer only, knows what it has.
func TestOneLostAnswerChangesNothing(t *testing.T) {
	for _, o := range []azure.Operation{azure.GetBlob, azure.PutBlob, azure.AcquireLease, azure.RenewLease, azure.ReleaseLease} {
		for _, f := range []fakestore.Fault{never, applied, azure.OperationTimedOut(), fakestore.Twice(0), fakestore.Twice(time.Second)} {
			t.Run(string(o)+", "+f.String(), func(t *testing.T) {
				inModel(t, nil, func(t *testing.T, m *model) {
					b := m.client(t)
					m.inject(o, f)
					g, err := b.Acquire(t.Context(), "job", claim("holder"))
					if o == azure.GetBlob && err != nil { // the first read of all: ask again
						g, err = b.Acquire(t.Context(), "job", claim("holder"))
					}
					require.NoError(t, err)
					m.inject(o, f)
					g, err = b.Renew(t.Context(), g)
					require.NoError(t, err)
					g.Done = "all"
					m.inject(o, f)
					require.NoError(t, b.Release(t.Context(), g))
					require.Equal(t, left{azure.Available, "before", "all"}, m.leftOf(t, g.Token))
				})
			})
		}
	}
}

// What cannot be recorded is not kept from others.
func TestALeaseWhoseRecordCannotBeWrittenIsGivenBack(t *testing.T) {
	for name, f := range map[string]fakestore.Fault{
		"Denied":    azure.Denied("AuthorizationPermissionMismatch"),
		"Busy":      azure.ServerBusy(time.Second),
		"Immutable": refusal(http.StatusConflict, "BlobImmutableDueToPolicy"),
		"Broken":    refusal(http.StatusInternalServerError, "InternalError"),
	} {
		f.Dropped = true
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.client(t)
				before := acquire(t, b, "job")
				require.NoError(t, b.Release(t.Context(), before))
				m.layer.Inject(fakestore.Always(f).Where(azure.Is(azure.PutBlob)))
				g, err := b.Acquire(t.Context(), "job", claim("unlucky"))
				require.Error(t, err)
				require.Equal(t, left{azure.Available, "before", ""}, m.leftOf(t, before.Token))
				m.layer.Inject(nil)
				next := acquire(t, m.client(t), "job")
				require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
				look, _ := m.Look("job")
				require.Equal(t, azure.Leased, look.Lease)
				require.Greater(t, next.Token, before.Token)
			})
		})
	}
}

// A slot that is not known to be recorded is not given to the next one.
func TestALeaseIsNotReleasedBeforeDoneIsRecorded(t *testing.T) {
	for name, f := range map[string]fakestore.Fault{
		"Busy":    azure.ServerBusy(time.Second),
		"Denied":  azure.Denied("AuthorizationPermissionMismatch"),
		"Unknown": azure.OperationTimedOut(),
		"Lost":    never,
	} {
		f.Dropped = true
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.client(t)
				g := acquire(t, b, "job")
				g.Done = "all"
				m.layer.Inject(fakestore.Always(f).Where(azure.Is(azure.PutBlob)))
				require.Error(t, b.Release(t.Context(), g))
				require.Equal(t, left{azure.Leased, "before", ""}, m.leftOf(t, g.Token))
				m.layer.Inject(nil)
				require.NoError(t, b.Release(t.Context(), g))
				require.Equal(t, left{azure.Available, "before", "all"}, m.leftOf(t, g.Token))
			})
		})
	}
}

// The lease was acquired, and the same request is under way once more. Releasing
// alone would let that acquire it again, for nobody.
func TestADuplicateOfAnAcquisitionTakesNothingAfterItsRelease(t *testing.T) {
	for name, used := range map[string]bool{"OfANewName": false, "OfAFreeLease": true} {
		t.Run(name, func(t *testing.T) {
			inModel(t, nil, func(t *testing.T, m *model) {
				b := m.client(t)
				if used {
					require.NoError(t, b.Release(t.Context(), acquire(t, b, "job")))
				}
				m.layer.Inject(cut(azure.AcquireLease, fakestore.Fault{Again: []time.Duration{5 * time.Second}, Err: fakestore.ErrReset}))
				g, err := b.Acquire(t.Context(), "job", claim("unlucky"))
				require.Error(t, err)
				m.layer.Inject(nil)
				require.NoError(t, b.Release(t.Context(), g))
				m.layer.Wait()
				look, _ := m.Look("job")
				require.Equal(t, azure.Available, look.Lease)
				require.Greater(t, acquire(t, m.client(t), "job").Token, g.Token)
			})
		})
	}
}

// The write of Done arrives after the lease has run out, on an account that
// accepts such writes. Its answer is too late for the process that sent it.
func TestALateWriteOfDoneIsNotTheNextTerms(t *testing.T) {
	for name, o := range map[string]*azure.Options{"Refused": nil, "Accepted": {ExpiredWrite: azure.Accepted}} {
		t.Run(name, func(t *testing.T) {
			inModel(t, o, func(t *testing.T, m *model) {
				b := m.client(t)
				g := acquire(t, b, "job")
				g.Done = "all"
				m.inject(azure.PutBlob, fakestore.DelayedBefore(ttl+5*time.Second))
				ctx, cancel := contextWithin(t, time.Second)
				defer cancel()
				err := b.Release(ctx, g)
				require.Error(t, err)
				require.NotErrorIs(t, err, backends.ErrLost)
				time.Sleep(ttl)
				other := m.client(t)
				next := acquire(t, other, "job")
				require.Empty(t, next.Done)
				time.Sleep(5 * time.Second)
				r, err := m.client(t).Observe(t.Context(), "job")
				require.NoError(t, err)
				require.Equal(t, next.ID, r.ID)
				require.Empty(t, r.Done)
				require.ErrorIs(t, b.Release(t.Context(), g), backends.ErrLost)
				_, err = other.Renew(t.Context(), next)
				require.NoError(t, err)
			})
		})
	}
}

// A duplicate of the record's write, long on its way, must not undo the mark.
func TestADuplicateOfTheRecordDoesNotUndoDone(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		acquired := acquire(t, b, "job")
		require.NoError(t, b.Release(t.Context(), acquired))
		m.inject(azure.PutBlob, fakestore.Twice(5*time.Second))
		g := acquire(t, b, "job")
		g.Done = "all"
		m.inject(azure.ReleaseLease, fakestore.DelayedBefore(10*time.Second))
		require.NoError(t, b.Release(t.Context(), g))
		require.Equal(t, left{azure.Available, "before", "all"}, m.leftOf(t, g.Token))
	})
}

// The request for the release, long on its way, is that of the term before.
func TestALateReleaseDoesNotFreeTheNextTermOfTheSameProcess(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		g := acquire(t, b, "job")
		m.inject(azure.ReleaseLease, fakestore.Fault{Again: []time.Duration{5 * time.Second}})
		require.NoError(t, b.Release(t.Context(), g))
		g = acquire(t, b, "job")
		time.Sleep(6 * time.Second)
		look, _ := m.Look("job")
		require.Equal(t, azure.Leased, look.Lease)
		_, err := b.Renew(t.Context(), g)
		require.NoError(t, err)
	})
}

// Azure restarts the clock of a lease that is acquired again under its ID, for as
// long as that request asks. So an ID that was abandoned is not used again.
func TestALateAcquisitionDoesNotShortenTheNext(t *testing.T) {
	inModel(t, nil, func(t *testing.T, m *model) {
		b := m.client(t)
		require.NoError(t, b.Release(t.Context(), acquire(t, b, "job")))
		m.inject(azure.AcquireLease, fakestore.DelayedBefore(3*time.Second))
		ctx, cancel := contextWithin(t, time.Second)
		defer cancel()
		_, err := b.Acquire(ctx, "job", backends.Claim{Holder: "short", TTL: 15 * time.Second})
		require.Error(t, err)
		m.inject(azure.PutBlob, fakestore.DelayedBefore(5*time.Second))
		g, err := b.Acquire(t.Context(), "job", backends.Claim{Holder: "long", TTL: time.Minute})
		require.NoError(t, err)
		look, _ := m.Look("job")
		require.Equal(t, 55*time.Second, look.Remaining)
		require.Equal(t, time.Minute, g.TTL)
	})
}
