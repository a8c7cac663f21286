//go:build !unix

package show

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

const workerCommand = "worker"

var errNoSignals = errors.New("no SIGSTOP and no flock on " + runtime.GOOS +
	", so real processes cannot play this story: run it with -store memory")

func newProcesses(Place, string) hire {
	return func(context.Context, time.Duration, func(error)) (crew, error) { return nil, errNoSignals }
}

func become(context.Context, string, []string) (int, error) { return exitFailed, errNoSignals }

func workerMain([]string, Place) int {
	fmt.Fprintln(os.Stderr, errNoSignals)
	return exitFailed
}
