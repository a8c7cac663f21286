package cas_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/backendtest"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/record"
	"github.com/bloblease/bloblease/mutex"
)

const doubtTTL = 30 * time.Second

// doubting is an engine over s that nobody has verified, with a network between.
func doubting(t *testing.T, s cas.Store) (*cas.Engine, *backendtest.Store) {
	t.Helper()
	net := backendtest.NewStore(s)
	t.Cleanup(net.Close)
	return cas.New(net, cas.Options{Doubtful: true}), net
}

func take(ctx context.Context, e *cas.Engine, name string) (backends.Grant, error) {
	return e.Acquire(ctx, name, backends.Claim{Holder: "me", TTL: doubtTTL})
}

func state(t *testing.T, s *bent, name string) string {
	t.Helper()
	rec, err := record.Decode(s.Data(name))
	require.NoError(t, err)
	return rec.State
}

func TestADoubtIsSettledByOneRequestOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, net := doubting(t, straight())
		for i := range 5 {
			before := net.Count()
			g, err := take(t.Context(), e, fmt.Sprint("job", i))
			require.NoError(t, err)
			cost := net.Count().Since(before)
			if i == 0 {
				require.Equal(t, backendtest.Count{Reads: 1, Writes: 2}, cost)
			} else {
				require.Equal(t, backendtest.Count{Reads: 1, Writes: 1}, cost)
			}
			g, err = e.Renew(t.Context(), g)
			require.NoError(t, err)
			require.NoError(t, e.Release(t.Context(), g))
		}
	})
}

func TestManyFirstAcquisitionsAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, net := doubting(t, straight())
		net.Inject(backendtest.Always(backendtest.DelayedAfter(10 * time.Millisecond)))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				_, err := take(t.Context(), e, fmt.Sprint("job", i))
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Equal(t, 21, net.Count().Writes)
	})
}

// Whoever never called Verify is told by the first acquisition, and nobody holds a
// lease there.
func TestAStoreThatIgnoresConditionsIsRefusedByTheFirstAcquisition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ignoring(func(bool, string) bool { return true })
		e, net := doubting(t, s)
		m, err := mutex.New(e, "job", nil)
		require.NoError(t, err)
		_, err = m.Lock(t.Context())
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.Equal(t, record.Free, state(t, s, "job"), "the lease is given up")
		before := net.Count()
		_, err = take(t.Context(), e, "other")
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.Equal(t, before, net.Count(), "what is known is not asked again")
	})
}

// The question has replaced the record, and made a version of it that the grant must
// know to be given up.
func TestAStoreThatIgnoresOneConditionGetsItsLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ignoring(func(exists bool, v string) bool { return exists && v == "" })
		e, net := doubting(t, s)
		_, err := take(t.Context(), e, "job")
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.Equal(t, record.Free, state(t, s, "job"), "the lease is given up")
		require.Equal(t, backendtest.Count{Reads: 1, Writes: 4}, net.Count(), "in one request")
	})
}

// An answer that is no refusal of the condition says nothing of conditions: a proxy may
// have given it.
func TestOnlyARefusalSettlesADoubt(t *testing.T) {
	for name, fault := range map[string]backendtest.Fault{
		"unsupported": backendtest.Refused(backends.ErrUnsupported),
		"vanished":    backendtest.Refused(cas.ErrVanished),
		"denied":      backendtest.Refused(backends.ErrDenied),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, net := doubting(t, ignoring(func(bool, string) bool { return true }))
				net.Inject(backendtest.Nth(2, fault).Where(backendtest.Request.Writes))
				_, err := take(t.Context(), e, "job")
				require.NoError(t, err)
				_, err = take(t.Context(), e, "other")
				require.ErrorIs(t, err, backends.ErrUnsupported)
			})
		})
	}
}

func TestManyFirstAcquisitionsAreAllRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, net := doubting(t, ignoring(func(bool, string) bool { return true }))
		net.Inject(backendtest.Always(backendtest.DelayedAfter(10 * time.Millisecond)))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				_, err := take(t.Context(), e, fmt.Sprint("job", i))
				if !errors.Is(err, backends.ErrUnsupported) {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// Whatever becomes of the question, on a store that honours conditions the lease is
// granted, and can be renewed and released.
func TestAQuestionWithoutAnAnswerCostsNoLease(t *testing.T) {
	for name, fault := range map[string]backendtest.Fault{
		"lost":               backendtest.LostBefore(),
		"answer lost":        backendtest.LostAfter(),
		"hung":               backendtest.Hung(),
		"hung after":         backendtest.HungAfter(),
		"late":               backendtest.DelayedBefore(doubtTTL / 2),
		"answered late":      backendtest.DelayedAfter(doubtTTL / 2),
		"twice":              backendtest.Twice(doubtTTL / 4),
		"throttled":          backendtest.Refused(backendtest.Busy(time.Second)),
		"denied":             backendtest.Refused(backends.ErrDenied),
		"no container":       backendtest.Refused(backends.ErrNoContainer),
		"unknown header":     backendtest.Refused(backends.ErrUnsupported),
		"vanished":           backendtest.Refused(cas.ErrVanished),
		"something or other": backendtest.Refused(errors.New("500")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, net := doubting(t, straight())
				net.Inject(backendtest.Nth(2, fault).Where(backendtest.Request.Writes))
				start := time.Now()
				g, err := take(t.Context(), e, "job")
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(start), 5*time.Second, "the lease is running")
				for range 3 {
					time.Sleep(doubtTTL / 3)
					g, err = e.Renew(t.Context(), g)
					require.NoError(t, err)
				}
				require.NoError(t, e.Release(t.Context(), g))
				_, err = take(t.Context(), e, "job")
				require.NoError(t, err)
			})
		})
	}
}

func TestADoubtThatIsNotSettledIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ignoring(func(bool, string) bool { return true })
		e, net := doubting(t, s)
		net.Inject(backendtest.Nth(2, backendtest.LostBefore()).Where(backendtest.Request.Writes))
		_, err := take(t.Context(), e, "job")
		require.NoError(t, err)
		_, err = take(t.Context(), e, "other")
		require.ErrorIs(t, err, backends.ErrUnsupported)
	})
}

// An operator who deletes the record at the wrong moment makes no store a liar.
func TestADeletionBetweenAcquisitionAndQuestionIsNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := straight()
		writes := 0
		s.put = func(ctx context.Context, name, version string, data []byte) (cas.Object, error) {
			if writes++; writes == 2 {
				s.Delete(name)
			}
			return s.Store.Put(ctx, name, version, data)
		}
		e, _ := doubting(t, s)
		g, err := take(t.Context(), e, "job")
		require.NoError(t, err)
		g, err = e.Renew(t.Context(), g)
		require.NoError(t, err)
		require.NoError(t, e.Release(t.Context(), g))
	})
}

func TestAStoreThatWasVerifiedIsNotDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, net := doubting(t, straight())
		_, err := e.Verify(t.Context())
		require.NoError(t, err)
		before := net.Count()
		_, err = take(t.Context(), e, "job")
		require.NoError(t, err)
		require.Equal(t, backendtest.Count{Reads: 1, Writes: 1}, net.Count().Since(before))
	})
}

func TestAStoreThatFailedVerifyGivesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := cas.New(ignoring(func(bool, string) bool { return true }), cas.Options{})
		_, refusal := e.Verify(t.Context())
		require.ErrorIs(t, refusal, backends.ErrUnsupported)
		_, err := take(t.Context(), e, "job")
		require.ErrorIs(t, err, backends.ErrUnsupported)
		require.Equal(t, refusal, err)
	})
}
