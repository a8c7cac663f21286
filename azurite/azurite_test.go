package azurite_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/bloblease/bloblease/azurite"
)

// orphan makes this test binary a program that starts Azurite, and waits to be
// killed.
const orphan = "BLOBLEASE_AZURITE_TEST_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphan) != "" {
		beOrphaned()
	}
	goleak.VerifyTestMain(m) // while the shared server runs: it costs no goroutine
}

func beOrphaned() {
	s, err := azurite.Start(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	select {}
}

// skipIfTold spares machines without Node.js.
func skipIfTold(t *testing.T) {
	t.Helper()
	if os.Getenv(azurite.Variable) == "skip" {
		t.Skip(azurite.Variable + "=skip")
	}
}

func start(t *testing.T, o *azurite.Options) *azurite.Server {
	t.Helper()
	skipIfTold(t)
	s, err := azurite.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func shared(t *testing.T) *azurite.Server {
	t.Helper()
	skipIfTold(t)
	s, err := azurite.Shared(t.Context())
	require.NoError(t, err)
	return s
}

// listens reports whether something does at the address of a URL.
func listens(t *testing.T, address string) bool {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

func upload(t *testing.T, c *container.Client, name string) {
	t.Helper()
	_, err := c.NewBlockBlobClient(name).UploadBuffer(t.Context(), []byte("body"), nil)
	require.NoError(t, err)
}

func exists(t *testing.T, c *container.Client, name string) bool {
	t.Helper()
	_, err := c.NewBlobClient(name).GetProperties(t.Context(), nil)
	return err == nil
}

func TestAServerServesUntilItIsClosed(t *testing.T) {
	s := start(t, nil)
	c, err := s.Container(t.Context(), "locks", nil)
	require.NoError(t, err)
	upload(t, c, "x")
	again, err := s.Container(t.Context(), "locks", nil)
	require.NoError(t, err, "it exists already")
	assert.True(t, exists(t, again, "x"))
	assert.NotZero(t, s.Pid())
	require.NoError(t, s.Close())
	assert.False(t, listens(t, s.URL()))
	assert.Zero(t, s.Pid())
	require.NoError(t, s.Close(), "twice")
	require.ErrorContains(t, s.Restart(t.Context()), "was closed")
	assert.Zero(t, s.Pid())
}

// For the race detector.
func TestAServerMayBeAskedForItsURLWhileItRestarts(t *testing.T) {
	s := start(t, nil)
	require.NoError(t, s.Stop(t.Context()))
	var asked sync.WaitGroup
	asked.Go(func() {
		for range 100 {
			assert.Contains(t, s.URL(), azurite.Account)
			assert.Contains(t, s.ConnectionString(), azurite.Account)
			_, err := s.Client("locks", nil)
			assert.NoError(t, err)
		}
	})
	require.NoError(t, s.Restart(t.Context()))
	asked.Wait()
}

func TestABadContainerNameIsRefusedInOneLine(t *testing.T) {
	s := shared(t)
	for _, name := range []string{"Bad_Name", "ab", "a--b", "-ab", "a/b/c", strings.Repeat("a", 64)} {
		_, err := s.Container(t.Context(), name, nil)
		require.ErrorContains(t, err, "3 to 63 lower-case letters", name)
		assert.NotContains(t, err.Error(), "\n")
		_, err = s.Client(name, nil)
		require.Error(t, err, name)
	}
}

func TestWhatTheServerRefusesIsOneLine(t *testing.T) {
	s := shared(t)
	o := &container.ClientOptions{}
	o.PerRetryPolicies = []policy.Policy{unsigned{}}
	_, err := s.Container(t.Context(), "locks", o)
	require.ErrorContains(t, err, "it answers 403 ")
	assert.NotContains(t, err.Error(), "\n")
	assert.True(t, bloberror.HasCode(err, bloberror.AuthorizationFailure, bloberror.AuthenticationFailed))
}

type unsigned struct{}

func (unsigned) Do(r *policy.Request) (*http.Response, error) {
	r.Raw().Header.Set("Authorization", "SharedKey "+azurite.Account+":AAAA")
	return r.Next()
}

func TestTheConnectionStringWorks(t *testing.T) {
	s := shared(t)
	transport := &http.Transport{DisableKeepAlives: true}
	o := &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: transport}}}
	c, err := container.NewClientFromConnectionString(s.ConnectionString(), "connection", o)
	require.NoError(t, err)
	_, err = c.Create(t.Context(), nil)
	require.NoError(t, err)
}

func TestAServerThatIsStoppedComesBackUnderItsURL(t *testing.T) {
	s := start(t, nil)
	c, err := s.Container(t.Context(), "locks", nil)
	require.NoError(t, err)
	address := s.URL()
	require.NoError(t, s.Stop(t.Context()))
	assert.False(t, listens(t, address))
	require.NoError(t, s.Stop(t.Context()), "twice")
	require.NoError(t, s.Restart(t.Context()))
	require.NoError(t, s.Restart(t.Context()), "twice")
	assert.Equal(t, address, s.URL())
	_, err = c.GetProperties(t.Context(), nil)
	assert.ErrorContains(t, err, "ContainerNotFound", "what was in memory is lost")
}

func TestWithADirectoryBlobsAndLeasesSurvive(t *testing.T) {
	s := start(t, &azurite.Options{Dir: t.TempDir()})
	c, err := s.Container(t.Context(), "locks", nil)
	require.NoError(t, err)
	upload(t, c, "x")
	holder, err := lease.NewBlobClient(c.NewBlobClient("x"), nil)
	require.NoError(t, err)
	_, err = holder.AcquireLease(t.Context(), -1, nil)
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Restart(t.Context()))
	_, err = holder.RenewLease(t.Context(), nil)
	require.NoError(t, err)
}

