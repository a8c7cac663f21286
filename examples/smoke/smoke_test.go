//go:build unix

// Package smoke runs the small examples as a reader would. The coordinator and
// the figures have tests of their own.
package smoke

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/mutex"
)

func TestExamples(t *testing.T) {
	bin := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin+"/", "../first", "../cron", "../guarded", "../stock", "../watch", "../azurite").CombinedOutput()
	require.NoError(t, err, "%s", out)

	t.Run("First", func(t *testing.T) {
		t.Parallel()
		temp := "TMPDIR=" + t.TempDir()
		one := start(t, temp, filepath.Join(bin, "first"))
		one.says(t, "leading, with token")
		two := start(t, temp, filepath.Join(bin, "first"))
		two.says(t, "waiting to lead")
		one.interrupt(t)
		one.says(t, "leading no more: interrupt signal received")
		require.NoError(t, one.Wait())
		two.says(t, "leading, with token")
		two.interrupt(t)
		two.says(t, "leading no more")
		require.NoError(t, two.Wait())
	})
	t.Run("Cron", func(t *testing.T) {
		t.Parallel()
		cron, dir := filepath.Join(bin, "cron"), t.TempDir()
		tonight := func(args ...string) *process {
			return start(t, "", cron, append([]string{"-dir", dir, "-slot", "2026-10-12T02:00:00Z"}, args...)...)
		}
		long := tonight("-work", "1m")
		long.says(t, "working for 1m0s on the report of 2026-10-12 02:00:00 +0000 UTC")
		second := tonight("-work", "1ms") // waits for what becomes of the first
		long.interrupt(t)
		assert.Equal(t, 1, status(long.Wait()), "its job was cut short")
		second.says(t, "done, by this run: true")
		require.NoError(t, second.Wait())

		third := tonight()
		third.says(t, "done, by this run: false")
		require.NoError(t, third.Wait())
		last := start(t, "", cron, "-dir", dir, "-slot", "2026-10-11T02:00:00Z")
		last.says(t, "done, by this run: false")
		require.NoError(t, last.Wait(), "an older night")
		next := start(t, "", cron, "-dir", dir, "-slot", "2026-10-13T02:00:00Z", "-work", "1ms")
		next.says(t, "done, by this run: true")
		require.NoError(t, next.Wait())
		assert.Equal(t, 1, status(start(t, "", cron, "-dir", dir).Wait()), "no slot")
	})
	t.Run("Guarded", func(t *testing.T) {
		t.Parallel()
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "guarded")).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Regexp(t, `^the old leader: token \d+ is older than \d+\nthe balance: 100\n$`, string(out))

		page, err := os.ReadFile("../../README.md")
		require.NoError(t, err)
		token := regexp.MustCompile(`\d{16}`)
		assert.Contains(t, token.ReplaceAllString(string(page), "T"), "```text\n"+token.ReplaceAllString(string(out), "T")+"```\n")
	})
	t.Run("Stock", func(t *testing.T) {
		t.Parallel()
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "stock")).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Regexp(t, `^without a lock: one item, 50 buyers, sales: ([2-9]|\d\d)\nwith a lock:    one item, 50 buyers, sales: 1\n$`, string(out))
	})
	t.Run("Azurite", func(t *testing.T) {
		if os.Getenv("BLOBLEASE_AZURITE") == "skip" {
			t.Skip("it needs Azurite")
		}
		t.Parallel()
		first := start(t, "", filepath.Join(bin, "azurite"))
		other := first.says(t, "in another terminal: BLOBLEASE_AZURITE=http://127.0.0.1:")
		first.says(t, "waiting to lead")
		first.says(t, "leading, with token")
		variable := regexp.MustCompile(`BLOBLEASE_AZURITE=\S+`).FindString(other)
		second := start(t, variable, filepath.Join(bin, "azurite"))
		second.says(t, "waiting to lead")
		first.interrupt(t)
		first.says(t, "leading no more: interrupt signal received")
		first.says(t, "Azurite stays for the others")
		second.says(t, "leading, with token")
		second.interrupt(t)
		second.says(t, "leading no more")
		require.NoError(t, second.Wait())
		first.interrupt(t)
		require.NoError(t, first.Wait())
	})
	t.Run("Watch", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		store, err := filelease.New(dir)
		require.NoError(t, err)
		m, err := mutex.New(store, "job", &mutex.Options{Holder: "somebody"})
		require.NoError(t, err)
		lease, err := m.Lock(t.Context())
		require.NoError(t, err)

		watch := start(t, "", filepath.Join(bin, "watch"), "-dir", dir, "-name", "job")
		watch.says(t, "somebody leads, with token "+tokenText(lease))
		require.NoError(t, lease.Release(t.Context()))
		watch.says(t, "nobody leads")
		watch.interrupt(t)
		require.NoError(t, watch.Wait())
	})
}

// A process is an example, running.
type process struct {
	*exec.Cmd
	lines chan string
}

func start(t *testing.T, env, program string, args ...string) *process {
	t.Helper()
	p := &process{exec.CommandContext(t.Context(), program, args...), make(chan string, 100)}
	p.Env = append(os.Environ(), env)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	p.Stdout, p.Stderr = write, write
	require.NoError(t, p.Start())
	require.NoError(t, write.Close())
	go func() {
		defer close(p.lines)
		defer func() { _ = read.Close() }()
		for s := bufio.NewScanner(read); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	return p
}

// says waits for a line with this text, and returns it.
func (p *process) says(t *testing.T, text string) string {
	t.Helper()
	var before []string
	for patience := time.After(30 * time.Second); ; {
		select {
		case line, more := <-p.lines:
			if strings.Contains(line, text) {
				return line
			}
			require.True(t, more, "it ended without saying %q, but\n%s", text, strings.Join(before, "\n"))
			before = append(before, line)
		case <-patience:
			require.Fail(t, "it does not say", "%q, but\n%s", text, strings.Join(before, "\n"))
			return ""
		}
	}
}

func (p *process) interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Process.Signal(os.Interrupt))
}

func status(err error) int {
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode()
	}
	return 0
}

func tokenText(l *mutex.Lease) string { return strconv.FormatUint(uint64(l.Token()), 10) }
