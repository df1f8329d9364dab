package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
)

func decision(h *Hook, f hooks.Firing, fields map[string]any) hooks.Decision {
	d := hooks.Decision{At: f.At, Stage: f.Stage, Event: f.Event, HookID: h.ID, CallID: f.CallID, Hook: hooks.Source{Command: h.Command}}
	d.RunID, _ = fields["run_id"].(string)
	d.SessionID, _ = fields["session_id"].(string)
	return d
}

// ask runs one command and reads its answer. A failure decides nothing by
// itself; a required hook's closes the gate, and that is the caller's.
func (r *Runner) ask(ctx context.Context, h *Hook, e *contract.Event, f hooks.Firing, fields map[string]any) hooks.Ruling {
	d := decision(h, f, fields)
	start := time.Now()
	verdict, ask, exit, failure := r.answer(ctx, h, e, fields)
	d.DurationUs = time.Since(start).Microseconds()
	d.Hook.ExitStatus = exit
	ruling := hooks.Ruling{Verdict: verdict, Ask: ask, Required: h.Required}
	switch {
	case failure != nil:
		failure.Message = fmt.Sprintf("the command hook %s of %s failed: %s", h.ID, e.Name, failure.Message)
		d.Action, d.Error = contract.Failed.String(), failure
		ruling.Failure, ruling.Verdict = failure, contract.Verdict{}
	case ask != "":
		d.Action, d.Reason = contract.Allow.String(), "asks: "+ask
	default:
		d.Action, d.Reason = verdict.Action.String(), verdict.Reason
	}
	ruling.Decision = d
	return ruling
}

func (r *Runner) answer(ctx context.Context, h *Hook, e *contract.Event, fields map[string]any) (v contract.Verdict, ask string, exit int, failure *hooks.Failure) {
	if !h.Required && r.o.Strikes.Evicted(h.ID) {
		return v, "", 0, &hooks.Failure{Kind: hooks.Infrastructure, Message: fmt.Sprintf("it failed %d times in this session and is not asked any more", MaxStrikes)}
	}
	envelope, err := envelope(e, fields)
	if err != nil {
		return v, "", 0, &hooks.Failure{Kind: hooks.Infrastructure, Message: err.Error()}
	}
	out, failure := r.run(ctx, h, e, envelope)
	if failure == nil {
		v, ask, failure = read(e, fields, out)
	}
	if failure != nil && !out.untrusted && ctx.Err() == nil {
		if n := r.o.Strikes.add(h.ID); n >= MaxStrikes && !h.Required {
			r.o.Log.Warn("a command hook failed too often and is not asked any more", "hook", h.ID, "failures", n)
		}
	}
	return v, ask, out.code, failure
}

// output is what a process left.
type output struct {
	stdout []byte
	stderr string
	code   int
	// untrusted: it was not started, which is no fault of its own.
	untrusted bool
}

// run runs the process within its bounds. It returns when the bounds or ctx
// end, whatever the process does.
func (r *Runner) run(ctx context.Context, h *Hook, e *contract.Event, stdin []byte) (output, *hooks.Failure) {
	outer, cancel := context.WithTimeout(ctx, r.o.OuterTime)
	defer cancel()
	type ended struct {
		out     output
		failure *hooks.Failure
	}
	done := make(chan ended, 1)
	go func() {
		out, failure := r.process(outer, h, e, stdin)
		done <- ended{out, failure}
	}()
	select {
	case end := <-done:
		return end.out, end.failure
	case <-outer.Done():
	}
	if ctx.Err() != nil {
		return output{}, &hooks.Failure{Kind: hooks.Infrastructure, Message: "the run was stopped meanwhile"}
	}
	return output{}, &hooks.Failure{Kind: hooks.LimitFailure, Message: fmt.Sprintf("no answer within %v", r.o.OuterTime)}
}

var errTooMuch = errors.New("it printed too much")

func (r *Runner) process(ctx context.Context, h *Hook, e *contract.Event, stdin []byte) (output, *hooks.Failure) {
	giveBack, err := r.o.Floor.Permit(ctx)
	if err != nil {
		return output{}, &hooks.Failure{Kind: hooks.LimitFailure, Message: "no process could be started in time: too many are at work"}
	}
	defer giveBack()
	// Asked behind the wait for the permit: what is trusted before it may be
	// another by its end.
	if h.Trusted != nil {
		if err := h.Trusted(ctx); err != nil {
			return output{untrusted: true}, &hooks.Failure{Kind: hooks.Infrastructure, Message: err.Error()}
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timed, cancel := context.WithTimeout(ctx, r.o.ProcessTime)
	defer cancel()
	stdout := &capped{most: MaxOutput, full: func() { stop(errTooMuch) }}
	stderr := &capped{most: maxStderr}
	exit := r.o.Floor.Run(timed, Call{
		Line: h.Command, Env: environment(h, e), Stdin: bytes.NewReader(stdin), Stdout: stdout, Stderr: stderr,
	})
	out := output{stdout: stdout.bytes(), stderr: strings.TrimSpace(string(stderr.bytes())), code: exit.Code}
	fail := func(kind hooks.FailureKind, format string, args ...any) (output, *hooks.Failure) {
		return out, &hooks.Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case stdout.over():
		return fail(hooks.LimitFailure, "it printed more than %d bytes", MaxOutput)
	case timed.Err() != nil && context.Cause(timed) == context.DeadlineExceeded:
		return fail(hooks.LimitFailure, "it took longer than %v", r.o.ProcessTime)
	case exit.Stopped:
		return fail(hooks.Infrastructure, "it was stopped")
	case exit.Err != nil:
		return fail(hooks.Infrastructure, "%v", exit.Err)
	case exit.Code == 2 && refuses(e):
		return out, nil
	case exit.Code != 0:
		return fail(hooks.ScriptFailure, "exit status %d%s", exit.Code, said(out.stderr))
	}
	return out, nil
}

// refuses says whether exit status 2 is an answer: a refusal, its reason on
// stderr.
func refuses(e *contract.Event) bool { return e.Honours(contract.Deny) }

func said(stderr string) string {
	if stderr == "" {
		return ""
	}
	line, _, _ := strings.Cut(stderr, "\n")
	return ": " + line
}

// environment is the entry's own, and behind it what tells the command which
// event it answers, so that no entry can pretend another.
func environment(h *Hook, e *contract.Event) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		if strings.EqualFold(name, identities[0]) || strings.EqualFold(name, identities[1]) {
			continue
		}
		env = append(env, name+"="+h.Env[name])
	}
	for _, name := range identities {
		env = append(env, name+"="+e.Name)
	}
	return env
}

var identities = [2]string{"HOTL_HOOK_EVENT", "AGENT_LS_HOOK_EVENT"}
