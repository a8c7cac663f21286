// Package versitygw runs versitygw, an S3 server that keeps buckets in a directory,
// as a child process. Several servers on one directory make a store of several
// nodes.
package versitygw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// Version of the server.
const Version = "1.8.0"

// The credentials and the region of every server. They are no secret.
const (
	AccessKey = "bloblease"
	SecretKey = "bloblease-secret"
	Region    = "us-east-1"
)

const health = "/health-of-versitygw"

// Options of a server.
type Options struct {
	// Dir is where the buckets are: directories in it. Its file system has to
	// support extended attributes.
	Dir string
	// Versions is where old versions go, outside of Dir. If it is empty, no bucket
	// can keep any.
	Versions string
}

// Serve serves at an address such as 127.0.0.1:9000 until ctx ends. A process can
// do so once at a time.
func Serve(ctx context.Context, address string, o Options) error {
	if err := (meta.XattrMeta{}).Test(o.Dir); err != nil {
		return fmt.Errorf("versitygw: extended attributes in %s: %w", o.Dir, err)
	}
	files, err := posix.New(o.Dir, meta.XattrMeta{}, posix.PosixOpts{
		VersioningDir: o.Versions, ValidateBucketNames: true, Concurrency: 5000,
	})
	if err != nil {
		return fmt.Errorf("versitygw: %w", err)
	}
	return embedgw.RunVersityGW(ctx, files, &embedgw.Config{
		RootUserAccess: AccessKey, RootUserSecret: SecretKey, Region: Region,
		Ports: []string{address}, HealthPath: health, KeepAlive: true, Quiet: true,
		MaxConnections: 10_000, MaxRequests: 10_000, MultipartMaxParts: 10_000,
	})
}

// The environment variables by which a process is told to be a server.
const (
	addressVariable  = "BLOBLEASE_VERSITYGW_ADDRESS"
	dirVariable      = "BLOBLEASE_VERSITYGW_DIR"
	versionsVariable = "BLOBLEASE_VERSITYGW_VERSIONS"
)

// ServeIfAsked makes this process a server if Start has started it, and does not
// return then. A program that calls Start calls it first of all.
func ServeIfAsked() {
	address := os.Getenv(addressVariable)
	if address == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // the parent holds the other end, and when it dies, however it does, it closes
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
		time.Sleep(time.Second) // whoever has not ended by then never will
		os.Exit(0)
	}()
	err := Serve(ctx, address, Options{Dir: os.Getenv(dirVariable), Versions: os.Getenv(versionsVariable)})
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A Server is a child process that serves. It ends with Close, and with this
// process.
type Server struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
	close sync.Once
}

// Start starts a server on a free port, and waits until it answers.
func Start(ctx context.Context, o Options) (*Server, error) {
	const attempts = 3 // somebody else may take the port in between
	var err error
	for range attempts {
		var s *Server
		if s, err = start(ctx, o); err == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("start versitygw: %w", err)
}

func start(ctx context.Context, o Options) (*Server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &Server{url: "http://" + address, cmd: exec.CommandContext(context.WithoutCancel(ctx), self)}
	s.cmd.Env = append(os.Environ(), addressVariable+"="+address, dirVariable+"="+o.Dir, versionsVariable+"="+o.Versions)
	var said strings.Builder
	s.cmd.Stderr = &said
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err = s.cmd.Start(); err != nil {
		return nil, err
	}
	if err = s.await(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return s, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+health, http.NoBody)
		if err != nil {
			return err
		}
		if answer, err := client.Do(request); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("it does not answer")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL is the endpoint.
func (s *Server) URL() string { return s.url }

// Close ends the server by force. It returns when it has ended.
func (s *Server) Close() error {
	s.close.Do(func() {
		_ = s.cmd.Process.Kill()
		_ = s.stdin.Close()
		_ = s.cmd.Wait() // says that it was killed
	})
	return nil
}
