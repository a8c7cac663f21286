package azurelease_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// The cron case in real time: three replicas, one after the other, and a job that is over
// before the next one comes.
func TestASlotIsRunOnceOnAzurite(t *testing.T) {
	e := newEmulated(t)
	t.Parallel()
	for kind, slot := range map[string]leader.Slot{
		"at":    leader.SlotAt(time.Now()),
		"id":    leader.SlotID("tonight"),
		"every": leader.Every(24*time.Hour, 2*time.Hour),
	} {
		runs := 0
		for i := range 3 {
			m, err := mutex.New(e.client(t), kind, nil)
			require.NoError(t, err)
			ran, err := leader.Once(t.Context(), m, slot, func(context.Context, *mutex.Lease) error {
				runs++
				time.Sleep(200 * time.Millisecond)
				return nil
			}, nil)
			require.NoError(t, err, kind)
			require.Equal(t, i == 0, ran, kind)
		}
		require.Equal(t, 1, runs, kind)
		r, err := e.client(t).Observe(t.Context(), kind)
		require.NoError(t, err)
		require.NotEmpty(t, r.Done)
		require.WithinDuration(t, time.Now(), r.Now, time.Minute, "Azurite runs on this machine")
	}
}
