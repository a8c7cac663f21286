package filelease

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var nasty = []string{
	".", "..", "...", "/", "//", "a", "A", "á", "a\u0301", "a/b", "a%2fb", "a%2Fb", "a%252fb", "../a", "/a", "a/", "a/../b",
	"a.lease", "a.lease.lock", "a.lease.tmp", "a.lock", "a.tmp", "a.LEASE", ".a", "%2ea", "a b", "a+b", "a\\b", "a:b", "CON", "nul.",
	"job", "job/x", "job.lock", "#", "?", "~", "a~", "-rf", "*", "日本語", "İ", "i", "I", "ı", "ſ", "s", "K", "k", "\u212a",
	strings.Repeat("a", maxEncoded), strings.Repeat("a", maxEncoded+1), strings.Repeat("a", 1024), strings.Repeat("/", 1024),
	strings.Repeat("a", 1023) + "b", strings.Repeat("日", 341), strings.Repeat("../", 341),
	encode(strings.Repeat("a", 1024)), strings.Repeat("a", maxPrefix) + "~",
}

func TestDifferentNamesAreDifferentFiles(t *testing.T) {
	owners := make(map[string]string)
	for _, name := range append(nasty, randomNames(5000)...) {
		for _, file := range checkFiles(t, name) {
			folded := strings.ToLower(strings.ToUpper(file))
			if owner, taken := owners[folded]; taken && owner != name {
				t.Fatalf("%q and %q share %q", owner, name, file)
			}
			owners[folded] = name
		}
	}
}

func FuzzDifferentNamesAreDifferentFiles(f *testing.F) {
	for i, name := range nasty[1:] {
		f.Add(nasty[i], name)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == "" || b == "" {
			return // no lease's name
		}
		files := append(checkFiles(t, a), checkFiles(t, b)...)
		if a == b {
			return
		}
		for i := range files {
			for j := range i {
				require.False(t, strings.EqualFold(files[i], files[j]), "%q and %q share %q", a, b, files[i])
			}
		}
	})
}

func checkFiles(t *testing.T, name string) []string {
	f := filesOf(name)
	files := []string{f.record, f.lock, f.temp}
	for _, file := range files {
		require.LessOrEqual(t, len(file), 143)
		require.True(t, filepath.IsLocal(file) && filepath.Base(file) == file, "%q leaves the directory", file)
		require.NotEqual(t, byte('.'), file[0], "%q is hidden", file)
	}
	return files
}

func randomNames(n int) []string {
	alphabet := []string{"a", "A", ".", "/", "%", "~", "%2f", "lease", ".lock", ".tmp", "é", " ", "0", "_"}
	names := make([]string, n)
	for i := range names {
		for range 1 + rand.IntN(6) {
			names[i] += alphabet[rand.IntN(len(alphabet))]
		}
	}
	return names
}

func TestOrdinaryNamesStayReadable(t *testing.T) {
	for name, want := range map[string]string{
		"nightly-report_2.eu": "nightly-report_2.eu.lease",
		"reports/daily":       "reports%2fdaily.lease",
		"Job":                 "%4aob.lease",
		"..":                  "%2e..lease",
	} {
		require.Equal(t, want, filesOf(name).record)
	}
	long := filesOf("team/reports/" + strings.Repeat("x", 200)).record
	require.True(t, strings.HasPrefix(long, "team%2freports%2fxxxx"), long)
}
