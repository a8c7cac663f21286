package s3lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/internal/fakestore/s3"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// Whoever may read the bucket, but not write to it, is told so at once.
func TestOnceWithoutTheRightToWriteIsDenied(t *testing.T) {
	inModel(t, &s3.Options{Without: []string{"s3:PutObject"}}, func(t *testing.T, m *model) {
		job, err := mutex.New(m.client(t), "job", nil)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		ran, err := leader.Once(ctx, job, leader.SlotAt(start), func(context.Context, *mutex.Lease) error { return nil }, nil)
		require.ErrorIs(t, err, backends.ErrDenied)
		require.ErrorContains(t, err, "s3:PutObject")
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, ran)
		require.Less(t, time.Since(start), time.Second)
	})
}
