package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// outputTool reads what a background task printed, killTool ends one.
type (
	outputTool struct{}
	killTool   struct{}
)

type taskArguments struct {
	Task   string `json:"task"`
	WaitMs int64  `json:"wait_ms"`
}

func (outputTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "shell_output",
		Description: "Gives what a background task printed since it was read last, and whether it runs still.\nWith wait_ms it waits that long for the task to end.",
		Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["task"],"properties":{
"task":{"type":"string","minLength":1,"description":"The id that shell gave."},
"wait_ms":{"type":"integer","minimum":0,"maximum":600000,"description":"How long to wait for its end; 0 by default."}}}`)}
}

func (killTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "shell_kill", Description: "Ends a background task and everything that it started.", Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["task"],"properties":{
"task":{"type":"string","minLength":1,"description":"The id that shell gave."}}}`)}
}

func (outputTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	return taskPlan("read the output of", args)
}

func (killTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	return taskPlan("end", args)
}

func taskPlan(what string, args json.RawMessage) (loop.Plan, error) {
	var a taskArguments
	if err := json.Unmarshal(args, &a); err != nil {
		return loop.Plan{}, fmt.Errorf("read the arguments: %w", err)
	}
	// Both are about what the run itself started, and may be said twice.
	return loop.Plan{Effect: loop.Read, Title: what + " " + titleOf(a.Task), ConcurrencySafe: a.WaitMs == 0}, nil
}

// Run is never called: both need a run to act on.
func (outputTool) Run(context.Context, loop.Invocation) loop.ToolResult {
	return *refusal(loop.CallError, "there is no run that has tasks")
}

func (killTool) Run(context.Context, loop.Invocation) loop.ToolResult {
	return *refusal(loop.CallError, "there is no run that has tasks")
}

func (outputTool) runIn(ctx context.Context, d *dispatched, call loop.Invocation) loop.ToolResult {
	k, a, early := d.task(call)
	if early != nil {
		return *early
	}
	if a.WaitMs > 0 {
		timer := time.NewTimer(time.Duration(a.WaitMs) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-k.done:
		case <-timer.C:
		case <-ctx.Done():
			return *d.stopped(ctx)
		}
	}
	return loop.ToolResult{Text: k.standing() + k.out.fresh(), Outcome: loop.CallOK}
}

func (killTool) runIn(ctx context.Context, d *dispatched, call loop.Invocation) loop.ToolResult {
	k, _, early := d.task(call)
	if early != nil {
		return *early
	}
	if k.over() {
		return loop.ToolResult{Text: k.standing() + k.out.fresh(), Outcome: loop.CallOK}
	}
	k.stop()
	select {
	case <-k.done:
	case <-time.After(endWithin):
		return *refusal(loop.CallError, "the task was killed and has not ended yet")
	case <-ctx.Done():
		return *d.stopped(ctx)
	}
	return loop.ToolResult{Text: k.standing() + k.out.fresh(), Outcome: loop.CallOK}
}

func (d *dispatched) task(call loop.Invocation) (*task, taskArguments, *loop.ToolResult) {
	var a taskArguments
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return nil, a, refusal(loop.CallError, err.Error())
	}
	k := d.run.svc.tasks.find(d.run.session, a.Task)
	if k == nil {
		var names []string
		for _, o := range d.run.svc.tasks.owned(func(o *task) bool { return o.session == d.run.session }) {
			names = append(names, o.ID)
		}
		if len(names) == 0 {
			return nil, a, refusal(loop.CallError, fmt.Sprintf("there is no background task %q; there are none", a.Task))
		}
		return nil, a, refusal(loop.CallError, fmt.Sprintf("there is no background task %q; there are %s", a.Task, strings.Join(names, ", ")))
	}
	return k, a, nil
}

