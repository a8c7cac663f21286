package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bloblease/bloblease/examples/coordinator/internal/show"
)

const serverBucket = "leases"

// start builds and starts versitygw, with an empty bucket.
func start(ctx context.Context) (made show.Made, err error) {
	dir, err := os.MkdirTemp("", "coordinator-s3-*")
	if err != nil {
		return made, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	program, err := build(ctx, dir)
	if err != nil {
		return made, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "buckets", serverBucket), 0o700); err != nil {
		return made, err
	}
	s, err := serve(program, filepath.Join(dir, "buckets"))
	if err != nil {
		return made, err
	}
	remove := func() error { return errors.Join(s.stop(), os.RemoveAll(dir)) }
	return show.Made{Address: s.url, Words: "versitygw at " + s.url, Remove: remove}, nil
}

// build makes the program of the server. No server belongs among this module's
// dependencies, so it is one of module e2e's.
func build(ctx context.Context, dir string) (program string, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/bloblease/bloblease").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	module := filepath.Join(strings.TrimSpace(string(root)), "e2e")
	if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil {
		return "", errors.New("the S3 server is built from a clone of the repository: run this in one, or take -store s3://BUCKET")
	}
	fmt.Fprintln(os.Stderr, "building versitygw, which takes a minute the first time")
	program = filepath.Join(dir, "versitygw")
	out, err := exec.CommandContext(ctx, "go", "build", "-C", module, "-o", program, "./cmd/versitygw").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build versitygw: %w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return program, nil
}

// A server is a child process. It ends when its standard input does, and so with this
// process.
type server struct {
	url   string
	child *exec.Cmd
	stdin io.Closer
}

func serve(program, buckets string) (*server, error) {
	s := &server{child: exec.Command(program, "-dir", buckets)} //nolint:noctx // it is stopped by hand, and in the end
	s.child.Stderr = os.Stderr
	out, err := s.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.stdin, err = s.child.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.child.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(errors.New("versitygw has not started"), s.stop())
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

func (s *server) stop() error {
	_ = s.stdin.Close()
	return s.child.Wait()
}
