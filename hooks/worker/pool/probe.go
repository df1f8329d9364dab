package pool

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"agent-ls/hooks/worker/wire"
)

// Mechanism is one thing that keeps scripts from the machine.
type Mechanism struct {
	Name   string
	Active bool
	Detail string // why it is not
}

// Attempt is something that a worker tried and must not be able to do.
type Attempt struct {
	Name    string
	Stopped bool
	How     string // what stopped it, or that nothing did
}

// Isolation is what keeps scripts from the machine here.
type Isolation struct {
	Platform   string
	Mechanisms []Mechanism
	Attempts   []Attempt
}

// Complete says whether everything is in force.
func (i Isolation) Complete() bool {
	for _, m := range i.Mechanisms {
		if !m.Active {
			return false
		}
	}
	for _, a := range i.Attempts {
		if !a.Stopped {
			return false
		}
	}
	return true
}

// attemptLimit is how long a worker may try one thing, on a busy machine.
const attemptLimit = 30 * time.Second

// attempts are what a probe tries, each in a worker of its own: some end it.
var attempts = []struct{ name, what string }{
	{"open a file", "open"}, {"look at a file", "stat"}, {"create a file", "create"}, {"list a folder", "list"},
	{"see the environment", "environment"}, {"raise a limit", "limits"}, {"signal the server", "signal"},
	{"make code executable", "code"}, {"take more memory than allowed", "memory"},
	{"open a connection", "socket"}, {"send a datagram", "datagram"}, {"start a process", "process"}, {"become another program", "exec"},
}

// Probe starts workers that try to reach the machine, and says what held.
// executable is what is started, "" for the running binary.
func Probe(ctx context.Context, executable string) (Isolation, error) {
	p := New(Options{Workers: 1, Executable: executable})
	defer p.Close()
	report, err := p.Report(ctx)
	if err != nil {
		return Isolation{}, err
	}
	out := Isolation{Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, m := range []struct{ name, missing string }{
		{"files (Landlock)", report.Landlock}, {"network and processes (seccomp)", report.Seccomp}, {"memory limit of the kernel", report.Memory},
		{"no file can be opened", report.Files}, {"empty environment", report.Environment}, {"no inherited descriptors", report.Descriptors},
		{"position after a kill", report.LastWords},
	} {
		out.Mechanisms = append(out.Mechanisms, Mechanism{Name: m.name, Active: m.missing == "", Detail: m.missing})
	}
	o := p.options
	if o.Executable == "" {
		if o.Executable, err = self(); err != nil {
			return out, err
		}
	}
	for _, a := range attempts {
		held, how := attempt(ctx, o, a.what)
		out.Attempts = append(out.Attempts, Attempt{Name: a.name, Stopped: held, How: how})
	}
	return out, nil
}

// attempt has one worker try one thing.
func attempt(ctx context.Context, o Options, what string) (stopped bool, how string) {
	w, err := launch(o, what)
	if err != nil {
		return false, err.Error()
	}
	defer w.close()
	frame, err := w.exchange(ctx, nil, attemptLimit, ending{Infrastructure, "it did not end"})
	if err != nil {
		select {
		case <-w.done:
		case <-time.After(time.Second):
			return false, "it goes on without an answer"
		}
		kind, msg := w.cause(o)
		if signalled(w.cmd.ProcessState) && w.killed.Load() == nil {
			return true, fmt.Sprintf("ended by the system (%s)", w.cmd.ProcessState)
		}
		return kind == Limit, msg
	}
	if len(frame) == 0 {
		return false, "nothing stopped it"
	}
	return true, wire.Clip(string(frame))
}
