//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends"
	"github.com/bloblease/bloblease/backends/filelease"
	"github.com/bloblease/bloblease/mutex"
)

const (
	crashTTL  = time.Second
	crashPoll = 100 * time.Millisecond
	// crashBound is within what time of the holder's death a waiting contender,
	// or one that comes then, has to hold the lease.
	crashBound = crashTTL + crashPoll + time.Second
	crashNames = 5
)

func init() { filelease.Roles["hold"] = playHolder }

func newMutex(dir, name, holder string) (*filelease.Backend, *mutex.Mutex, error) {
	b, err := filelease.New(dir)
	if err != nil {
		return nil, nil, err
	}
	m, err := mutex.New(b, name, &mutex.Options{TTL: crashTTL, Poll: crashPoll, Holder: holder})
	return b, m, err
}

// playHolder takes the lease, says so, and holds it until it is killed.
func playHolder(args []string) {
	_, m, err := newMutex(args[0], args[1], "child")
	if err != nil {
		panic(err)
	}
	lease, err := m.Lock(context.Background())
	if err != nil {
		panic(err)
	}
	filelease.Say(uint64(lease.Token()))
	<-lease.Done()
	panic(fmt.Sprint("lost without being killed: ", lease.Err()))
}

// crashRounds is how often a holder of each name is killed: 50 kills in all
// where the proof is asked for, else a taste of it.
func crashRounds() int {
	if os.Getenv("BLOBLEASE_PROVE") == "1" {
		return 50 / crashNames
	}
	return 1
}

func TestTheSuccessorOfAKilledHolderGetsInInTime(t *testing.T) {
	dir := t.TempDir()
	for i := range crashNames {
		name := "job " + strconv.Itoa(i)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := backends.Token(0)
			for round := range crashRounds() {
				last = crash(t, dir, name, last, (i+round)%2 == 0)
			}
		})
	}
}

// crash lets a child hold the lease, kills it at a random moment, and holds the
// lease itself for a moment. The contender has been waiting already, or comes
// when the holder is dead and has seen nothing of it. It returns its token.
func crash(t *testing.T, dir, name string, last backends.Token, waiting bool) backends.Token {
	b, m, err := newMutex(dir, name, "successor")
	require.NoError(t, err)
	stop := observe(t, b, name)
	defer stop()
	child := filelease.StartChild(t, "hold", dir, name)
	said, err := strconv.ParseUint(child.Line(), 10, 64)
	require.NoError(t, err)
	require.Greater(t, backends.Token(said), last)

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	got := make(chan error, 1)
	var lease *mutex.Lease
	lock := func() {
		var err error
		lease, err = m.Lock(ctx)
		got <- err
	}
	if waiting {
		go lock()
	}
	time.Sleep(rand.N(crashTTL))
	child.Kill()
	killed := time.Now()
	if !waiting {
		go lock()
	}
	require.NoError(t, <-got)
	require.Less(t, time.Since(killed), crashBound)
	require.Greater(t, lease.Token(), backends.Token(said))
	require.NoError(t, lease.Release(ctx))
	return lease.Token()
}

// observe looks at the record again and again until stop is called: it is
// always whole, and its token never goes down.
func observe(t *testing.T, b *filelease.Backend, name string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- watch(ctx, b, name) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}

func watch(ctx context.Context, b *filelease.Backend, name string) error {
	var highest backends.Token
	for {
		record, err := b.Observe(ctx, name)
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return err
		case record.Token < highest:
			return fmt.Errorf("the token fell from %d to %d", highest, record.Token)
		}
		highest = record.Token
		time.Sleep(5 * time.Millisecond) // other processes run on real time
	}
}
