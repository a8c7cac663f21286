//go:build unix

package azurelease_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/azurite"
	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/azurelease"
	"github.com/bloblease/bloblease/leader"
	"github.com/bloblease/bloblease/mutex"
)

// Workers are processes: this test binary, told by its environment where to go.
const (
	workerName      = "BLOBLEASE_TEST_WORKER"
	workerContainer = "BLOBLEASE_TEST_CONTAINER"
	workerLedger    = "BLOBLEASE_TEST_LEDGER"
	workerTTL       = "BLOBLEASE_TEST_TTL"

	processTTL  = 15 * time.Second
	processPoll = time.Second
	// bound is how soon after a leader's end there is another, as the docs state
	// it: a TTL and a poll. Azurite frees a lease at once; and a machine that is
	// busy takes its time.
	bound = processTTL + processPoll*6/5 + 5*time.Second
)

func init() {
	if os.Getenv(workerName) == "" {
		return
	}
	if err := work(context.Background(), os.Getenv(workerName)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work is a worker's life: it leads whenever it can, and writes to the ledger.
func work(ctx context.Context, name string) error {
	key, err := container.NewSharedKeyCredential(azurite.Account, azurite.Key)
	if err != nil {
		return err
	}
	c, err := container.NewClientWithSharedKeyCredential(os.Getenv(workerContainer), key, nil)
	if err != nil {
		return err
	}
	b, err := azurelease.New(c, nil)
	if err != nil {
		return err
	}
	ttl, err := time.ParseDuration(os.Getenv(workerTTL))
	if err != nil {
		return err
	}
	m, err := mutex.New(b, "job", &mutex.Options{TTL: ttl, Poll: processPoll, Holder: name})
	if err != nil {
		return err
	}
	return leader.Run(ctx, m, func(ctx context.Context, l *mutex.Lease) error {
		tell("leads", name, l.Token(), nil)
		defer func() { tell("ends", name, l.Token(), l.Err()) }()
		for ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
			tell("writes", name, l.Token(), nil)
		}
		tell("writes", name, l.Token(), nil) // what was decided before is done now
		return context.Cause(ctx)
	}, nil)
}

// tell sends an event to the ledger's process.
func tell(what, name string, token backends.Token, err error) {
	query := url.Values{"what": {what}, "worker": {name}, "token": {fmt.Sprint(token)}, "lost": {fmt.Sprint(errors.Is(err, mutex.ErrLost))}}
	resp, failed := http.Post(os.Getenv(workerLedger)+"?"+query.Encode(), "", nil) //nolint:noctx // a worker waits
	if failed == nil {
		_ = resp.Body.Close()
	}
}

// An event is what a worker tells.
type event struct {
	what, worker string
	token        backends.Token
	lost         bool
	refused      bool // it was a write, and its token too old
	at           time.Time
}

// A ledger takes writes, and refuses those whose token is lower than one that it
// has seen.
type ledger struct {
	mu      sync.Mutex
	events  []event
	highest backends.Token
	changed chan struct{}
}

func (l *ledger) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	token, _ := strconv.ParseUint(r.FormValue("token"), 10, 64)
	e := event{
		what: r.FormValue("what"), worker: r.FormValue("worker"), lost: r.FormValue("lost") == "true",
		token: backends.Token(token), at: time.Now(),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.refused = e.what == "writes" && e.token < l.highest
	l.highest = max(l.highest, e.token)
	l.events = append(l.events, e)
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits for an event.
func (l *ledger) await(t *testing.T, within time.Duration, what string, is func(event) bool) event {
	t.Helper()
	timeout := time.After(within)
	for seen := 0; ; {
		l.mu.Lock()
		events, changed := l.events[seen:], l.changed
		l.mu.Unlock()
		for _, e := range events {
			if is(e) {
				return e
			}
		}
		seen += len(events)
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(t, "in vain", "waited %v for: %s", within, what)
		}
	}
}

func (l *ledger) leads(t *testing.T, within time.Duration, above backends.Token) event {
	t.Helper()
	return l.await(t, within, "a new leader", func(e event) bool { return e.what == "leads" && e.token > above })
}

// A troupe is workers, and the ledger that they write to.
type troupe struct {
	*ledger
	processes map[string]*os.Process
}

func newTroupe(t *testing.T, containerURL string, ttl time.Duration) *troupe {
	t.Helper()
	x := &troupe{&ledger{changed: make(chan struct{})}, map[string]*os.Process{}}
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	for i := range 3 {
		name := fmt.Sprint("worker-", i)
		c := exec.Command(os.Args[0]) //nolint:noctx // it is killed in the end
		c.Env = append(os.Environ(), workerName+"="+name, workerContainer+"="+containerURL, workerLedger+"="+server.URL, workerTTL+"="+ttl.String())
		c.Stderr = os.Stderr
		require.NoError(t, c.Start())
		x.processes[name] = c.Process
		t.Cleanup(func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		})
	}
	return x
}

