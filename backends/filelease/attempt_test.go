package filelease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/cas"
)

var errBroken = errors.New("broken")

func TestNothingIsBegunForAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := make(attempts, 1).run(ctx, func(*attempt) (cas.Object, error) { panic("begun") })
	require.ErrorIs(t, err, context.Canceled)
}

func TestACallerMayLeaveAnOperationThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hang, wrote := make(chan struct{}), true
		go func() { synctest.Wait(); cancel() }()
		_, err := make(attempts, 1).run(ctx, func(a *attempt) (cas.Object, error) {
			<-hang
			wrote = a.commit()
			return cas.Object{}, nil
		})
		require.ErrorIs(t, err, context.Canceled)
		close(hang)
		synctest.Wait()
		require.False(t, wrote, "an abandoned operation began to write")
	})
}

func TestALeftWriteThatHadBegunIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hang, begun := make(chan struct{}), false
		go func() { synctest.Wait(); cancel() }()
		_, err := make(attempts, 1).run(ctx, func(a *attempt) (cas.Object, error) {
			begun = a.commit()
			<-hang
			return cas.Object{}, cas.ErrConflict
		})
		require.True(t, begun)
		require.ErrorContains(t, err, "may have been written")
		require.NotErrorIs(t, err, cas.ErrConflict)
		close(hang)
	})
}

func TestAResultThatIsThereWinsOverTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan result, 1)
	done <- result{cas.Object{Version: "v"}, errBroken}
	object, err := new(attempt).leave(ctx, done)
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, "v", object.Version)
}

func TestTheOperationsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, hang, begun := make(attempts, 2), make(chan struct{}), 0
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { synctest.Wait(); cancel() }()
			_, err := s.run(ctx, func(*attempt) (cas.Object, error) {
				begun++
				<-hang
				return cas.Object{}, nil
			})
			require.ErrorIs(t, err, context.Canceled)
		}
		require.Equal(t, 2, begun)
		close(hang)
		synctest.Wait()
		_, err := s.run(t.Context(), func(*attempt) (cas.Object, error) { return cas.Object{}, nil })
		require.NoError(t, err)
	})
}
