package tool

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent-ls/loop"
)

//go:embed write_file.md
var writeFileDoc string

type writeFile struct{ *workspace }

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (t *writeFile) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "write_file", Description: writeFileDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["path","content"],"properties":{
"path":{"type":"string","minLength":1,"description":"The file, relative to the workspace or absolute."},
"content":{"type":"string","description":"The whole new text."}}}`)}
}

func (t *writeFile) Prepare(ctx context.Context, args json.RawMessage) (loop.Plan, error) {
	edit, err := t.edit(ctx, args, nil)
	if err != nil {
		return loop.Plan{}, err
	}
	verb := "overwrite "
	if edit.Created {
		verb = "create "
	}
	return t.planEdit(verb, edit), nil
}

// edit is what the call would make of the file. The call is nil while it is
// prepared.
func (t *writeFile) edit(ctx context.Context, args json.RawMessage, call *loop.Invocation) (loop.FileEdit, error) {
	var a writeArgs
	if err := decode(args, &a); err != nil {
		return loop.FileEdit{}, err
	}
	path, err := t.resolve(a.Path)
	if err == nil {
		err = t.judged(call, path)
	}
	if err == nil {
		err = t.size(path, maxReadFile)
	}
	if err != nil {
		return loop.FileEdit{}, err
	}
	text, found, err := t.read(ctx, path)
	if err != nil {
		return loop.FileEdit{}, err
	}
	if !found {
		return loop.FileEdit{Path: path, After: []byte(a.Content), Created: true}, nil
	}
	if err := t.mayOverwrite(path, text.Bytes); err != nil {
		return loop.FileEdit{}, err
	}
	after := []byte(a.Content)
	if binary(text.Bytes) == "" {
		after = layoutOf(text.Bytes).replaced(a.Content)
	}
	return loop.FileEdit{Path: path, Before: text.Bytes, After: after}, nil
}

// mayOverwrite holds an existing file against behavior.write_existing.
func (t *writeFile) mayOverwrite(path string, now []byte) error {
	switch t.Behavior.WriteExisting {
	case "allow":
		return nil
	case "deny":
		return fmt.Errorf("%s exists and write_file may not overwrite; use edit", t.show(path))
	}
	return t.wasRead(path, now)
}

// wasRead holds a file against what the session has seen of it.
func (w *workspace) wasRead(path string, now []byte) error {
	switch seen := w.Tracker.Seen(path); {
	case seen == "":
		return fmt.Errorf("%s was not read in this session; read_file it first", w.show(path))
	case seen != digestOf(now):
		return fmt.Errorf("%s has changed since it was read (it is %s now); read_file it again", w.show(path), digestOf(now))
	}
	return nil
}

func (t *writeFile) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	edit, err := t.edit(ctx, call.Arguments, &call)
	if err != nil {
		return t.failed(ctx, err)
	}
	return t.apply(ctx, "write_file", call, edit)
}

// planEdit makes the plan of a call that changes one file.
func (w *workspace) planEdit(verb string, e loop.FileEdit) loop.Plan {
	return loop.Plan{
		Effect: loop.Write, Title: verb + w.show(e.Path),
		Paths: []loop.PathAccess{{Path: e.Path, Write: true}},
		Edits: []loop.FileEdit{e},
	}
}

// sameEdit says whether two edits make the same of the same bytes. A file that
// does not exist is no empty one.
func sameEdit(a, b loop.FileEdit) bool {
	return a.Path == b.Path && (a.Before == nil) == (b.Before == nil) && bytes.Equal(a.Before, b.Before) && bytes.Equal(a.After, b.After)
}

// apply writes what an admitted call makes of a file, or the accepted part.
func (w *workspace) apply(ctx context.Context, tool string, call loop.Invocation, e loop.FileEdit) loop.ToolResult {
	if err := w.judged(&call, e.Path); err != nil {
		return w.failed(ctx, err)
	}
	i := slices.IndexFunc(call.Judged.Edits, func(j loop.FileEdit) bool { return j.Path == e.Path })
	switch {
	case i < 0:
		return failure(errUnjudged.Error())
	case !sameEdit(call.Judged.Edits[i], e):
		return failure(w.conflict(ctx, e.Path))
	}
	var notes []string
	if call.Hunks != nil {
		all := Hunks(e.Before, e.After)
		e.After = ApplyHunks(e.Before, e.After, call.Hunks)
		if note := refusedHunks(len(all), call.Hunks); note != "" {
			notes = append(notes, note)
		}
	}
	if e.Before != nil && string(e.Before) == string(e.After) || call.Hunks != nil && e.Created && len(e.After) == 0 {
		return loop.ToolResult{Text: w.show(e.Path) + " is as it was (" + digestOf(e.Before) + ")", Outcome: loop.CallOK, Notes: notes}
	}
	err := w.Files.Write(ctx, e.Path, e.Before, e.After)
	switch {
	case errors.Is(err, loop.ErrFileChanged):
		return failure(w.conflict(ctx, e.Path))
	case err != nil:
		return w.failed(ctx, err)
	}
	w.Tracker.Saw(e.Path, e.After)
	w.Tracker.touched(e.Path)
	if call.Changed != nil {
		call.Changed(e)
	}
	verb := "edited"
	switch {
	case e.Created:
		verb = "created"
	case tool == "write_file":
		verb = "wrote"
	}
	added, removed := 0, 0
	for _, c := range changes(string(e.Before), string(e.After)) {
		added += countLines(c.text)
		removed += countLines(string(e.Before[c.start:c.end]))
	}
	return loop.ToolResult{Text: fmt.Sprintf("%s %s: %d lines added, %d removed", verb, w.show(e.Path), added, removed), Outcome: loop.CallOK, Notes: notes}
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// conflict tells the model that the file moved under it.
func (w *workspace) conflict(ctx context.Context, path string) string {
	now := "does not exist any more"
	if text, found, err := w.read(ctx, path); err == nil && found {
		now = "is " + digestOf(text.Bytes) + " now"
	}
	return fmt.Sprintf("%s changed while this call was under way and %s. Nothing was written; read_file it again", w.show(path), now)
}

// refusedHunks says which parts of an edit were not accepted.
func refusedHunks(all int, accepted []int) string {
	var refused []string
	for n := 1; n <= all; n++ {
		if !slices.Contains(accepted, n) {
			refused = append(refused, fmt.Sprint(n))
		}
	}
	if len(refused) == 0 {
		return ""
	}
	return fmt.Sprintf("the user refused hunk %s of %d; only the others were applied", strings.Join(refused, ", "), all)
}
