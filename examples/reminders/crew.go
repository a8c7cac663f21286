package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A crew is the workers of a story, and what they say.
type crew struct {
	settings
	out   io.Writer
	start time.Time

	mu sync.Mutex
}

// tell prints a line of the story.
func (c *crew) tell(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, "%6.2f s  %s\n", time.Since(c.start).Seconds(), fmt.Sprintf(format, args...))
}

// A member is a worker process.
type member struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer   // what it waits for where it hangs
	said  chan string // each line, for await
	ended chan error  // its end, once
}

// routine is what need not be told: nine of ten reminders that were sent.
func routine(line string) bool {
	return strings.HasSuffix(line, ": sent") && !strings.HasSuffix(line, "0: sent")
}

// hire starts a worker. What it says is told.
func (c *crew) hire(ctx context.Context, name string, hangAt int) (*member, error) {
	s := c.settings
	s.Name, s.HangAt = name, hangAt
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m := &member{
		name: name, cmd: exec.CommandContext(ctx, program, s.args()...),
		said: make(chan string, 10*s.Customers+100), ended: make(chan error, 1),
	}
	m.cmd.Stderr = os.Stderr
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(m.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if !routine(lines.Text()) {
				c.tell("%s %s", name, lines.Text())
			}
			select {
			case m.said <- lines.Text():
			default: // nobody waits for so many
			}
		}
		m.ended <- m.cmd.Wait()
	}()
	return m, nil
}

// await waits for a line with this text, and returns it.
func (m *member) await(ctx context.Context, text string) (string, error) {
	for {
		select {
		case line, more := <-m.said:
			if strings.Contains(line, text) {
				return line, nil
			}
			if !more {
				return "", fmt.Errorf("%s has ended, without saying %q", m.name, text)
			}
		case <-ctx.Done():
			return "", fmt.Errorf("%s does not say %q: %w", m.name, text, context.Cause(ctx))
		}
	}
}

// leave waits for the end of a worker.
func (m *member) leave(ctx context.Context) error {
	select {
	case err := <-m.ended:
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s does not end: %w", m.name, context.Cause(ctx))
	}
}
