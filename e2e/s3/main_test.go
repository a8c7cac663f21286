// Package s3 runs s3lease against real servers that speak S3. There is no code in
// it but tests.
package s3

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/e2e/versitygw"
)

func TestMain(m *testing.M) {
	versitygw.ServeIfAsked()
	if dir := os.Getenv(orphan); dir != "" {
		beOrphaned(dir)
	}
	os.Exit(m.Run())
}

// orphan makes this test binary a program that starts a server, and waits to be
// killed.
const orphan = "BLOBLEASE_E2E_ORPHAN"

func beOrphaned(dir string) {
	s, err := versitygw.Start(context.Background(), versitygw.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	select {}
}

// A server does not outlive the program that started it, even if that is killed.
func TestAServerDiesWithItsParent(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), orphan+"="+t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimPrefix(strings.TrimSpace(url), "http://")
	listens := func() bool {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", address)
		return err == nil && c.Close() == nil
	}
	require.True(t, listens(), address)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // says that it was killed
	require.Eventually(t, func() bool { return !listens() }, 10*time.Second, 50*time.Millisecond)
}

// prove has the tests run that take minutes; make prove sets it.
const prove = "BLOBLEASE_PROVE"

func proving() bool { return os.Getenv(prove) != "" }

// times is how often something is done: few in CI, many for the proof.
func times(few, many int) int {
	if proving() {
		return many
	}
	return few
}
