package backendtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/cas"
	"github.com/bloblease/bloblease/internal/clock"
	"github.com/bloblease/bloblease/internal/memstore"
)

// behind returns a Store and the objects behind it.
func behind(t *testing.T) (*Store, *memstore.Store) {
	t.Helper()
	objects := memstore.New(clock.System)
	s := NewStore(objects)
	t.Cleanup(s.Close)
	return s, objects
}

func put(t *testing.T, s *Store, version, data string) (string, error) {
	t.Helper()
	o, err := s.Put(t.Context(), "job", version, []byte(data))
	return o.Version, err
}

func TestAStoreCarriesRequests(t *testing.T) {
	s, objects := behind(t)
	version, err := put(t, s, "", "one")
	require.NoError(t, err)
	_, err = put(t, s, "", "two")
	require.ErrorIs(t, err, cas.ErrConflict)
	o, err := s.Touch(t.Context(), "job", version, []byte("three"))
	require.NoError(t, err)
	read, err := s.Load(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, o.Version, read.Version)
	require.Equal(t, "three", string(objects.Data("job")))
	require.Equal(t, Count{Reads: 1, Writes: 3}, s.Count())

	other := s.Beside(objects)
	_, err = other.Load(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, Count{Reads: 2, Writes: 3}, s.Count())
}

func TestWhatBefallsARequest(t *testing.T) {
	boom := errors.New("boom")
	for what, c := range map[string]struct {
		Fault
		applied bool
		err     error
	}{
		"nothing":              {Fault{}, true, nil},
		"lost before":          {LostBefore(), false, ErrReset},
		"dropped, no error":    {Fault{Dropped: true}, false, ErrReset},
		"lost after":           {LostAfter(), true, ErrReset},
		"a conflict of itself": {Conflict(), true, cas.ErrConflict},
		"refused":              {Refused(backends.ErrDenied), false, backends.ErrDenied},
		"refused after":        {RefusedAfter(boom), true, boom},
		"delayed":              {DelayedBefore(time.Second), true, nil},
		"answered late":        {DelayedAfter(time.Second), true, nil},
		"twice":                {Twice(time.Second), true, nil},
		"hung":                 {Hung(), false, context.DeadlineExceeded},
		"hung after":           {HungAfter(), true, context.DeadlineExceeded},
		"later than it waits":  {DelayedBefore(time.Hour), true, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, objects := behind(t)
			s.Inject(Nth(1, c.Fault))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := s.Put(ctx, "job", "", []byte("one"))
			require.ErrorIs(t, err, c.err, what)
			s.Wait()
			require.Equal(t, c.applied, objects.Data("job") != nil, what)
		})
	}
}

func TestARequestIsDelayedAndRepeatedOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, objects := behind(t)
		start := time.Now()
		s.Inject(Nth(1, Fault{Before: time.Second, After: time.Minute, Again: []time.Duration{time.Hour}}))
		_, err := put(t, s, "", "one")
		require.NoError(t, err)
		require.Equal(t, time.Minute+time.Second, time.Since(start))
		objects.Delete("job")
		time.Sleep(time.Hour - time.Minute - time.Nanosecond)
		require.Nil(t, objects.Data("job"))
		s.Wait()
		require.Equal(t, "one", string(objects.Data("job")))
		require.Equal(t, time.Hour+time.Second, time.Since(start))
		require.Equal(t, Count{Writes: 1}, s.Count())
	})
}

func TestAStaleReadShowsWhatWasReadBefore(t *testing.T) {
	s, _ := behind(t)
	load := func(f Fault) cas.Object {
		s.Inject(Nth(1, f))
		o, err := s.Load(t.Context(), "job")
		require.NoError(t, err)
		return o
	}
	require.False(t, load(StaleRead()).Exists, "there is nothing older")
	version, err := put(t, s, "", "one")
	require.NoError(t, err)
	require.False(t, load(StaleRead()).Exists)
	require.Equal(t, "one", string(load(Fault{}).Data))
	require.False(t, load(StaleRead()).Exists)
	_, err = put(t, s, version, "two")
	require.NoError(t, err)
	require.Equal(t, "one", string(load(StaleRead()).Data))
	require.Equal(t, "two", string(load(Fault{}).Data))
	require.Equal(t, "one", string(load(StaleRead()).Data))
}

func TestDatesAreChangedOnTheirWay(t *testing.T) {
	s, _ := behind(t)
	_, err := put(t, s, "", "one")
	require.NoError(t, err)
	silly := time.Unix(7, 0)
	s.Redate(func(name string, modified, _ time.Time) (time.Time, time.Time) {
		require.Equal(t, "job", name)
		return modified, silly
	})
	o, err := s.Load(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, silly, o.Now)
	require.NotEqual(t, silly, o.Modified)
	s.Redate(nil)
	o, err = s.Load(t.Context(), "job")
	require.NoError(t, err)
	require.NotEqual(t, silly, o.Now)
}

func TestARequestWhoseContextHasEndedIsNotSent(t *testing.T) {
	s, _ := behind(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	boom := errors.New("boom")
	cancel(boom)
	_, err := s.Load(ctx, "job")
	require.ErrorIs(t, err, boom)
	require.Zero(t, s.Count())
}

func TestCloseLosesWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, objects := behind(t)
		s.Inject(Always(DelayedBefore(time.Hour)))
		ended := make(chan error)
		go func() {
			_, err := s.Put(context.Background(), "job", "", []byte("one"))
			ended <- err
		}()
		synctest.Wait()
		start := time.Now()
		s.Close()
		require.Error(t, <-ended)
		require.Zero(t, time.Since(start))
		require.Nil(t, objects.Data("job"))
		_, err := s.Load(t.Context(), "job")
		require.Error(t, err)
		s.Close()
	})
}

func TestSchedules(t *testing.T) {
	read, write := Request{Op: Load}, Request{Op: Touch}
	boom := errors.New("boom")
	f := Refused(boom)
	s := Nth(2, f).Where(Request.Writes).Or(Always(LostAfter()).Where(Request.Reads))
	require.Equal(t, Fault{}, s(write))
	require.Equal(t, LostAfter(), s(read))
	require.Equal(t, f, s(write))
	require.Equal(t, Fault{}, s(write))

	s = Each(f, Fault{}, StaleRead())
	require.Equal(t, []Fault{f, {}, StaleRead(), {}}, []Fault{s(read), s(read), s(read), s(read)})
	var none Schedule
	require.Equal(t, Fault{}, none.Where(Request.Reads).Or(nil)(read))
	require.Equal(t, f, none.Or(Always(f))(read))
	require.Equal(t, []string{"load", "put", "touch"}, []string{Load.String(), Put.String(), Touch.String()})
}

type picky struct{ cas.Store }

func (picky) CheckName(name string) error {
	if name == "bad" {
		return errors.New("bad")
	}
	return nil
}

func TestTheNamesAreTheInnerStores(t *testing.T) {
	s, objects := behind(t)
	require.NoError(t, s.CheckName("bad"))
	require.Error(t, s.Beside(picky{objects}).CheckName("bad"))
	require.NoError(t, s.Beside(picky{objects}).CheckName("good"))
}
