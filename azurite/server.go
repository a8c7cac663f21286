package azurite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// The account of every Azurite. Its key is no secret: Microsoft's documentation
// of the emulator prints it.
const (
	Account = "devstoreaccount1"
	Key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Variable is the environment variable that names a running Azurite.
const Variable = "BLOBLEASE_AZURITE"

// ErrForeign is returned by Stop and Restart of a server that was not started
// here.
var ErrForeign = errors.New("azurite: this one was not started here, but named by " + Variable)

// Options of Start. Nil means the defaults.
type Options struct {
	// Dir is where blobs are kept, so that they survive Stop and Restart. By
	// default they are kept in memory. A server with a Dir is always started,
	// whatever the environment names.
	Dir string
	// Private starts a server even if the environment names one.
	Private bool
}

// A Server is a running Azurite. Its methods may be called concurrently.
type Server struct {
	dir       string
	foreign   bool
	transport *http.Transport

	mu      sync.Mutex
	address string   // URL of the account
	process *process // nil if stopped
	closed  bool
}

// Start starts Azurite and waits until it answers, or finds the one that the
// environment names. The server does not end with ctx, but with Close, and with
// this process.
func Start(ctx context.Context, o *Options) (*Server, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Server{dir: o.Dir, transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	if named := os.Getenv(Variable); named != "" && named != skip && !o.Private && o.Dir == "" {
		s.address, s.foreign = strings.TrimSuffix(named, "/"), true
		return s, s.probe(ctx)
	}
	if err := s.start(ctx, "0"); err != nil {
		return nil, err
	}
	return s, nil
}

// probe finds out whether a named server is there.
func (s *Server) probe(ctx context.Context) error {
	u, err := url.Parse(s.address)
	if err != nil || !isAccount(u) {
		return fmt.Errorf("azurite: %s=%q is not the URL of an account, such as http://127.0.0.1:10000/%s", Variable, s.address, Account)
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return fmt.Errorf("azurite: %s=%s does not answer: %w", Variable, s.address, err)
	}
	return c.Close()
}

// isAccount reports whether u is the URL of an emulator's account, with the account in
// its path or, as emulators allow, in its host.
func isAccount(u *url.URL) bool {
	inHost := strings.HasPrefix(u.Host, Account+".") && u.Path == ""
	plain := u.User == nil && u.RawQuery == "" && u.Fragment == ""
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && plain && (inHost || u.Path == "/"+Account)
}

// start launches the process; the caller has locked mu or is alone.
func (s *Server) start(ctx context.Context, port string) error {
	p, err := launch(ctx, port, s.dir)
	if err != nil {
		return fmt.Errorf("azurite: %w", err)
	}
	s.process, s.address = p, p.url+"/"+Account
	return nil
}

// URL is that of the account.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// ConnectionString is what tools and SDKs take instead of URL, name, and key.
func (s *Server) ConnectionString() string {
	return fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;", Account, Key, s.URL())
}

// Container returns a client of the named container, and creates it if it does
// not exist. If the name is empty it is a new one. With options, the caller
// chooses retries, policies and transport.
func (s *Server) Container(ctx context.Context, name string, o *container.ClientOptions) (*container.Client, error) {
	if name == "" {
		name = "test-" + strings.ToLower(rand.Text())
	}
	c, err := s.Client(name, o)
	if err != nil {
		return nil, err
	}
	_, err = c.Create(ctx, nil)
	if err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
		return nil, fmt.Errorf("azurite: create container %q: %w", name, oneLine(err))
	}
	return c, nil
}

// oneLine is err without the page that the SDK makes of an answer. It still is what it
// was to errors.As.
func oneLine(err error) error {
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		return err
	}
	return &brief{fmt.Sprintf("it answers %d %s", answer.StatusCode, answer.ErrorCode), err}
}

type brief struct {
	text string
	err  error
}

func (e *brief) Error() string { return e.text }
func (e *brief) Unwrap() error { return e.err }

var containerName = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9]){2,62}$`)

const maxContainerName = 63

// Client is Container without a request: the container need not exist.
func (s *Server) Client(name string, o *container.ClientOptions) (*container.Client, error) {
	if !containerName.MatchString(name) || len(name) > maxContainerName {
		return nil, fmt.Errorf("azurite: container %.80q: a name has 3 to 63 lower-case letters, digits and single hyphens between them", name)
	}
	options := container.ClientOptions{}
	if o != nil {
		options = *o
	}
	if options.Transport == nil {
		options.Transport = &http.Client{Transport: s.transport}
	}
	key, err := container.NewSharedKeyCredential(Account, Key)
	if err != nil {
		return nil, err
	}
	return container.NewClientWithSharedKeyCredential(s.URL()+"/"+name, key, &options)
}

// Pid is the process that serves, or 0 if it is stopped or was not started here.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.cmd.Process.Pid
}

// Stop ends the server for a while: clients are refused until Restart. It
// returns when the process has ended. Without Options.Dir all blobs are lost.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foreign {
		return ErrForeign
	}
	s.transport.CloseIdleConnections()
	if s.process == nil {
		return nil
	}
	p := s.process
	s.process = nil
	if s.dir == "" {
		return p.kill()
	}
	return p.finish(ctx)
}

// Restart starts a stopped server again, under the same URL. One that was closed stays
// closed: that is an error.
func (s *Server) Restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foreign {
		return ErrForeign
	}
	if s.closed {
		return errors.New("azurite: the server was closed")
	}
	if s.process != nil {
		return nil
	}
	u, err := url.Parse(s.address)
	if err != nil {
		return err
	}
	return s.start(ctx, u.Port())
}

// Close ends the server at once, by force. One that was not started here goes
// on. Close may be called more than once.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.transport.CloseIdleConnections()
	if s.process == nil {
		return nil
	}
	p := s.process
	s.process = nil
	return p.kill()
}
