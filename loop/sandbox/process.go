package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Process is one command on the floor. Set the exported fields before Start.
type Process struct {
	Stdin  io.Reader // nil: nothing to read
	Stdout io.Writer // nil: thrown away
	Stderr io.Writer // may be the same as Stdout; one goroutine writes then
	Env    []string  // on top of the floor's own

	ctx   context.Context
	floor *Floor
	line  string
	dir   string
	shell string

	cmd      *exec.Cmd
	host     host // what the platform keeps about a running process
	before   Digests
	temp     string
	hint     string
	stopOnce sync.Once
	stopped  chan struct{} // closed by Stop
	release  func() bool   // of the context's AfterFunc
}

// Exit is how a process ended.
type Exit struct {
	Code    int    // exit status; 128 and the signal's number for a killed one
	Stopped bool   // by Stop or the context
	Err     error  // it could not be waited for, or its floor could not be laid
	Signal  string // of a killed one
	// Protected are the always-asked files that the command changed.
	Protected Changes
	// Incomplete says why some of them may have been overlooked, "" if none
	// can have been.
	Incomplete string
	// Hint says what the floor did not let the command do that it might have
	// failed for, "" if nothing unusual.
	Hint string
}

// lingering is how long output is still read after the process has ended, for
// the case that something outside our reach keeps the pipe open.
const lingering = 200 * time.Millisecond

// Start starts the command. It returns once the process exists.
func (p *Process) Start() error {
	if p.cmd != nil {
		return errors.New("the command was started already")
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.stopped = make(chan struct{})
	p.before = Snapshot(p.floor.dirs.Root)
	if err := p.floor.prepare(p); err != nil {
		p.clean()
		return err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	p.cmd.WaitDelay = lingering
	err := starter.do(p.cmd.Start)
	p.host.started(p.cmd, err)
	if err != nil {
		p.clean()
		return err
	}
	p.release = context.AfterFunc(p.ctx, p.Stop)
	return nil
}

// Stop ends the command and everything that it started. It does not wait: Wait
// returns soon after. It may be called at any time, several times.
func (p *Process) Stop() {
	p.stopOnce.Do(func() {
		if p.stopped != nil {
			close(p.stopped)
		}
		if p.cmd != nil && p.cmd.Process != nil {
			p.host.stop(p.cmd)
		}
	})
}

// Wait waits for the end of a started command, and cleans up after it.
func (p *Process) Wait() Exit {
	if p.cmd == nil || p.cmd.Process == nil {
		return Exit{Code: -1, Err: errors.New("the command was not started")}
	}
	err := p.cmd.Wait()
	p.release()
	p.host.ended(p.cmd)
	p.clean()
	exit := Exit{Hint: p.hint}
	select {
	case <-p.stopped:
		exit.Stopped = true
	default:
	}
	if p.cmd.ProcessState != nil {
		exit.Code, exit.Signal = status(p.cmd.ProcessState)
	}
	var bad *exec.ExitError
	if err != nil && !errors.As(err, &bad) && !errors.Is(err, exec.ErrWaitDelay) {
		exit.Err = err
	}
	after := Snapshot(p.floor.dirs.Root)
	exit.Protected = p.before.Compare(after)
	p.floor.saw(&after)
	if exit.Incomplete = p.before.Incomplete(); exit.Incomplete == "" {
		exit.Incomplete = after.Incomplete()
	}
	return exit
}

// Run is Start and Wait.
func (p *Process) Run() Exit {
	if err := p.Start(); err != nil {
		return Exit{Code: -1, Err: err, Stopped: p.ctx.Err() != nil}
	}
	return p.Wait()
}

func (p *Process) clean() {
	if p.temp != "" {
		_ = os.RemoveAll(p.temp)
		p.temp = ""
	}
}

// limits is what a small shell does before it becomes the one for the line,
// $0 and $1: no core files, bounds on the size of files (16 GiB) and on
// processes. A shell that lacks an option goes on without it.
const limits = `{ ulimit -c 0; ulimit -f 33554432; ulimit -u 8192 || ulimit -p 8192; } 2>/dev/null; exec "$0" -c "$1"`

// plain prepares a command without a floor.
func (f *Floor) plain(p *Process) error {
	if runtime.GOOS == "windows" {
		p.cmd = exec.Command(p.shell, "-c", p.line)
	} else {
		p.cmd = exec.Command("/bin/sh", "-c", limits, p.shell, p.line)
	}
	p.cmd.Dir = p.dir
	p.cmd.Env = append(f.environment(os.Environ(), ""), p.Env...)
	p.host.group(p.cmd)
	return nil
}

// starting runs functions one after another on one thread that never ends:
// the kernel's "die with your parent" is about the parent's thread.
type starting struct {
	once sync.Once
	jobs chan func()
}

var starter starting

func (s *starting) do(start func() error) error {
	s.once.Do(func() {
		s.jobs = make(chan func())
		go s.serve() // owned by the program, for as long as it lives
	})
	done := make(chan error, 1)
	s.jobs <- func() { done <- start() }
	return <-done
}
