package pool

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"agent-ls/hooks/worker/wire"
)

// FailureKind tells a script's own fault from a limit and from the machine's.
type FailureKind uint8

const (
	NoFailure      FailureKind = iota
	DoesNotCompile             // it was never run
	Threw                      // the script threw
	Limit                      // operations, time, memory, depth, size
	NotData                    // it returned what is not plain data
	Infrastructure             // the worker could not start, was killed, or the caller gave up
)

// Place is where a script was.
type Place struct {
	Path      string // as the script's files name it
	File      int    // index of the script's files
	Line, Col int    // from 1, in runes; 0 where it is not known
	Function  string
}

func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.Path
	case p.Function == "":
		return fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Col)
	}
	return fmt.Sprintf("%s:%d:%d in %s", p.Path, p.Line, p.Col, p.Function)
}

// Failure is a firing or a load without an answer.
type Failure struct {
	Kind       FailureKind
	Message    string
	Stack      []Place // innermost first; empty where it is not known
	Operations int64
	Printed    string
}

func (f *Failure) Error() string {
	if len(f.Stack) > 0 {
		p := f.Stack[0]
		p.Function = ""
		return p.String() + ": " + f.Message
	}
	return f.Message
}

// death says why the process is gone and where the script was.
func (p *process) death(s *Script, seq uint32, o Options, doing string) *Failure {
	<-p.done
	f := &Failure{}
	f.Kind, f.Message = p.cause(o)
	f.Message += " " + doing
	if p.page == nil {
		return f
	}
	frames, ops, ok := p.page.Last(s.id, seq)
	if !ok {
		return f
	}
	f.Operations = ops
	f.Stack = s.places(p.loaded[s.id], frames)
	return f
}

// cause reads it from who killed the process, how it ended and what it said.
func (p *process) cause(o Options) (FailureKind, string) {
	if k := p.killed.Load(); k != nil {
		return k.kind, k.msg
	}
	said := p.stderr.String()
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(said, t) {
				return true
			}
		}
		return false
	}
	state := p.cmd.ProcessState
	switch {
	case has("stack exceeds", "stack overflow"):
		return Limit, "stack limit: a value or a call is nested too deep, or a value refers to itself,"
	case has("out of memory", "cannot allocate memory", "failed to allocate", "pthread_create failed"):
		return Limit, fmt.Sprintf("memory limit of %s", wire.Size(o.Memory))
	case !signalled(state) && has("SIGSEGV", "SIGBUS"):
		// The collector found memory missing that the kernel did not give.
		return Limit, fmt.Sprintf("memory limit of %s", wire.Size(o.Memory))
	case signalled(state):
		return Infrastructure, fmt.Sprintf("the script worker was killed from outside (%s)", state)
	}
	return Infrastructure, fmt.Sprintf("the script worker ended (%s%s)", state, p.lastWords())
}

// signalled tells whether a signal ended the process.
func signalled(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
