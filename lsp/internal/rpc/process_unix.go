//go:build unix

package rpc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// processAlive reports whether a process has this id. One that we may not
// signal is alive.
func processAlive(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}
