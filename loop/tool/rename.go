package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/realpath"
)

// renameTool renames a symbol wherever the editor's language servers know it.
type renameTool struct{ *workspace }

// maxRenamed bounds how many files one rename may change.
const maxRenamed = 500

func (t *renameTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{
		Name:        "rename",
		Description: "Renames a symbol in all files, by the editor's language servers. Prefer it to edits by hand.",
		Schema: json.RawMessage(fmt.Sprintf(strings.Replace(placeSchema, `"symbol"]`, `"symbol","new_name"]`, 1),
			`,
"new_name":{"type":"string","minLength":1,"description":"What it is to be called."}`)),
	}
}

func (t *renameTool) Prepare(ctx context.Context, args json.RawMessage) (loop.Plan, error) {
	var a placeArgs
	if err := decode(args, &a); err != nil {
		return loop.Plan{}, err
	}
	path, err := t.resolve(a.Path)
	if err != nil {
		return loop.Plan{}, err
	}
	edits, err := t.edits(ctx, a, nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return loop.Plan{}, err
	case err != nil:
		return t.unsaid(fmt.Sprintf("rename %s to %s in ", a.Symbol, a.NewName), err)
	}
	p := loop.Plan{Effect: loop.Write, Title: fmt.Sprintf("rename %s to %s in %d files", a.Symbol, a.NewName, len(edits)), Edits: edits}
	for _, e := range edits {
		p.Paths = append(p.Paths, loop.PathAccess{Path: e.Path, Write: true})
	}
	if !slices.ContainsFunc(edits, func(e loop.FileEdit) bool { return e.Path == path }) {
		p.Paths = append(p.Paths, loop.PathAccess{Path: path, Write: true}) // its line is looked at all the same
	}
	return p, nil
}

// edits asks the editor what a rename would change. A file outside the
// workspace, or one that may not be read, fails it whole. The call is nil while
// it is prepared. What the language servers say tells of what is in the file.
func (t *renameTool) edits(ctx context.Context, a placeArgs, call *loop.Invocation) ([]loop.FileEdit, error) {
	n, err := t.place(ctx, Rename, call, a)
	if err != nil {
		return nil, err
	}
	edits, err := t.asked(ctx, a, n)
	if err != nil {
		return nil, &withheld{n.Path, err}
	}
	return edits, nil
}

func (t *renameTool) asked(ctx context.Context, a placeArgs, n Navigation) ([]loop.FileEdit, error) {
	limited, cancel := context.WithTimeout(ctx, editorTime)
	defer cancel()
	got, err := t.Editor.Navigate(limited, n)
	switch {
	case err != nil:
		return nil, errors.New(t.unanswered(ctx, "rename", err).Text)
	case len(got.Edits) == 0:
		return nil, fmt.Errorf("the editor's language servers cannot rename %q", a.Symbol)
	case len(got.Edits) > maxRenamed:
		return nil, fmt.Errorf("the rename would change %d files, more than %d", len(got.Edits), maxRenamed)
	}
	for _, e := range got.Edits {
		real, err := t.resolve(e.Path)
		if err != nil || real != e.Path || !realpath.Within(t.Root, e.Path) {
			return nil, fmt.Errorf("the rename would change %s, outside the workspace", e.Path)
		}
		if t.Hide(e.Path) {
			return nil, fmt.Errorf("the rename would change %s, which may not be read", t.show(e.Path))
		}
	}
	slices.SortFunc(got.Edits, func(x, y loop.FileEdit) int { return strings.Compare(x.Path, y.Path) })
	return got.Edits, nil
}

func (t *renameTool) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	var a placeArgs
	if err := decode(call.Arguments, &a); err != nil {
		return failure(err.Error())
	}
	edits, err := t.edits(ctx, a, &call)
	switch {
	case err != nil:
		return t.failed(ctx, err)
	case len(call.Judged.Edits) == 0:
		return failure(errUnjudged.Error())
	case !slices.EqualFunc(call.Judged.Edits, edits, sameEdit):
		return failure("what this rename would change is not what it was when it was judged. Nothing was written; call again")
	case call.Hunks != nil && len(edits) == 1:
		edits[0].After = ApplyHunks(edits[0].Before, edits[0].After, call.Hunks)
	}
	var done []string
	for _, e := range edits {
		if err := t.Files.Write(ctx, e.Path, e.Before, e.After); err != nil {
			what := "nothing was written"
			if len(done) > 0 {
				what = "these were written before: " + strings.Join(done, ", ")
			}
			return failure(fmt.Sprintf("%s could not be written (%v); %s", t.show(e.Path), err, what))
		}
		if t.Tracker.Seen(e.Path) == digestOf(e.Before) {
			t.Tracker.Saw(e.Path, e.After)
		}
		t.Tracker.touched(e.Path)
		if call.Changed != nil {
			call.Changed(e)
		}
		done = append(done, t.show(e.Path))
	}
	return success(fmt.Sprintf("renamed %s to %s in %s", a.Symbol, a.NewName, few(done)))
}
