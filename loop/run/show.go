package run

import (
	"encoding/json"
	"runtime/debug"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

func stack() string { return string(debug.Stack()) }

// shown is what whoever watches gets to see of an event, numbered.
func (r *activeRun) shown(next *loop.State, e *loop.Event, commands []loop.Command) []report.Event {
	var events []report.Event
	add := func(t report.EventType, set func(*report.Event)) {
		v := r.event(t)
		v.At, v.Stage, v.Turn, v.Depth, v.ParentRunID = e.At, next.Stage, next.Turn, next.Depth, next.ParentRunID
		v.Seq = r.seq + int64(len(events)) + 1
		if set != nil {
			set(&v)
		}
		events = append(events, v)
	}
	r.addHappened(add, next, e, commands)
	for _, c := range commands {
		switch c.Kind {
		case loop.Tell:
			r.addTold(func(t report.EventType, set func(*report.Event)) {
				add(t, func(v *report.Event) {
					v.Stage, v.Turn = c.Stage, c.Turn
					set(v)
				})
			}, next, e, c)
		case loop.Withdraw:
			by := "cancel"
			if e.Kind == loop.Begun {
				by = "policy" // nobody needs to be asked any more
			}
			add(report.ApprovalWithdrawn, func(v *report.Event) { v.ID, v.CallID, v.By = c.ApprovalID, c.CallID, by })
		}
	}
	return events
}

// addHappened shows the event itself, where it came at a time at which it
// means something.
func (r *activeRun) addHappened(add adder, next *loop.State, e *loop.Event, commands []loop.Command) {
	switch e.Kind {
	case loop.Asked:
		c, ok := next.Call(e.CallID)
		if ok && c.Phase == loop.CallRunning && c.ConfirmID == e.ApprovalID {
			add(report.ApprovalRequested, func(v *report.Event) { v.ID, v.CallID = e.ApprovalID, e.CallID })
		}
		if ok && c.Phase == loop.CallWaiting && c.ApprovalID == e.ApprovalID {
			if old, _ := r.state.Call(e.CallID); old.ApprovalID != "" && old.ApprovalID != e.ApprovalID {
				add(report.ApprovalWithdrawn, func(v *report.Event) { v.ID, v.CallID, v.By = old.ApprovalID, e.CallID, "policy" })
			}
			add(report.ApprovalRequested, func(v *report.Event) { v.ID, v.CallID = e.ApprovalID, e.CallID })
		}
	case loop.Begun:
		if c, ok := next.Call(e.CallID); ok && c.Phase == loop.CallRunning {
			add(report.ToolStarted, func(v *report.Event) {
				v.CallID, v.Tool, v.Arguments, v.Title = c.ID, c.Tool, c.Arguments, e.Title
			})
		}
	case loop.Set:
		if next.Active() {
			add(report.Notice, func(v *report.Event) { v.Level, v.Text = "info", choiceText(e) })
		}
	case loop.Noted:
		r.addNote(add, e.Note)
	case loop.TaskStarted, loop.TaskEnded, loop.TaskStalled:
		addTask(add, e)
	case loop.Questioned:
		if c, ok := next.Call(e.CallID); ok && e.ID != "" && c.QuestionID == e.ID {
			if old, _ := r.state.Call(e.CallID); old.QuestionID != e.ID { // not one that is taken up again
				add(report.QuestionAsked, func(v *report.Event) { v.ID, v.CallID = e.ID, e.CallID })
			}
		}
	case loop.Spawned:
		if c, ok := next.Call(e.CallID); ok && c.Child != nil && c.Child == e.Child {
			add(report.AgentSpawned, func(v *report.Event) {
				v.CallID, v.Agent, v.ChildRunID, v.ChildSessionID = c.ID, c.Child.Agent, c.Child.RunID, c.Child.SessionID
			})
		}
	case loop.Compacted, loop.CompactFailed:
		if len(commands) > 0 || next.Summaries != r.state.Summaries {
			r.addNote(add, compactNote(e))
		}
	}
}

type adder = func(report.EventType, func(*report.Event))

func (r *activeRun) addNote(add adder, n *loop.Note) {
	if n == nil {
		return
	}
	if n.Attempt > 0 {
		add(report.Retrying, func(v *report.Event) { v.Attempt, v.AfterMs, v.Because = n.Attempt, &n.AfterMs, n.Because })
		return
	}
	add(report.Notice, func(v *report.Event) { v.Level, v.Text = n.Level, n.Text })
}

func (r *activeRun) addTold(add adder, next *loop.State, e *loop.Event, c loop.Command) {
	switch c.What {
	case loop.TellRunStarted:
		add(report.RunStarted, func(v *report.Event) {
			v.Prompt, v.Agent, v.Model, v.Mode = next.Task, next.Course.Agent, next.Course.Model, next.Course.Mode
			if r.gear != nil {
				v.Sandbox = r.gear.sandbox
			}
		})
	case loop.TellStageEntered:
		add(report.StageEntered, func(v *report.Event) { v.Index = &c.Index })
	case loop.TellStageLeft:
		add(report.StageLeft, func(v *report.Event) { v.Outcome = c.Outcome })
	case loop.TellMessage:
		add(report.Message, func(v *report.Event) { v.Text = c.Text })
	case loop.TellUsage:
		r.usage = r.usage.Plus(c.Usage)
		total := r.usage
		add(report.UsageReported, func(v *report.Event) { v.Usage, v.Total = &c.Usage, &total })
	case loop.TellCall:
		r.addCall(add, e, c)
	case loop.TellRunFinished:
		add(report.RunFinished, func(v *report.Event) {
			v.Status, v.StopReason, v.Error = statusOf(next), report.StopReason(next.Ending.Stop), next.Ending.Error
			v.Output = &c.Text
			if next.Status == loop.RunDone {
				v.Structured = next.Structured
			}
		})
	}
}

func (r *activeRun) addCall(add adder, e *loop.Event, c loop.Command) {
	var took int64
	if e.Kind == loop.Finished && e.CallID == c.CallID {
		took = e.DurationMs
		if e.Todos != nil {
			if text, err := json.Marshal(e.Todos.Items); err == nil {
				add(report.TodosChanged, func(v *report.Event) { v.CallID, v.Todos = c.CallID, text })
			}
		}
		for _, change := range e.Changes {
			add(report.FileChanged, func(v *report.Event) { v.CallID, v.Path, v.Diff = c.CallID, change.Path, change.Diff })
		}
	}
	if call, ok := r.state.Call(c.CallID); ok && call.QuestionID != "" {
		add(report.QuestionClosed, func(v *report.Event) { v.ID, v.CallID = call.QuestionID, c.CallID })
	}
	add(report.ToolFinished, func(v *report.Event) {
		if was, _ := r.state.Call(c.CallID); was.Phase != loop.CallRunning && c.Call != nil {
			// No tool_started came before it, so it says itself what it is about.
			v.Tool, v.Arguments, v.Title = c.Call.Tool, c.Call.Arguments, c.Call.Tool
			if e.Title != "" && e.CallID == c.CallID {
				v.Title = e.Title
			}
		}
		v.CallID, v.Outcome, v.DurationMs = c.CallID, string(c.Result.Outcome), &took
		v.Output, v.Truncated = &c.Result.Text, &c.Result.Truncated
	})
}

// event makes an event of this run without a number.
func (r *activeRun) event(t report.EventType) report.Event {
	return report.Event{
		RunID: r.id, SessionID: r.session, At: r.svc.now(), Type: t,
		Stage: r.state.Stage, Turn: r.state.Turn, Depth: r.state.Depth, ParentRunID: r.state.ParentRunID,
	}
}
