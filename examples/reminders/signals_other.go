//go:build !unix

package main

import (
	"errors"
	"os"
)

func hang() {}

func pause(*os.Process) error { return errors.ErrUnsupported }

func wake(*os.Process) error { return errors.ErrUnsupported }