func TestAServerEndsWithItsParent(t *testing.T) {
	skipIfTold(t)
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), orphan+"=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var address string
	_, err = fmt.Fscan(out, &address)
	require.NoError(t, err)
	require.True(t, listens(t, address), address)
	require.NoError(t, parent.Process.Kill())
	assert.Error(t, parent.Wait())
	assert.Eventually(t, func() bool { return !listens(t, address) }, 10*time.Second, 20*time.Millisecond)
}

func TestAnInterruptIsForTheParent(t *testing.T) {
	s := shared(t)
	p, err := os.FindProcess(s.Pid())
	require.NoError(t, err)
	if err := p.Signal(os.Interrupt); err != nil {
		t.Skip("this system cannot send it: ", err)
	}
	upload(t, azurite.Test(t), "x")
}

func TestAServerThatRunsIsUsedIfItIsNamed(t *testing.T) {
	running := start(t, &azurite.Options{Private: true})
	t.Setenv(azurite.Variable, running.URL()+"/")
	s := start(t, nil)
	assert.Equal(t, running.URL(), s.URL())
	assert.Zero(t, s.Pid())
	_, err := s.Container(t.Context(), "locks", nil)
	require.NoError(t, err)
	assert.ErrorIs(t, s.Stop(t.Context()), azurite.ErrForeign)
	assert.ErrorIs(t, s.Restart(t.Context()), azurite.ErrForeign)
	require.NoError(t, s.Close())
	assert.True(t, listens(t, running.URL()))

	private := start(t, &azurite.Options{Private: true})
	assert.NotEqual(t, running.URL(), private.URL())
	require.NoError(t, running.Close())
	_, err = azurite.Start(t.Context(), nil)
	assert.ErrorContains(t, err, "does not answer")
	for _, bad := range []string{"yes", "http://127.0.0.1:1", "http://127.0.0.1:1/another", "http://127.0.0.1:1/" + azurite.Account + "/locks", "ftp://127.0.0.1/" + azurite.Account} {
		t.Setenv(azurite.Variable, bad)
		_, err = azurite.Start(t.Context(), nil)
		assert.ErrorContains(t, err, "is not the URL of an account", bad)
	}
}

func TestStartingEndsWithItsContext(t *testing.T) {
	skipIfTold(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := azurite.Start(ctx, nil)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestWhatAzuriteSaysIsInTheError(t *testing.T) {
	s := start(t, nil)
	require.NoError(t, s.Stop(t.Context()))
	u, err := url.Parse(s.URL())
	require.NoError(t, err)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", u.Host)
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	err = s.Restart(t.Context())
	require.ErrorContains(t, err, "EADDRINUSE")
	assert.NotContains(t, err.Error(), "\n")
}

func TestAMissingPackageIsAnErrorThatTellsTheCommand(t *testing.T) {
	skipIfTold(t) // node is looked for first
	t.Setenv(azurite.Variable, "")
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(dir+"/deep/down", 0o700))
	require.NoError(t, os.WriteFile(dir+"/go.mod", []byte("module example"), 0o600))
	t.Chdir(dir + "/deep/down")
	_, err := azurite.Start(t.Context(), nil)
	require.ErrorIs(t, err, azurite.ErrNotInstalled)
	assert.ErrorContains(t, err, "`npm install --prefix "+dir+" azurite@3.35.0`")
	assert.NotContains(t, err.Error(), "\n")
}

func TestAMissingNodeIsAnErrorThatSaysSo(t *testing.T) {
	t.Setenv(azurite.Variable, "")
	t.Setenv("PATH", t.TempDir())
	_, err := azurite.Start(t.Context(), nil)
	require.ErrorIs(t, err, azurite.ErrNotInstalled)
	assert.ErrorContains(t, err, "install Node.js")
}

// A tester is a testing.T that tells what was asked of it.
type tester struct {
	*testing.T
	failed, skipped string
}

type ended struct{}

func (t *tester) Fatalf(format string, args ...any) {
	t.failed = fmt.Sprintf(format, args...)
	panic(ended{})
}

func (t *tester) Skipf(format string, args ...any) {
	t.skipped = fmt.Sprintf(format, args...)
	panic(ended{})
}

func (t *tester) run() {
	defer func() { _, _ = recover().(ended) }()
	azurite.Test(t)
}

func TestTestsSkipIfToldTo(t *testing.T) {
	t.Setenv(azurite.Variable, "skip")
	fake := &tester{T: t}
	fake.run()
	assert.Equal(t, "azurite: BLOBLEASE_AZURITE=skip", fake.skipped)
	assert.Empty(t, fake.failed)
}

func TestEveryTestHasAContainerOfItsOwn(t *testing.T) {
	var urls []string
	skipIfTold(t)
	for range 2 {
		t.Run("one", func(t *testing.T) {
			c := azurite.Test(t)
			upload(t, c, "x")
			urls = append(urls, c.URL())
		})
	}
	assert.NotEqual(t, urls[0], urls[1])
	gone, err := shared(t).Client(urls[0][strings.LastIndex(urls[0], "/")+1:], nil)
	require.NoError(t, err)
	_, err = gone.GetProperties(t.Context(), nil)
	assert.ErrorContains(t, err, "ContainerNotFound")
}

func TestTheExampleProgramRuns(t *testing.T) {
	skipIfTold(t)
	ExampleStart()
}
