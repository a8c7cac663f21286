//go:build unix && !linux

package show

import "syscall"

// orphanless starts a worker in a process group of its own, so that Ctrl-C reaches
// this program only. If this program is killed, a worker sees the end of its
// line; one that is stopped gets SIGHUP from the system, as its group is then an
// orphan.
func orphanless() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
