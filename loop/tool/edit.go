package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"agent-ls/loop"
)

//go:embed edit.md
var editDoc string

type editFile struct{ *workspace }

type editArgs struct {
	Path       string `json:"path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

func (t *editFile) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "edit", Description: editDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["path","old_string","new_string"],"properties":{
"path":{"type":"string","minLength":1,"description":"The file, relative to the workspace or absolute."},
"old_string":{"type":"string","minLength":1,"description":"The exact text to replace, without line numbers."},
"new_string":{"type":"string","description":"What replaces it."},
"replace_all":{"type":"boolean","description":"Replace every occurrence; false by default."}}}`)}
}

func (t *editFile) Prepare(ctx context.Context, args json.RawMessage) (loop.Plan, error) {
	e, err := t.edit(ctx, args, nil)
	if err != nil {
		return t.unsaid("edit ", err)
	}
	return t.planEdit("edit ", e), nil
}

func (t *editFile) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	e, err := t.edit(ctx, call.Arguments, &call)
	if err != nil {
		return t.failed(ctx, err)
	}
	return t.apply(ctx, "edit", call, e)
}

// edit is what the call would make of the file. The call is nil while it is
// prepared.
func (t *editFile) edit(ctx context.Context, args json.RawMessage, call *loop.Invocation) (loop.FileEdit, error) {
	var a editArgs
	if err := decode(args, &a); err != nil {
		return loop.FileEdit{}, err
	}
	if a.OldString == a.NewString {
		return loop.FileEdit{}, errors.New("old_string and new_string are the same")
	}
	path, before, err := t.editable(ctx, a.Path, call)
	if err != nil {
		return loop.FileEdit{}, err
	}
	after, err := replace(before, a)
	if err != nil {
		return loop.FileEdit{}, t.withhold(path, before, fmt.Errorf("%s: %w", t.show(path), err))
	}
	return loop.FileEdit{Path: path, Before: before, After: after}, nil
}

// editable reads a file that may be edited: it is there, it is text, and the
// session has seen it as it is now.
func (w *workspace) editable(ctx context.Context, name string, call *loop.Invocation) (path string, before []byte, err error) {
	path, err = w.resolve(name)
	if err == nil {
		err = w.judged(call, path)
	}
	if err == nil {
		err = w.size(path, maxReadFile)
	}
	if err != nil {
		return "", nil, err
	}
	text, found, err := w.read(ctx, path)
	switch {
	case err != nil:
		return "", nil, err
	case !found:
		return "", nil, errors.New(w.missing(path) + "; write_file creates files")
	case w.Hide(path):
		return "", nil, fmt.Errorf("%s may not be read", w.show(path))
	}
	if why := binary(text.Bytes); why != "" {
		return "", nil, fmt.Errorf("%s is %s and cannot be edited", w.show(path), why)
	}
	if w.Behavior.RequireReadBeforeEdit {
		if err := w.wasRead(path, text.Bytes); err != nil {
			return "", nil, err
		}
	}
	return path, text.Bytes, nil
}

// replace replaces the old string in a file, keeping its line ends and mark.
func replace(before []byte, a editArgs) ([]byte, error) {
	p := plainOf(before)
	old := strings.ReplaceAll(a.OldString, "\r\n", "\n")
	var at []int
	for i := 0; ; {
		j := strings.Index(p.text[i:], old)
		if j < 0 {
			break
		}
		at = append(at, i+j)
		i += j + len(old)
	}
	switch {
	case len(at) == 0:
		return nil, errors.New(noMatch(p.text, old))
	case len(at) > 1 && !a.ReplaceAll:
		return nil, errors.New(manyMatches(p.text, at))
	}
	fresh := strings.ReplaceAll(a.NewString, "\r\n", "\n")
	layout := layoutOf(before)
	var out []byte
	done := 0
	for _, i := range at {
		start, end := p.origin(i), p.origin(i+len(old))
		ends := layout.crlf
		if region := before[start:end]; strings.Contains(string(region), "\n") {
			ends = layoutOf(region).crlf // a mixed file: as it is here
		}
		text := fresh
		if ends {
			text = crlf(fresh)
		}
		out = append(append(out, before[done:start]...), text...)
		done = end
	}
	return append(out, before[done:]...), nil
}

