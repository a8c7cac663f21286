package azurite

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// TB is the part of *testing.T and *testing.B that Test needs.
type TB interface {
	Helper()
	Cleanup(func())
	Context() context.Context
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// skip is the value of Variable with which Test skips.
const skip = "skip"

// startTimeout is generous: other packages may be compiling meanwhile.
const startTimeout = time.Minute

// Test returns a client of an empty container, which is deleted after the test.
// Its server is shared by the tests of the process, and ends with it. Where
// Azurite is not installed the test fails, unless BLOBLEASE_AZURITE is "skip".
func Test(t TB) *container.Client {
	t.Helper()
	return TestWith(t, nil)
}

// TestWith is Test with client options: retries, policies, transport.
func TestWith(t TB, o *container.ClientOptions) *container.Client {
	t.Helper()
	if os.Getenv(Variable) == skip {
		t.Skipf("azurite: %s=%s", Variable, skip)
	}
	s, err := Shared(t.Context())
	if err != nil {
		t.Fatalf("%v", err)
	}
	c, err := s.Container(t.Context(), "", o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { s.discard(context.WithoutCancel(t.Context()), c) })
	return c
}

// discard deletes a test's container, and leaves no connection behind that a
// check for leaked goroutines would find.
func (s *Server) discard(ctx context.Context, c *container.Client) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, _ = c.Delete(ctx, nil) // the server is gone soon, too
	s.transport.CloseIdleConnections()
}

var shared struct {
	sync.Mutex
	server *Server
}

// Shared returns the server that Test uses, and starts it if it is the first to
// ask. It must not be closed or stopped.
func Shared(ctx context.Context) (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		return shared.server, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s, err := Start(ctx, nil)
	if err != nil {
		return nil, err
	}
	shared.server = s
	return s, nil
}
