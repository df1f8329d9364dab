package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"agent-ls/loop"
)

//go:embed multi_edit.md
var multiEditDoc string

type multiEdit struct{ *workspace }

type multiEditArgs struct {
	Path  string     `json:"path"`
	Edits []editArgs `json:"edits"` // their own Path is not looked at
}

func (t *multiEdit) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "multi_edit", Description: multiEditDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["path","edits"],"properties":{
"path":{"type":"string","minLength":1,"description":"The file, relative to the workspace or absolute."},
"edits":{"type":"array","minItems":1,"maxItems":200,"description":"The replacements in their order; each sees what those before it left.","items":{
"type":"object","additionalProperties":false,"required":["old_string","new_string"],"properties":{
"old_string":{"type":"string","minLength":1,"description":"The exact text to replace, without line numbers."},
"new_string":{"type":"string","description":"What replaces it."},
"replace_all":{"type":"boolean","description":"Replace every occurrence; false by default."}}}}}}`)}
}

func (t *multiEdit) Prepare(ctx context.Context, args json.RawMessage) (loop.Plan, error) {
	e, err := t.edit(ctx, args, nil)
	if err != nil {
		return t.unsaid("edit ", err)
	}
	return t.planEdit("edit ", e), nil
}

func (t *multiEdit) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	e, err := t.edit(ctx, call.Arguments, &call)
	if err != nil {
		return t.failed(ctx, err)
	}
	return t.apply(ctx, "multi_edit", call, e)
}

// edit is what all replacements together make of the file. One that does not
// fit fails the call: none is made then. The call is nil while it is prepared.
func (t *multiEdit) edit(ctx context.Context, args json.RawMessage, call *loop.Invocation) (loop.FileEdit, error) {
	var a multiEditArgs
	if err := decode(args, &a); err != nil {
		return loop.FileEdit{}, err
	}
	path, before, err := t.editable(ctx, a.Path, call)
	if err != nil {
		return loop.FileEdit{}, err
	}
	after := before
	for i, one := range a.Edits {
		if one.OldString == one.NewString {
			err = errors.New("old_string and new_string are the same")
		} else if after, err = replace(after, one); err == nil && len(after) > maxReadFile {
			err = fmt.Errorf("the file would have %d bytes, more than %d", len(after), maxReadFile)
		}
		if err != nil {
			// Even that an earlier one fits says what is in the file.
			err = fmt.Errorf("%s: edit %d of %d: %w; none of them was made", t.show(path), i+1, len(a.Edits), err)
			return loop.FileEdit{}, t.withhold(path, before, err)
		}
	}
	return loop.FileEdit{Path: path, Before: before, After: after}, nil
}
