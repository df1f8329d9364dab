package tool

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"agent-ls/loop"
)

// background starts a command that runs on after its call. It holds no permit
// of those that bound how many processes run at once: it may take for ever.
func (t *shellTool) background(ctx context.Context, call loop.Invocation, a shellArgs) loop.ToolResult {
	if call.Keep == nil {
		return failure("nothing can run on in the background here")
	}
	title, _, _ := strings.Cut(strings.TrimSpace(a.Command), "\n")
	if a.Description != "" {
		title = a.Description
	}
	id, err := call.Keep(loop.Task{Title: cut(title, 200), Command: a.Command}, func(ctx context.Context, out io.Writer) (func() loop.TaskEnd, error) {
		return t.begun(ctx, a, out)
	})
	if err != nil {
		return t.failed(ctx, fmt.Errorf("it was not started: %w", err))
	}
	return success(fmt.Sprintf("task %s runs in the background. shell_output reads what it prints, shell_kill ends it; you are told when it ends.", id))
}

// begun starts the command; what it returns waits for its end.
func (t *shellTool) begun(ctx context.Context, a shellArgs, out io.Writer) (func() loop.TaskEnd, error) {
	release := context.CancelFunc(func() {})
	if a.TimeoutMs > 0 {
		ctx, release = context.WithTimeout(ctx, min(time.Duration(a.TimeoutMs)*time.Millisecond, maxTimeout))
	}
	p, err := t.Sandbox.Command(ctx, a.Command, t.Root)
	if err == nil {
		p.Stdout, p.Stderr = out, out
		err = p.Start()
	}
	if err != nil {
		release()
		return nil, err
	}
	return func() loop.TaskEnd {
		defer release()
		exit := p.Wait()
		end := loop.TaskEnd{ExitCode: exit.Code, Killed: exit.Stopped || exit.Signal != ""}
		switch {
		case exit.Err != nil:
			end.Note = "it could not be waited for: " + exit.Err.Error()
		case len(exit.Protected) > 0:
			// Others may have changed them meanwhile, so nothing is put back.
			end.Note = "while it ran, somebody " + t.changed(exit.Protected) + "; that was left as it is"
			t.Log.Warn("protected files changed while a background command ran", "command", a.Command, "changes", t.changed(exit.Protected))
		}
		return end
	}, nil
}
