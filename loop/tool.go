package loop

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Effect is what a call may do to the world, at most.
type Effect string

const (
	Read    Effect = "read"
	Write   Effect = "write"
	Execute Effect = "execute"
	Network Effect = "network"
)

// Tool is something that the model may call. Implementations are in loop/tool.
type Tool interface {
	Spec() ToolSpec
	// Prepare says what a call would do, without doing it. The arguments fit
	// the schema. What it returns is what policy judges and approvals show.
	Prepare(ctx context.Context, args json.RawMessage) (Plan, error)
	// Run does it. Only the dispatcher in loop/run calls this.
	Run(ctx context.Context, call Invocation) ToolResult
}

// Plan is what a call would do.
type Plan struct {
	Effect Effect
	Title  string // one line for people: "edit calc.go", "go test ./..."
	// Paths are what the call reads or writes, absolute, symlinks resolved.
	Paths   []PathAccess
	Command *CommandPlan // shell
	Edits   []FileEdit   // file tools that write: what the files would become
	// ConcurrencySafe says that this very call may run beside others.
	ConcurrencySafe bool
}

// PathAccess is one path that a call touches.
type PathAccess struct {
	Path  string // absolute, resolved
	Write bool
}

// CommandPlan is a shell call.
type CommandPlan struct {
	Line       string
	Dir        string // absolute
	Background bool   // it runs on after the call
}

// FileEdit is the change of one file. Before is nil for a new file.
type FileEdit struct {
	Path          string // absolute, resolved
	Before, After []byte
	Created       bool
}

// Invocation is an admitted call.
type Invocation struct {
	CallID    string
	Arguments json.RawMessage
	// Judged is the plan that the gate let through. A tool touches no path
	// that is not in it, and makes no edit that is not in it.
	Judged Plan
	// Hunks, when not nil, are the numbers of the accepted hunks of an edit.
	Hunks []int
	// Output receives what a running tool prints, for show only.
	Output func(tail string)
	// Limits of the run that still apply to this call.
	Deadline time.Time
	// Confirm asks a person whether what the call did to files that are always
	// asked about may stay: it was undone, and why says what it was. Edits are
	// the files as they are and as they would be. Nil: nobody can say so.
	Confirm func(ctx context.Context, why string, edits []FileEdit) bool
	// Alarm is told what the call did to such files and could not be undone:
	// the run ends.
	Alarm func(what string)
	// Read is told of each file, absolute and resolved, of which the result
	// shows content and that is not among the paths of the call's Plan.
	Read func(path string)
	// Todos are the session's tasks; KeepTodos replaces them once the call ended.
	Todos     *TodoList
	KeepTodos func(*TodoList)
	// Keep lets what the call starts run on in the background; nil where
	// nothing can.
	Keep KeepRunning
	// Changed is told of each file that the call changed, after the fact.
	Changed func(FileEdit)
}

// Files is how tools see the workspace's files: open documents before disk.
// The disk one is in loop/tool, the editor's in lsp/internal/bridge.
type Files interface {
	// Read returns the file as the user sees it: the open document if there
	// is one, else the bytes on disk.
	Read(ctx context.Context, path string) (FileText, error)
	// Write replaces the whole text. It fails with ErrFileChanged when the
	// file is no longer what before says (nil: it must not exist).
	Write(ctx context.Context, path string, before, after []byte) error
	// Open lists the open documents' paths, with whether each has unsaved changes.
	Open() map[string]bool
}

// FileText is a file's content.
type FileText struct {
	Bytes   []byte
	Open    bool // from an open document
	Unsaved bool
}

// ErrFileChanged is what Files.Write fails with when the file is no longer
// what the caller thought it was. Nothing was written.
var ErrFileChanged = errors.New("the file changed in the meantime")
