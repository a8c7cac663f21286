package filelease

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// A kill cannot show that a write is durable, and a power failure cannot be had. So
// the calls are watched: the new file is synced before it gets the record's name, and
// the directory after that.
func TestAWriteIsSyncedBeforeAndAfterItCounts(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil && os.Getenv("BLOBLEASE_PROVE") == "" {
		t.Skip("strace is not installed: apt-get install strace")
	}
	require.NoError(t, err, "apt-get install strace")
	self, err := os.Executable()
	require.NoError(t, err)
	dir, calls := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	c := NewChild(t, strace, "put", "-f", "-y", "-e", "trace=fsync,/rename", "-o", calls, self, dir, "")
	c.Run(t)
	require.Equal(t, "false <nil>", c.Line())
	require.NoError(t, c.Wait())
	told, err := os.ReadFile(calls)
	require.NoError(t, err)
	temp, record := regexp.QuoteMeta(filesOf("a").temp), regexp.QuoteMeta(filesOf("a").record)
	place := regexp.QuoteMeta(dir)
	require.Regexp(t, `(?s)fsync\(\d+<`+place+`/`+temp+`>\).*= 0\n`+
		`.*rename[^\n]*"`+temp+`"[^\n]*"`+record+`"[^\n]*= 0\n`+
		`.*fsync\(\d+<`+place+`>\).*= 0\n`, string(told))
}