func (x *troupe) signal(t *testing.T, worker string, s os.Signal) {
	t.Helper()
	require.NoError(t, x.processes[worker].Signal(s))
}

func TestTheSuccessorOfAKilledProcess(t *testing.T) {
	needMinutes(t)
	e := newEmulated(t)
	t.Parallel()
	x := newTroupe(t, e.direct.URL(), processTTL)
	first := x.leads(t, bound, 0)
	time.Sleep(7 * time.Second) // it renews
	x.signal(t, first.worker, syscall.SIGKILL)
	killed := time.Now()
	next := x.leads(t, bound, first.token)
	require.NotEqual(t, first.worker, next.worker)
	t.Logf("it led %v later", next.at.Sub(killed))
}

func TestAPausedProcessIsSucceededAndItsLateWriteRefused(t *testing.T) {
	needMinutes(t)
	e := newEmulated(t)
	t.Parallel()
	x := newTroupe(t, e.direct.URL(), processTTL)
	first := x.leads(t, bound, 0)
	time.Sleep(time.Second)
	x.signal(t, first.worker, syscall.SIGSTOP)
	stopped := time.Now()
	next := x.leads(t, bound, first.token)
	require.NotEqual(t, first.worker, next.worker)
	t.Logf("another led %v later", next.at.Sub(stopped))
	time.Sleep(time.Until(stopped.Add(processTTL + 5*time.Second)))
	x.signal(t, first.worker, syscall.SIGCONT)
	x.await(t, 5*time.Second, "a late write", func(e event) bool { return e.token == first.token && e.refused })
	x.await(t, 5*time.Second, "the report of the loss", func(e event) bool { return e.token == first.token && e.what == "ends" && e.lost })
	x.await(t, 5*time.Second, "the successor's writes", func(e event) bool {
		return e.token == next.token && e.what == "writes" && e.at.After(stopped.Add(processTTL+5*time.Second))
	})
}

// restarted is an Azurite that keeps blobs and leases over a restart, and workers
// there.
func restarted(t *testing.T, ttl time.Duration) (*azurite.Server, *troupe) {
	needMinutes(t)
	needAzurite(t)
	t.Parallel()
	s, err := azurite.Start(t.Context(), &azurite.Options{Dir: t.TempDir(), Private: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	c, err := s.Container(t.Context(), "leases", nil)
	require.NoError(t, err)
	return s, newTroupe(t, c.URL(), ttl)
}

func TestAStoreThatHangsForAWhileCostsNothing(t *testing.T) {
	s, x := restarted(t, processTTL)
	first := x.leads(t, bound, 0)
	time.Sleep(time.Second)
	require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGSTOP))
	time.Sleep(4 * time.Second)
	require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGCONT))
	after := time.Now().Add(processTTL)
	x.await(t, processTTL+5*time.Second, "writes of the same term", func(e event) bool {
		return e.what == "writes" && e.token == first.token && e.at.After(after)
	})
	require.Equal(t, first.token, x.highest)
}

// Azurite keeps blobs over a restart, but takes every lease that is not infinite for
// expired then. So for a while two believe that they lead: the ledger tells them
// apart, and the one before learns of it at its next renewal.
func TestAStoreThatForgetsItsLeasesIsWhatTokensAreFor(t *testing.T) {
	const ttl = time.Minute
	s, x := restarted(t, ttl)
	first := x.leads(t, bound, 0)
	time.Sleep(time.Second)
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Restart(t.Context()))
	next := x.leads(t, ttl/2, first.token)
	require.NotEqual(t, first.worker, next.worker)
	x.await(t, 5*time.Second, "a write of the one before", func(e event) bool { return e.token == first.token && e.refused })
	x.await(t, ttl/3+10*time.Second, "the report of the loss", func(e event) bool { return e.token == first.token && e.what == "ends" && e.lost })
}

func TestAStoreThatIsAwayForLongCostsTheLease(t *testing.T) {
	s, x := restarted(t, processTTL)
	first := x.leads(t, bound, 0)
	time.Sleep(time.Second)
	require.NoError(t, s.Stop(t.Context()))
	gone := time.Now()
	lost := x.await(t, processTTL+time.Second, "the report of the loss", func(e event) bool { return e.what == "ends" && e.lost })
	require.Equal(t, first.token, lost.token)
	time.Sleep(time.Until(gone.Add(processTTL + 3*time.Second)))
	require.NoError(t, s.Restart(t.Context()))
	back := time.Now()
	next := x.leads(t, 4*processPoll+5*time.Second, first.token)
	require.True(t, next.at.After(back))
	t.Logf("somebody led %v after it was back", next.at.Sub(back))
}
