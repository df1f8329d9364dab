package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/realpath"
	"agent-ls/loop/sandbox"
)

//go:embed shell.md
var shellDoc string

const (
	defaultTimeout = 2 * time.Minute
	maxTimeout     = 10 * time.Minute
	maxCommand     = 64 << 10
	outputEvery    = 100 * time.Millisecond
	shownTail      = 4 << 10
)

type shellTool struct{ *workspace }

type shellArgs struct {
	Command     string `json:"command"`
	TimeoutMs   int64  `json:"timeout_ms"`
	Description string `json:"description"`
	Background  bool   `json:"background"`
}

func (t *shellTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "shell", Description: shellDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["command"],"properties":{
"command":{"type":"string","minLength":1,"description":"A shell line; it runs in the workspace's root."},
"timeout_ms":{"type":"integer","minimum":1,"maximum":600000,"description":"When it is stopped; 120000 by default, never in the background."},
"background":{"type":"boolean","description":"Run on as a task, for servers and watchers: the call returns the task's id at once."},
"description":{"type":"string","description":"What it is for, in a few words."}}}`)}
}

func (t *shellTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a shellArgs
	if err := decode(args, &a); err != nil {
		return loop.Plan{}, err
	}
	switch {
	case len(a.Command) > maxCommand:
		return loop.Plan{}, fmt.Errorf("the command has %d bytes, more than %d; write a script and run that", len(a.Command), maxCommand)
	case strings.IndexByte(a.Command, 0) >= 0:
		return loop.Plan{}, errors.New("the command contains a zero byte")
	case strings.TrimSpace(a.Command) == "":
		return loop.Plan{}, errors.New("the command is empty")
	}
	title, rest, more := strings.Cut(strings.TrimSpace(a.Command), "\n")
	if title = cut(title, 200); more && strings.TrimSpace(rest) != "" {
		title += " …"
	}
	return loop.Plan{Effect: loop.Execute, Title: title, Command: &loop.CommandPlan{Line: a.Command, Dir: t.Root, Background: a.Background}, ConcurrencySafe: readOnly(a.Command) && !a.Background}, nil
}

func (t *shellTool) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	var a shellArgs
	if err := decode(call.Arguments, &a); err != nil {
		return failure(err.Error())
	}
	if a.Background {
		return t.background(ctx, call, a)
	}
	timeout := defaultTimeout
	if a.TimeoutMs > 0 {
		timeout = min(time.Duration(a.TimeoutMs)*time.Millisecond, maxTimeout)
	}
	// Waiting for a permit is not the command's own time.
	permit, err := t.permit(ctx, call.Deadline)
	if err != nil {
		return t.failed(ctx, err)
	}
	defer permit()
	deadline := time.Now().Add(timeout)
	if !call.Deadline.IsZero() && call.Deadline.Before(deadline) {
		deadline = call.Deadline
	}
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	p, err := t.Sandbox.Command(limited, a.Command, t.Root)
	if err != nil {
		return t.failed(ctx, err)
	}
	out := newWindow(0)
	stream := &streamed{window: out, show: call.Output}
	p.Stdout, p.Stderr = stream, stream
	exit := p.Run()
	stream.flush()
	permit() // nothing runs any more, and a person may be asked now
	return t.result(ctx, call, a, exit, out, timeout)
}

// permit waits for one of the permits that bound how many processes run at
// once, no longer than the run may last; the zero time is no bound.
func (w *workspace) permit(ctx context.Context, until time.Time) (giveBack func(), err error) {
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	if giveBack, err = w.Permits.Take(ctx); err != nil {
		return nil, fmt.Errorf("waiting for one of the processes that may run at once: %w", err)
	}
	return giveBack, nil
}

// result is what the model is told about a command that has ended.
func (t *shellTool) result(ctx context.Context, call loop.Invocation, a shellArgs, exit sandbox.Exit, out *window, timeout time.Duration) loop.ToolResult {
	text, truncated := out.text()
	r := loop.ToolResult{Text: text, Truncated: truncated, Outcome: loop.CallOK}
	say := func(line string) {
		if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
			r.Text += "\n"
		}
		r.Text += line
	}
	switch {
	case exit.Err != nil:
		say("[it could not run: " + exit.Err.Error() + "]")
		r.IsError, r.Outcome = true, loop.CallError
	case ctx.Err() != nil:
		say("[cancelled; everything that it started was ended]")
		r.IsError, r.Outcome = true, loop.CallCancelled
	case exit.Stopped:
		say(fmt.Sprintf("[stopped after %s; everything that it started was ended]", timeout))
		r.IsError, r.Outcome = true, loop.CallError
	case exit.Code != 0:
		end := fmt.Sprintf("[exit status %d]", exit.Code)
		if exit.Signal != "" {
			end = "[ended by signal: " + exit.Signal + "]"
		}
		say(end)
		r.IsError, r.Outcome = true, loop.CallError
	case r.Text == "":
		r.Text = "(no output)"
	}
	if exit.Hint != "" && r.IsError && ctx.Err() == nil {
		say("[" + exit.Hint + "]")
	}
	if len(exit.Protected) > 0 {
		t.protected(ctx, call, exit.Protected, say, &r)
	}
	if exit.Incomplete != "" {
		t.Log.Warn("protected files may have been overlooked", "why", exit.Incomplete)
		say("[" + exit.Incomplete + "]")
	}
	if exit.Code == 0 && !exit.Stopped && !truncated && t.Behavior.TrackShellReads {
		t.track(ctx, a.Command)
	}
	if unsaved := t.unsaved(); len(unsaved) > 0 {
		r.Notes = append(r.Notes, "the command saw these files as they are on disk, without the editor's unsaved changes: "+strings.Join(unsaved, ", "))
	}
	return r
}

// unsaved names the open documents that a command does not see.
func (t *shellTool) unsaved() []string {
	var out []string
	for p, dirty := range t.Files.Open() {
		if dirty && realpath.Within(t.Root, p) {
			out = append(out, t.show(p))
		}
	}
	slices.Sort(out)
	return out
}

// streamed passes on the tail of what a command prints, now and then.
type streamed struct {
	*window
	show func(string)

	mu    sync.Mutex
	timer *time.Timer
	ended bool
}

var _ io.Writer = (*streamed)(nil)

func (s *streamed) Write(b []byte) (int, error) {
	n, err := s.window.Write(b)
	if s.show == nil {
		return n, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.ended {
		s.timer = time.AfterFunc(outputEvery, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.timer = nil
			if !s.ended {
				s.show(s.last(shownTail))
			}
		})
	}
	return n, err
}

// flush stops the showing; what is printed at the end is in the result.
func (s *streamed) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
