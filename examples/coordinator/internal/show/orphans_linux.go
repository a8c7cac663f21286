package show

import (
	"runtime"
	"syscall"
)

// init keeps the main goroutine on the main thread: a worker dies with the thread
// that started it, not with the process.
func init() { runtime.LockOSThread() }

// orphanless starts a worker that does not outlive this program, even if that is
// killed, and even if the worker is stopped. It is in a process group of its own,
// so that Ctrl-C reaches this program only.
func orphanless() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
