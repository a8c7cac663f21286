package filelease

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
)

func TestVerifyPassesADirectory(t *testing.T) {
	b, err := New(t.TempDir())
	require.NoError(t, err)
	start := time.Now()
	report, err := b.Verify(t.Context())
	require.NoError(t, err, report)
	require.True(t, report.Dates)
	t.Logf("%v\n%s", time.Since(start), report)
}

func TestVerifyNamesWhatTheDirectoryLacks(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	b, err := New(dir)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o500)) //nolint:gosec // nobody may write
	defer func() { _ = os.Chmod(dir, 0o700) }()
	report, err := b.Verify(t.Context())
	require.ErrorIs(t, err, backends.ErrDenied)
	require.ErrorContains(t, err, "to create, replace and remove files in "+dir)
	require.Equal(t, backends.Failed, report.Checks[len(report.Checks)-1].Result)
}

func TestVerifyTellsThatTheDirectoryIsGone(t *testing.T) {
	dir := t.TempDir()
	b, err := New(dir)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	_, err = b.Verify(t.Context())
	require.ErrorIs(t, err, backends.ErrNoContainer)
}