// standing is the line in front of a task's output.
func (k *task) standing() string {
	t := k.now()
	switch {
	case t.Status == loop.TaskRuns:
		return fmt.Sprintf("[task %s runs, for %s so far]\n", k.ID, time.Since(k.began).Round(100*time.Millisecond))
	case t.Status == loop.TaskKilled:
		return fmt.Sprintf("[task %s was killed]\n", k.ID)
	}
	return fmt.Sprintf("[task %s ended with exit status %d]\n", k.ID, k.end.ExitCode)
}

// visibleEnd is the end of output, whole runes, control characters made
// visible.
func visibleEnd(b []byte, n int) string {
	if len(b) > n {
		b = b[len(b)-n:]
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	return report.Visible(strings.ToValidUTF8(string(b), "\uFFFD"))
}

// tasksAnnounced are the events about background tasks that an applied event
// is the cause of.
func (r *activeRun) tasksAnnounced(add func(string, func(*loop.State) map[string]any), e *loop.Event) {
	switch e.Kind {
	case loop.Started, loop.RunResumed:
		if ended := e.Tasks; len(ended) > 0 {
			add("background:reconcile", func(*loop.State) map[string]any {
				rows := make([]any, len(ended))
				for i, t := range ended {
					rows[i] = map[string]any{"task_id": t.ID, "title": t.Title, "status": string(t.Status), "exit_code": exitCode(t)}
				}
				return map[string]any{"tasks": rows}
			})
		}
		for _, t := range r.adopted {
			add("background:adopt", func(*loop.State) map[string]any { return taskFields(t, map[string]any{"from_run_id": t.RunID}) })
		}
		r.adopted = nil
	case loop.TaskStarted:
		t := *e.Task
		if from := e.ID; from != "" {
			add("background:reassign", func(*loop.State) map[string]any {
				return taskFields(t, map[string]any{"from_run_id": from, "to_run_id": t.RunID})
			})
			return
		}
		add("background:start", func(*loop.State) map[string]any { return taskFields(t, nil) })
	case loop.TaskEnded:
		t := *e.Task
		add("background:exit", func(*loop.State) map[string]any {
			return taskFields(t, map[string]any{"status": string(t.Status), "exit_code": exitCode(t), "output": t.Output, "duration_ms": t.DurationMs})
		})
	case loop.TaskStalled:
		t := *e.Task
		add("background:stall", func(*loop.State) map[string]any {
			return taskFields(t, map[string]any{"idle_ms": t.IdleMs, "output": t.Output})
		})
	}
}

func taskFields(t loop.Task, more map[string]any) map[string]any {
	f := map[string]any{"task_id": t.ID, "title": t.Title, "command": t.Command, "call_id": t.CallID}
	for k, v := range more {
		f[k] = v
	}
	return f
}

func exitCode(t loop.Task) any {
	if t.ExitCode == nil {
		return nil
	}
	return int64(*t.ExitCode)
}

// addTask shows what becomes of a background task.
func addTask(add adder, e *loop.Event) {
	if e.Task == nil {
		return
	}
	level, text := "info", ""
	switch t := e.Task; {
	case e.Kind == loop.TaskStarted && e.ID != "":
		text = fmt.Sprintf("background task %s is its parent's now: %s", t.ID, t.Title)
	case e.Kind == loop.TaskStarted:
		text = fmt.Sprintf("background task %s began: %s", t.ID, t.Title)
	case e.Kind == loop.TaskStalled:
		level, text = "warning", fmt.Sprintf("background task %s has printed nothing for %v: %s", t.ID, time.Duration(t.IdleMs)*time.Millisecond, t.Title)
	case t.ExitCode != nil:
		text = fmt.Sprintf("background task %s ended with exit status %d: %s", t.ID, *t.ExitCode, t.Title)
	default:
		text = fmt.Sprintf("background task %s was killed: %s", t.ID, t.Title)
	}
	if e.Task.Note != "" && e.Kind == loop.TaskEnded {
		level, text = "warning", text+"; "+e.Task.Note
	}
	add(report.Notice, func(v *report.Event) { v.Level, v.Text = level, text })
}
