package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/realpath"
)

//go:embed read_file.md
var readFileDoc string

const (
	defaultLines = 2000
	maxLineBytes = 2000
	maxReadBytes = 256 << 10
	maxReadFile  = 16 << 20
)

type readFile struct{ *workspace }

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func (t *readFile) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "read_file", Description: readFileDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string","minLength":1,"description":"The file, relative to the workspace or absolute."},
"offset":{"type":"integer","minimum":1,"description":"The first line, from 1."},
"limit":{"type":"integer","minimum":1,"description":"How many lines; 2000 by default."}}}`)}
}

func (t *readFile) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a readArgs
	if err := decode(args, &a); err != nil {
		return loop.Plan{}, err
	}
	path, err := t.resolve(a.Path)
	if err != nil {
		return loop.Plan{}, err
	}
	title := "read " + t.show(path)
	if a.Offset > 0 || a.Limit > 0 {
		title += fmt.Sprintf(" from line %d", max(1, a.Offset))
	}
	return loop.Plan{Effect: loop.Read, Title: title, Paths: []loop.PathAccess{{Path: path}}, ConcurrencySafe: true}, nil
}

func (t *readFile) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	var a readArgs
	if err := decode(call.Arguments, &a); err != nil {
		return failure(err.Error())
	}
	path, err := t.resolve(a.Path)
	if err == nil {
		err = t.judged(&call, path)
	}
	if err == nil && t.Hide(path) {
		err = fmt.Errorf("%s may not be read", t.show(path))
	}
	if err == nil {
		err = t.size(path, maxReadFile)
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	text, found, err := t.read(ctx, path)
	switch {
	case err != nil:
		return t.failed(ctx, err)
	case !found:
		return failure(t.missing(path))
	}
	if kind := imageType(text.Bytes); kind != "" {
		return t.image(path, kind, text.Bytes)
	}
	if why := binary(text.Bytes); why != "" {
		return failure(fmt.Sprintf("%s is %s (%d bytes) and is not shown", t.show(path), why, len(text.Bytes)))
	}
	key := fmt.Sprintf("%s\x00%d\x00%d", path, a.Offset, a.Limit)
	t.Tracker.Saw(path, text.Bytes)
	if t.Tracker.shownBefore(key, digestOf(text.Bytes)) && t.Behavior.DedupReads {
		return success(t.show(path) + ": unchanged since the previous read")
	}
	return t.numbered(path, text, a)
}

// numbered lays out a range of lines with their numbers.
func (t *readFile) numbered(path string, text loop.FileText, a readArgs) loop.ToolResult {
	plain := plainOf(text.Bytes).text
	lines := strings.SplitAfter(plain, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	first, limit := max(1, a.Offset), a.Limit
	if limit == 0 {
		limit = defaultLines
	}
	switch {
	case len(lines) == 0:
		return success(t.show(path) + " is empty")
	case first > len(lines):
		return failure(fmt.Sprintf("%s has %d lines; line %d is past its end", t.show(path), len(lines), first))
	}
	most := maxReadBytes
	var out strings.Builder
	last := first - 1
	for _, l := range lines[first-1 : min(len(lines), first-1+limit)] {
		row := fmt.Sprintf("%6d\t%s\n", last+1, cut(visible(strings.TrimSuffix(l, "\n")), maxLineBytes))
		if out.Len()+len(row) > most && last >= first {
			break
		}
		out.WriteString(row)
		last++
	}
	r := success(out.String())
	if first > 1 || last < len(lines) {
		r.Text += fmt.Sprintf("(lines %d to %d of %d)\n", first, last, len(lines))
		r.Truncated = last < len(lines) && (a.Limit == 0 || last < first-1+a.Limit)
	}
	if !strings.HasSuffix(plain, "\n") && last == len(lines) {
		r.Text += "(no line end at the end of the file)\n"
	}
	if text.Unsaved {
		r.Notes = append(r.Notes, t.show(path)+" has unsaved changes in the editor; this is its text there")
	}
	return r
}

// missing says that a file does not exist, with names that come close.
func (w *workspace) missing(path string) string {
	text := w.show(path) + " does not exist"
	if near := w.similar(path); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return text
}

// similar are up to three files with nearly the same name.
func (w *workspace) similar(path string) []string {
	if !realpath.Within(w.Root, path) {
		return nil
	}
	want := strings.ToLower(baseName(path))
	var near []string
	seen := 0
	_ = w.walk(context.Background(), w.Root, func(p string, e fs.DirEntry) error {
		if seen++; seen > 5000 || len(near) == 3 {
			return fs.SkipAll
		}
		name := strings.ToLower(e.Name())
		if !e.IsDir() && !w.Hide(p) && (name == want || len(want) > 3 && distanceWithin(name, want)) {
			near = append(near, w.show(p))
		}
		return nil
	})
	return near
}
