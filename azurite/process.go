package azurite

import (
	"bufio"
	"context"
	_ "embed" // for guard.js
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

//go:embed guard.js
var guard string

// A process is Azurite under its guard. No goroutine runs on its behalf, and it
// may be left alone: it ends when this process does.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	url   string
}

// launch starts Azurite on a port, "0" being any, and returns when it listens.
func launch(ctx context.Context, port, dir string) (*process, error) {
	node, main, err := locate()
	if err != nil {
		return nil, err
	}
	args := append([]string{"-e", guard, main}, flags(port, dir)...)
	p := &process{cmd: exec.CommandContext(context.WithoutCancel(ctx), node, args...)}
	out, err := p.start()
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	abort := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	url, said := listening(out)
	if !abort() || url == "" {
		_ = p.kill()
		return nil, failure(ctx, said)
	}
	p.url = url
	return p, nil
}

func flags(port, dir string) []string {
	f := []string{"--blobHost", "127.0.0.1", "--blobPort", port, "--silent", "--skipApiVersionCheck", "--disableTelemetry"}
	if dir == "" {
		return append(f, "--inMemoryPersistence")
	}
	return append(f, "--location", dir)
}

// start starts the process. What it says can be read from out.
func (p *process) start() (out *os.File, err error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	p.stdin, err = p.cmd.StdinPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	return out, nil
}

var announcement = regexp.MustCompile(`successfully listens on (http://\S+)`)

// listening reads until Azurite says where it listens, or has ended; then url
// is empty.
func listening(out io.Reader) (url string, said []string) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if match := announcement.FindStringSubmatch(lines.Text()); match != nil {
			return match[1], said
		}
	}
	return "", said
}

// failure explains in one line why Azurite did not come up.
func failure(ctx context.Context, said []string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("not up in time: %w", context.Cause(ctx))
	}
	const last = 3
	said = said[max(0, len(said)-last):]
	return fmt.Errorf("it ended at once, saying %q", strings.Join(said, "; "))
}

// kill ends the process by force: a used Azurite ignores gentler signals while
// a client keeps a connection. It has ended when kill returns.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // says that it was killed
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// finish lets the process write everything to disk first, unless ctx ends.
func (p *process) finish(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	if _, err := io.WriteString(p.stdin, "stop\n"); err != nil {
		return p.kill()
	}
	_ = p.cmd.Wait() // says that it was killed: it does that itself
	return context.Cause(ctx)
}
