package loop

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// TaskStatus says how a background task stands.
type TaskStatus string

const (
	TaskRuns   TaskStatus = "running"
	TaskExited TaskStatus = "exited"
	TaskKilled TaskStatus = "killed"
	TaskLost   TaskStatus = "lost" // it ended with the program that ran it, and nobody saw how
)

// Task is a command that runs on while the agent does something else.
type Task struct {
	ID       string     `json:"id"`
	CallID   string     `json:"callId"`
	RunID    string     `json:"runId"` // that has it
	Title    string     `json:"title"`
	Command  string     `json:"command"`
	Status   TaskStatus `json:"status"`
	ExitCode *int       `json:"exitCode,omitempty"` // of one that exited
	Output   string     `json:"output,omitempty"`   // the end of what it printed
	Note     string     `json:"note,omitempty"`     // from the host, about its end
	// DurationMs is how long it ran; of one that says nothing, IdleMs for how
	// long.
	DurationMs int64 `json:"durationMs,omitempty"`
	IdleMs     int64 `json:"idleMs,omitempty"`
}

// TaskEnd is how what a task started ended.
type TaskEnd struct {
	ExitCode int
	Killed   bool
	Note     string
}

// KeepRunning lets what a call starts run on after the call, as a task of the
// run. begin starts it under a context that ends it and with the writer that
// takes its output; what begin returns waits for its end. It gives the task's
// id.
type KeepRunning func(t Task, begin func(ctx context.Context, out io.Writer) (wait func() TaskEnd, err error)) (id string, err error)

// tasked notes that a task runs, or is the session's now.
func (m *machine) tasked(e Event) {
	if e.Task == nil || slices.ContainsFunc(m.Tasks, func(t Task) bool { return t.ID == e.Task.ID }) {
		return
	}
	m.Tasks = append(slices.Clone(m.Tasks), *e.Task)
}

// taskEnded notes how tasks ended; the model is told with its next turn.
func (m *machine) taskEnded(ended ...Task) {
	if len(ended) == 0 || len(m.Tasks) == 0 {
		return
	}
	m.Tasks = slices.Clone(m.Tasks)
	for i, t := range m.Tasks {
		k := slices.IndexFunc(ended, func(e Task) bool { return e.ID == t.ID })
		if k >= 0 && t.Status == TaskRuns {
			m.Tasks[i] = ended[k]
		}
	}
}

// taskStalled notes that a task prints nothing; the model is told with its
// next turn.
func (m *machine) taskStalled(e Event) {
	if e.Task == nil || !e.Waits {
		return
	}
	i := slices.IndexFunc(m.Tasks, func(t Task) bool { return t.ID == e.Task.ID && t.Status == TaskRuns })
	if i >= 0 {
		m.Tasks = slices.Clone(m.Tasks)
		m.Tasks[i].IdleMs = e.Task.IdleMs
	}
}

// reportTasks tells the model of the tasks that ended, or print nothing, since
// it was told last.
func (m *machine) reportTasks() {
	over := func(t Task) bool { return t.Status != TaskRuns }
	if !slices.ContainsFunc(m.Tasks, func(t Task) bool { return over(t) || t.IdleMs > 0 }) {
		return
	}
	var left []Task
	for _, t := range m.Tasks {
		if over(t) || t.IdleMs > 0 {
			m.addUser(Block{Kind: ReminderBlock, Text: t.notification()})
		}
		if !over(t) {
			t.IdleMs = 0
			left = append(left, t)
		}
	}
	m.Tasks = left
}

// notification says how a task ended, or that it prints nothing. What it printed is not in it: this is
// the host's own word, and output goes only where the gate and the hooks of
// results see it, through the tool.
func (t *Task) notification() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<task-notification>\ntask %s (%s) ", t.ID, t.Title)
	switch {
	case t.Status == TaskRuns:
		idle := time.Duration(t.IdleMs) * time.Millisecond
		fmt.Fprintf(&b, "has printed nothing for %v and runs still. It may be waiting for something that never comes: look at what it printed last with shell_output, or end it with shell_kill", idle)
	case t.Status == TaskExited && t.ExitCode != nil:
		fmt.Fprintf(&b, "ended with exit status %d", *t.ExitCode)
	case t.Status == TaskLost:
		b.WriteString("ended with the program that ran it; what it had done by then is not known")
	default:
		b.WriteString("was killed")
	}
	if t.Note != "" {
		b.WriteString("\n" + t.Note)
	}
	if t.Output != "" && t.Status != TaskRuns {
		b.WriteString("\nshell_output gives what it printed")
	}
	b.WriteString("\n</task-notification>")
	return b.String()
}
