//go:build !unix

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

const workerCommand = "worker"

var errNoSignals = errors.New("no SIGSTOP and no flock on " + runtime.GOOS +
	", so real processes cannot play this story: run it with -store memory")

func newProcesses(time.Duration, func(error)) (crew, error) { return nil, errNoSignals }

func workerMain([]string) int {
	fmt.Fprintln(os.Stderr, errNoSignals)
	return exitFailed
}
