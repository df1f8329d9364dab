// Package tool owns the tools that the model may call: what each takes, what
// it would do, and doing it. Start at Builtin. Whether a call may run is
// decided elsewhere; a tool makes sure that what runs is what was judged.
package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool/toolname"
)

// Options are what the built-in tools need.
type Options struct {
	Root     string // the workspace, absolute, symlinks resolved
	Files    loop.Files
	Sandbox  *sandbox.Floor   // nil: commands run without a floor
	Permits  *sandbox.Permits // nil: as many processes at once as are asked for
	Behavior manifest.Behavior
	CacheDir string
	Log      *slog.Logger // nil: nothing is logged

	// Editor is what the editor knows of code; nil: there is none.
	Editor Editor
	// Tracker remembers what the session has read; nil makes a new one. Tools
	// of one session must share it.
	Tracker *Tracker
	// Hide tells which files no tool shows because a rule denies reading
	// them, although the folder that holds them was asked for. Nil: none.
	Hide func(path string) bool
}

// Builtin makes the built-in tools of one session.
func Builtin(o Options) []loop.Tool {
	if r, err := filepath.EvalSymlinks(o.Root); err == nil {
		o.Root = r
	}
	if o.Files == nil {
		o.Files = Disk(o.Root)
	}
	if o.Tracker == nil {
		o.Tracker = NewTracker()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Hide == nil {
		o.Hide = func(string) bool { return false }
	}
	if o.Sandbox == nil {
		o.Sandbox = sandbox.Detect(manifest.Sandbox{Off: true}, sandbox.Dirs{Root: o.Root})
	}
	if o.Editor == nil {
		o.Editor = noEditor{}
	}
	w := &workspace{o}
	return []loop.Tool{
		&readFile{w}, &writeFile{w}, &editFile{w}, &multiEdit{w}, &globFiles{w}, &grepFiles{w}, &listFiles{w}, &shellTool{w},
		todoRead{}, todoWrite{}, &diagnosticsTool{w},
		&navigate{w, Definition}, &navigate{w, References}, &navigate{w, Symbols}, &renameTool{w}, &webFetch{w, isPublic},
	}
}

// Canonical is the name by which rules, hooks and records know a tool.
func Canonical(name string) string { return toolname.Canonical(name) }

// Nearest is the tool name that is spelt most like name, "" when none is close.
func Nearest(name string) string { return toolname.Nearest(name) }

// decode reads arguments that fit the schema already.
func decode(args json.RawMessage, into any) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return json.Unmarshal(args, into)
}

func failure(text string) loop.ToolResult {
	return loop.ToolResult{Text: text, IsError: true, Outcome: loop.CallError}
}

func success(text string) loop.ToolResult {
	return loop.ToolResult{Text: text, Outcome: loop.CallOK}
}

// cancelled is the result of a call that the context ended.
func cancelled() loop.ToolResult {
	return loop.ToolResult{Text: "cancelled", IsError: true, Outcome: loop.CallCancelled}
}

// failed is the result for an error, as the model should read it.
func (w *workspace) failed(ctx context.Context, err error) loop.ToolResult {
	if ctx.Err() != nil {
		return cancelled()
	}
	return failure(err.Error())
}

// show names a path the way people do: relative inside the workspace.
func (w *workspace) show(path string) string {
	if rel, err := filepath.Rel(w.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
