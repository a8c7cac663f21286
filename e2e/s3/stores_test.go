package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	johannes "github.com/johannesboyne/gofakes3"
	johannesmem "github.com/johannesboyne/gofakes3/backend/s3mem"
	rclone "github.com/rclone/gofakes3"
	rclonemem "github.com/rclone/gofakes3/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/bloblease/bloblease/backends/s3lease"
	"github.com/bloblease/bloblease/e2e/versitygw"
)

// A store is one or more servers behind one address. Each new connection goes to the
// next of them, as behind a balancer.
type store struct {
	name      string
	servers   []string // host:port
	key       [2]string
	versioned bool  // its buckets can keep versions
	kept      []any // what ends the servers when it is collected
	next      atomic.Uint32
	buckets   atomic.Uint32
}

// address is in no DNS: connections are dialled as the store says.
const address = "http://store.test"

func (s *store) transport() *http.Transport {
	return &http.Transport{
		MaxIdleConnsPerHost: 200,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			server := s.servers[int(s.next.Add(1))%len(s.servers)]
			return new(net.Dialer).DialContext(ctx, network, server)
		},
	}
}

// client is for use with the SDK alone, over connections of its own: it asks once, and
// without the checksums that are sent by default, which not every server
// knows. A backend gets none of that: it has to see to it itself.
func (s *store) client(t testing.TB) *awss3.Client {
	return awss3.New(s.programs(t).Options(), func(o *awss3.Options) {
		o.Retryer = aws.NopRetryer{}
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
}

// programs is a client as a program has it, over connections of its own.
func (s *store) programs(t testing.TB) *awss3.Client {
	transport := s.transport()
	t.Cleanup(transport.CloseIdleConnections)
	return s.over(transport)
}

// over is a client with the settings of s3.NewFromConfig.
func (s *store) over(rt http.RoundTripper) *awss3.Client {
	return awss3.New(awss3.Options{
		Region: versitygw.Region, BaseEndpoint: aws.String(address), UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: s.key[0], SecretAccessKey: s.key[1]}, nil
		}),
		HTTPClient:                 &http.Client{Transport: rt},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	})
}

// bucket makes a new one.
func (s *store) bucket(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test-%d-%d", os.Getpid(), s.buckets.Add(1))
	_, err := s.client(t).CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: &name})
	require.NoError(t, err)
	return name
}

// backend is one process's.
func (s *store) backend(t testing.TB, bucket string) *s3lease.Backend {
	t.Helper()
	b, err := s3lease.New(s.programs(t), bucket, nil)
	require.NoError(t, err)
	return b
}

// The stores are started once, when the first test asks for them, and end with the
// process.
var (
	oneVersitygw = shared(func() (*store, error) { return newVersitygw("versitygw", 1) })
	twoVersitygw = shared(func() (*store, error) { return newVersitygw("two versitygws on one directory", 2) })
	s3rver       = shared(newS3rver)
	rcloneFake   = shared(func() (*store, error) {
		return inProcess("rclone/gofakes3", rclone.New(rclonemem.New()).Server()), nil
	})
	johannesFake = shared(func() (*store, error) {
		return inProcess("johannesboyne/gofakes3", johannes.New(johannesmem.New()).Server()), nil
	})
)

// versitygws are the stores that keep their word. Without the proof it is only the
// one on which more can go wrong.
func versitygws(t testing.TB) []*store {
	t.Helper()
	if !proving() {
		return []*store{twoVersitygw(t)}
	}
	return []*store{oneVersitygw(t), twoVersitygw(t)}
}

func shared(start func() (*store, error)) func(testing.TB) *store {
	once := sync.OnceValues(start)
	return func(t testing.TB) *store {
		t.Helper()
		s, err := once()
		var missing *missingError
		if errors.As(err, &missing) && os.Getenv("BLOBLEASE_REQUIRE_E2E") == "" {
			t.Skip(err)
		}
		require.NoError(t, err)
		return s
	}
}

func newVersitygw(name string, servers int) (*store, error) {
	dir, err := os.MkdirTemp("", "versitygw") // removed by nobody: the servers outlive the tests
	if err != nil {
		return nil, err
	}
	o := versitygw.Options{Dir: filepath.Join(dir, "buckets"), Versions: filepath.Join(dir, "versions")}
	if err := errors.Join(os.Mkdir(o.Dir, 0o700), os.Mkdir(o.Versions, 0o700)); err != nil {
		return nil, err
	}
	s := &store{name: name, key: [2]string{versitygw.AccessKey, versitygw.SecretKey}, versioned: true}
	for range servers {
		server, err := versitygw.Start(context.Background(), o)
		if err != nil {
			return nil, err
		}
		s.kept = append(s.kept, server)
		s.servers = append(s.servers, strings.TrimPrefix(server.URL(), "http://"))
	}
	return s, nil
}

func inProcess(name string, h http.Handler) *store {
	server := httptest.NewServer(h)
	return &store{name: name, servers: []string{server.Listener.Addr().String()}, key: [2]string{"a", "b"}}
}

// A missingError says what to install.
type missingError struct{ what, do string }

func (e *missingError) Error() string { return fmt.Sprintf("%s is missing: %s", e.what, e.do) }

// newS3rver starts s3rver as a child that ends with this process: node reads its
// standard input, and exits when that ends.
func newS3rver() (*store, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, &missingError{"node", "install Node.js 20 or later"}
	}
	main, err := filepath.Abs("../s3rver/node_modules/s3rver/bin/s3rver.js")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(main); err != nil {
		return nil, &missingError{"s3rver", "npm ci --prefix e2e/s3rver"}
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(l.Addr().String())
	dir, err := os.MkdirTemp("", "s3rver")
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	const guard = `process.stdin.on('end', () => process.exit()).resume(); require(process.argv[1])`
	cmd := exec.CommandContext(context.Background(), node, "-e", guard, main, "-d", dir, "-a", host, "-p", port, "-s", "--no-vhost-buckets")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &store{name: "s3rver", servers: []string{net.JoinHostPort(host, port)}, key: [2]string{"S3RVER", "S3RVER"}, kept: []any{stdin}}
	return s, s.await()
}

// await waits until something listens.
func (s *store) await() error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", s.servers[0])
		if err == nil {
			return c.Close()
		}
	}
	return fmt.Errorf("%s does not listen at %s", s.name, s.servers[0])
}