// manyMatches names the places, so that the model can say which one.
func manyMatches(text string, at []int) string {
	var lines []string
	for _, i := range at[:min(len(at), 10)] {
		n := strings.Count(text[:i], "\n") + 1
		lines = append(lines, fmt.Sprintf("line %d: %s", n, cut(strings.TrimSpace(lineAt(text, i)), 120)))
	}
	more := ""
	if len(at) > 10 {
		more = fmt.Sprintf("\nand %d more", len(at)-10)
	}
	return fmt.Sprintf("old_string is there %d times; give more of the text around the one that is meant, or set replace_all:\n%s%s", len(at), strings.Join(lines, "\n"), more)
}

func lineAt(text string, i int) string {
	start := strings.LastIndexByte(text[:i], '\n') + 1
	end := len(text)
	if j := strings.IndexByte(text[i:], '\n'); j >= 0 {
		end = i + j
	}
	return text[start:end]
}

// place is a part of a file that looks like what was searched.
type place struct {
	line  int // from 1
	score float64
}

const maxPlaces = 3

// noMatch says what is nearest to a text that is not there.
func noMatch(text, old string) string {
	lines, want := strings.Split(text, "\n"), strings.Split(strings.TrimRight(old, "\n"), "\n")
	for len(want) > 1 && strings.TrimSpace(want[0]) == "" {
		want = want[1:]
	}
	if looksNumbered(want) {
		return "old_string is not there; it seems to hold the line numbers of read_file, which are not part of the file"
	}
	places := nearest(lines, want)
	if len(places) == 0 {
		return "old_string is not there, nor anything like it; read_file the file again"
	}
	var out strings.Builder
	out.WriteString("old_string is not there. Nearest:")
	for _, p := range places {
		end := min(len(lines), p.line-1+len(want))
		fmt.Fprintf(&out, "\nlines %d to %d:\n", p.line, end)
		for _, l := range lines[p.line-1 : min(end, p.line+11)] {
			out.WriteString(cut(strings.TrimSuffix(l, "\r"), 200) + "\n")
		}
	}
	if sameButSpace(lines, want, places[0]) {
		out.WriteString("The first differs in white space only.\n")
	}
	return visible(out.String())
}

// looksNumbered tells whether each line starts with a number and a tab.
func looksNumbered(want []string) bool {
	for _, l := range want {
		n, _, ok := strings.Cut(strings.TrimLeft(l, " "), "\t")
		if !ok || n == "" || strings.Trim(n, "0123456789") != "" {
			return false
		}
	}
	return true
}

// nearest scores each place by how many of the wanted lines are there, or
// nearly there. The work is bounded: a very large file is looked at in part.
func nearest(lines, want []string) []place {
	const most = 200_000 // line comparisons
	want = want[:min(len(want), 20)]
	budget := most
	var places []place
	for i := range lines {
		if budget -= len(want); budget < 0 {
			break
		}
		sum := 0.0
		for j, w := range want {
			if i+j < len(lines) {
				sum += similarity(strings.TrimSpace(lines[i+j]), strings.TrimSpace(w))
			}
		}
		if score := sum / float64(len(want)); score >= 0.5 {
			places = append(places, place{i + 1, score})
		}
	}
	sort.SliceStable(places, func(a, b int) bool { return places[a].score > places[b].score })
	return places[:min(len(places), maxPlaces)]
}

// similarity of two lines is the share of their pairs of letters that both have.
func similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) < 2 || len(b) < 2 || len(a) > 4*len(b) || len(b) > 4*len(a) {
		return 0
	}
	a, b = a[:min(len(a), 200)], b[:min(len(b), 200)]
	pairs := map[[2]byte]int{}
	for i := 0; i+1 < len(a); i++ {
		pairs[[2]byte{a[i], a[i+1]}]++
	}
	both := 0
	for i := 0; i+1 < len(b); i++ {
		if k := [2]byte{b[i], b[i+1]}; pairs[k] > 0 {
			pairs[k]--
			both++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b)-2)
}

func sameButSpace(lines, want []string, p place) bool {
	if p.line-1+len(want) > len(lines) {
		return false
	}
	for j, w := range want {
		if strings.Join(strings.Fields(lines[p.line-1+j]), " ") != strings.Join(strings.Fields(w), " ") {
			return false
		}
	}
	return true
}
