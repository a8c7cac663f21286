//go:build unix

package main

import (
	"os"
	"syscall"
)

// pause stops a process in the middle of whatever it is doing, and wake lets it go on.
func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
