package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/realpath"
)

// editorTime bounds how long the editor's language servers are waited for.
const editorTime = 30 * time.Second

// maxDiagnostics bounds how many diagnostics one result has.
const maxDiagnostics = 100

var severities = []string{"error", "warning", "information", "hint"}

// DiagnosticsText lays out diagnostics, a line for each, the worst first in a
// file; "" when there are none. show names a path.
func DiagnosticsText(all []FileDiagnostics, show func(string) string, most int) string {
	var b strings.Builder
	n, left := 0, 0
	for _, f := range all {
		items := slices.Clone(f.Items)
		slices.SortStableFunc(items, func(a, b Diagnostic) int {
			return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
		})
		for _, d := range items {
			if n >= most {
				left++
				continue
			}
			n++
			fmt.Fprintf(&b, "%s:%d:%d: %s: %s", show(f.Path), d.Line, d.Column, d.Severity, cut(oneLine(visible(d.Message)), 500))
			if from := strings.TrimSpace(d.Source + " " + d.Code); from != "" {
				fmt.Fprintf(&b, " [%s]", cut(oneLine(visible(from)), 80))
			}
			if f.Late {
				b.WriteString(" (late: of an older text of the file)")
			}
			b.WriteByte('\n')
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "(%d more)\n", left)
	}
	return strings.TrimRight(b.String(), "\n")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

type diagnosticsTool struct{ *workspace }

func (t *diagnosticsTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "diagnostics", Description: "Shows what the editor's language servers find wrong in a file, or in all open files.", Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"properties":{
"path":{"type":"string","minLength":1,"description":"The file, relative to the workspace or absolute; all open files without it."}}}`)}
}

func (t *diagnosticsTool) paths(args json.RawMessage) ([]string, error) {
	var a struct {
		Path string `json:"path"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	if a.Path == "" {
		var open []string
		for p := range t.Files.Open() {
			if realpath.Within(t.Root, p) && !t.Hide(p) {
				open = append(open, p)
			}
		}
		slices.Sort(open)
		return open[:min(len(open), maxDiagnostics)], nil
	}
	path, err := t.resolve(a.Path)
	if err == nil && t.Hide(path) {
		err = fmt.Errorf("%s may not be read", t.show(path))
	}
	return []string{path}, err
}

func (t *diagnosticsTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	paths, err := t.paths(args)
	if err != nil {
		return loop.Plan{}, err
	}
	p := loop.Plan{Effect: loop.Read, Title: "ask the editor for diagnostics", ConcurrencySafe: true}
	for _, path := range paths {
		p.Paths = append(p.Paths, loop.PathAccess{Path: path})
	}
	return p, nil
}

func (t *diagnosticsTool) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	paths, err := t.paths(call.Arguments)
	if err != nil {
		return t.failed(ctx, err)
	}
	if len(paths) == 0 {
		return success("no file of the workspace is open in the editor; name one")
	}
	limited, cancel := context.WithTimeout(ctx, editorTime)
	defer cancel()
	all, err := t.Editor.Diagnostics(limited, paths)
	if err != nil {
		return t.unanswered(ctx, "diagnostics", err)
	}
	text := DiagnosticsText(all, t.show, maxDiagnostics)
	if text == "" {
		return success("the editor's language servers find nothing")
	}
	return success(text)
}

// unanswered is the result for an editor that did not answer.
func (w *workspace) unanswered(ctx context.Context, what string, err error) loop.ToolResult {
	switch {
	case ctx.Err() != nil:
		return cancelled()
	case errors.Is(err, ErrNotOffered):
		return failure("this editor does not let the agent use its language servers, so " + what + " cannot answer; use grep and read_file")
	case errors.Is(err, context.DeadlineExceeded):
		return failure(fmt.Sprintf("the editor did not answer within %s", editorTime))
	}
	return failure("the editor: " + err.Error())
}

// noEditor is where no editor is there.
type noEditor struct{}

func (noEditor) Diagnostics(context.Context, []string) ([]FileDiagnostics, error) {
	return nil, ErrNotOffered
}

func (noEditor) Navigate(context.Context, Navigation) (Navigated, error) {
	return Navigated{}, ErrNotOffered
}
