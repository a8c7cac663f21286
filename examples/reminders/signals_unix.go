//go:build unix

package main

import (
	"os"
	"syscall"
)

// hang stops this process until somebody wakes it.
func hang() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
