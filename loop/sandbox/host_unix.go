//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// host is what a running process needs besides exec.Cmd.
type host struct {
	supervised bool        // a supervisor of ours ends the tree when asked to
	lifeline   [2]*os.File // read end for the child, write end ours
	told       []byte      // what the supervisor is told through it
}

// group puts the command into a session and process group of its own, so that
// it has no terminal and can be ended whole.
func (h *host) group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func (h *host) started(_ *exec.Cmd, err error) {
	if h.lifeline[0] != nil {
		_ = h.lifeline[0].Close()
	}
	switch {
	case h.lifeline[1] == nil:
	case err != nil:
		_ = h.lifeline[1].Close()
	default:
		// The pipe may be smaller than what is told. The write ends when the
		// supervisor has read it or is gone.
		go func() { _, _ = fmt.Fprintf(h.lifeline[1], "%d\n%s", len(h.told), h.told) }()
	}
}

func (h *host) stop(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	if h.supervised {
		// It kills what it started and then itself; killed first, it would
		// leave orphans. If it does not get there, it is killed all the same.
		_ = syscall.Kill(pid, syscall.SIGTERM)
		time.AfterFunc(1500*time.Millisecond, func() { _ = cmd.Process.Kill() })
		return
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	_ = cmd.Process.Kill()
}

func (h *host) ended(cmd *exec.Cmd) {
	if h.lifeline[1] != nil {
		_ = h.lifeline[1].Close()
	}
	if !h.supervised {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in its group
	}
}

func status(s *os.ProcessState) (int, string) {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), w.Signal().String()
	}
	return s.ExitCode(), ""
}

func (s *starting) serve() {
	runtime.LockOSThread()
	for job := range s.jobs {
		job()
	}
}
