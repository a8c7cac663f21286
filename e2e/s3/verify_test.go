package s3

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/e2e/versitygw"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// started is a server of its own on a directory.
func started(t *testing.T, dir string) *store {
	t.Helper()
	server, err := versitygw.Start(t.Context(), versitygw.Options{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	return &store{name: "versitygw", servers: []string{server.URL()[len("http://"):]}, key: [2]string{versitygw.AccessKey, versitygw.SecretKey}}
}

func results(r backends.Report) map[string]backends.Result {
	all := map[string]backends.Result{}
	for _, c := range r.Checks {
		all[c.Name] = c.Result
	}
	return all
}

// A store that keeps its word passes, each time.
func TestVerifyPassesVersitygw(t *testing.T) {
	for _, s := range versitygws(t) {
		t.Run(s.name, func(t *testing.T) {
			s.need(t, createGate, replaceGate)
			runs := times(2, 50)
			for run := range runs { // each creates its object
				report, err := s.backend(t, s.bucket(t)).Verify(t.Context())
				require.NoError(t, err, "run %d\n%v", run, report)
				require.True(t, report.Dates, report)
				for _, c := range report.Checks {
					require.Equal(t, backends.Passed, c.Result, report)
				}
				if run == 0 {
					t.Log(report)
				}
			}
			t.Logf("passed in %d of %d runs", runs, runs)
		})
	}
}

// s3rver takes conditional writes for plain ones.
func TestVerifyRefusesS3rver(t *testing.T) {
	s := s3rver(t)
	report, err := s.backend(t, s.bucket(t)).Verify(t.Context())
	t.Log(report)
	require.ErrorIs(t, err, backends.ErrUnsupported)
	for _, name := range []string{"create", "refuse create", "refuse stale", "refuse missing", "race"} {
		require.Equal(t, backends.Failed, results(report)[name], name)
		require.ErrorContains(t, err, name+": ")
	}
}

// rclone's gofakes3 judges a condition first and writes later: one after the other it
// honours every condition.
func TestVerifyFindsTheRaceOfGofakes3(t *testing.T) {
	s := rcloneFake(t)
	runs, found := times(3, 50), 0
	for run := range runs {
		report, err := s.backend(t, s.bucket(t)).Verify(t.Context())
		if err == nil {
			t.Logf("run %d found nothing\n%v", run, report)
			continue
		}
		require.ErrorIs(t, err, backends.ErrUnsupported, report)
		for name, result := range results(report) {
			if name != "race" && name != "create" {
				require.NotEqual(t, backends.Failed, result, "%s\n%v", name, report)
			}
		}
		if found++; found == 1 {
			t.Log(report)
		}
	}
	t.Logf("found in %d of %d runs", found, runs)
	require.GreaterOrEqual(t, found, runs-1)
}

// johannesboyne's gofakes3 honours conditions of writes, but not of deletions.
func TestVerifyWarnsOfDeletionsOnGofakes3(t *testing.T) {
	s := johannesFake(t)
	for range times(2, 50) {
		report, err := s.backend(t, s.bucket(t)).Verify(t.Context())
		require.NoError(t, err, report)
		require.Equal(t, backends.Warned, results(report)["refuse delete"], report)
	}
}

// A program that never called Verify is told by its first acquisition.
func TestAProgramThatNeverVerifiedIsToldOnS3rver(t *testing.T) {
	s := s3rver(t)
	bucket := s.bucket(t)
	for name, lead := range map[string]func(*mutex.Mutex) error{
		"Lock":    func(m *mutex.Mutex) error { _, err := m.Lock(t.Context()); return err },
		"TryLock": func(m *mutex.Mutex) error { _, err := m.TryLock(t.Context()); return err },
		"Run": func(m *mutex.Mutex) error {
			return leader.Run(t.Context(), m, func(context.Context, *mutex.Lease) error {
				t.Error("it leads")
				return nil
			}, nil)
		},
	} {
		b, err := s3lease.New(s.programs(t), bucket, nil)
		require.NoError(t, err)
		m, err := mutex.New(b, "job", nil)
		require.NoError(t, err)
		err = lead(m)
		require.ErrorIs(t, err, backends.ErrUnsupported, name)
		t.Log(err)
		r, err := b.Observe(t.Context(), "job")
		require.NoError(t, err)
		require.Equal(t, backends.Free, r.State, "the lease is given up")
	}
}
