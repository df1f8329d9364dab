package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/sandbox"
	"agent-ls/loop/tool"
)

const (
	diagnosticsTime  = 30 * time.Second
	diagnosticsLines = 30
	// editorTime bounds the wait for the editor's language servers.
	editorTime = 5 * time.Second
	// diagnosticsBytes bounds what is kept of a checker's output.
	diagnosticsBytes = 64 << 10
	lineBytes        = 500
)

// diagnose appends what checkers say of the files that a call changed: the
// commands of [diagnostics] for their extensions, and the editor's own
// language servers. Where all is well nothing is said.
func (d *dispatched) diagnose(result *loop.ToolResult, edits []loop.FileEdit) {
	var parts []string
	for _, c := range d.run.checkers(edits) {
		if text := d.check(c); text != "" {
			parts = append(parts, text)
		}
	}
	if text := d.editorSays(edits); text != "" {
		parts = append(parts, text)
	}
	if len(parts) > 0 && d.work.Err() == nil {
		result.Text = strings.TrimRight(result.Text, "\n") + "\n\n" + strings.Join(parts, "\n\n")
	}
}

// checkers are the commands for the files that were changed, each once.
func (r *activeRun) checkers(edits []loop.FileEdit) []manifest.DiagnosticsCommand {
	var out []manifest.DiagnosticsCommand
	for _, c := range r.pin.Config.Diagnostics {
		if slices.ContainsFunc(edits, func(e loop.FileEdit) bool { return extension(e.Path) == c.Ext }) &&
			!slices.ContainsFunc(out, func(o manifest.DiagnosticsCommand) bool { return o.Command == c.Command }) {
			out = append(out, c)
		}
	}
	return out
}

func extension(path string) string { return strings.TrimPrefix(filepath.Ext(path), ".") }

// check runs one command under the sandbox floor and gives what it says.
func (d *dispatched) check(c manifest.DiagnosticsCommand) string {
	r := d.run
	name := fmt.Sprintf("[diagnostics] %s", c.Ext)
	// Trust is asked behind the wait, which may be long: what is trusted before
	// it may be another by its end.
	permit, err := r.svc.permits.Take(d.work)
	if err != nil {
		return ""
	}
	defer permit()
	state, err := r.svc.trusted(d.work, c.Trust)
	switch {
	case err != nil:
		r.sayOnce(loop.Note{Level: "warning", Text: fmt.Sprintf("%s did not run: %v", name, err)})
		return ""
	case !state.Allows():
		r.sayOnce(loop.Note{Level: "warning", Text: fmt.Sprintf("%s of the workspace did not run: it waits for your trust (%s)", name, state)})
		return ""
	case !r.gear.inForce && !r.pin.Config.Sandbox.Off:
		r.sayOnce(loop.Note{Level: "warning", Text: name + " did not run: no sandbox is in force here, and it would run what the agent wrote"})
		return ""
	}
	limited, cancel := context.WithTimeout(d.work, diagnosticsTime)
	defer cancel()
	p, err := r.gear.floor.Command(limited, c.Command, r.svc.opt.Root)
	if err != nil {
		return fmt.Sprintf("%s: it could not run: %v", c.Command, err)
	}
	out := &headTail{most: diagnosticsBytes}
	p.Stdout, p.Stderr = out, out
	exit := p.Run()
	if d.work.Err() != nil {
		return ""
	}
	return d.checked(c.Command, out.String(), exit)
}

// checked words what a command printed and how it ended.
func (d *dispatched) checked(command, printed string, exit sandbox.Exit) string {
	text := firstLines(printed, diagnosticsLines)
	say := func(line string) { text = strings.TrimLeft(text+"\n"+line, "\n") }
	switch {
	case exit.Err != nil:
		say("[it could not run: " + exit.Err.Error() + "]")
	case exit.Stopped:
		say(fmt.Sprintf("[stopped after %s]", diagnosticsTime))
	case exit.Code != 0 && text == "":
		say(fmt.Sprintf("[exit status %d]", exit.Code))
	}
	if len(exit.Protected) > 0 {
		did := d.run.svc.setAside(exit.Protected)
		say("[files that only a person may change were changed while it ran: " + did + "]")
		d.run.note(loop.Note{Level: "warning", Text: fmt.Sprintf("while the diagnostics command %q ran, protected files changed: %s", command, did)})
	}
	if text == "" {
		return ""
	}
	return command + ":\n" + text
}

// firstLines are the first lines of a text, and how many more there are.
func firstLines(text string, most int) string {
	text = strings.Trim(strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\uFFFD"), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	more := len(lines) - most
	lines = lines[:min(len(lines), most)]
	for i, l := range lines {
		if len(l) > lineBytes {
			lines[i] = strings.ToValidUTF8(l[:lineBytes], "") + " …"
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("(%d more lines)", more))
	}
	return strings.Join(lines, "\n")
}

// headTail keeps the start of what is written to it.
type headTail struct {
	most int
	kept []byte
}

func (h *headTail) Write(b []byte) (int, error) {
	h.kept = append(h.kept, b[:min(len(b), max(h.most-len(h.kept), 0))]...)
	return len(b), nil
}

func (h *headTail) String() string { return string(h.kept) }

// editorSays is what the editor's language servers say of the changed files.
func (d *dispatched) editorSays(edits []loop.FileEdit) string {
	editor := d.run.svc.opt.Editor
	if editor == nil {
		return ""
	}
	paths := make([]string, 0, len(edits))
	for _, e := range edits {
		if !slices.Contains(paths, e.Path) {
			paths = append(paths, e.Path)
		}
	}
	ctx, cancel := context.WithTimeout(d.work, editorTime)
	defer cancel()
	all, err := editor.Diagnostics(ctx, paths)
	switch {
	case errors.Is(err, tool.ErrNotOffered) || d.work.Err() != nil:
		return ""
	case err != nil:
		d.run.svc.log.Warn("ask the editor for diagnostics", "error", err)
		return ""
	}
	text := tool.DiagnosticsText(all, d.run.svc.shortPath, diagnosticsLines)
	if text == "" {
		return ""
	}
	return "the editor's language servers:\n" + text
}

// sayOnce shows something at most once in this run.
func (r *activeRun) sayOnce(n loop.Note) {
	r.callsMu.Lock()
	if r.saidOnce == nil {
		r.saidOnce = map[string]bool{}
	}
	again := r.saidOnce[n.Text]
	r.saidOnce[n.Text] = true
	r.callsMu.Unlock()
	if !again {
		r.note(n)
	}
}
