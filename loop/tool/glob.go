package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"agent-ls/loop"
)

//go:embed glob.md
var globDoc string

const maxGlobbed = 200

type globFiles struct{ *workspace }

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func (t *globFiles) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "glob", Description: globDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","minLength":1,"description":"Such as **/*.go or cmd/*/main.go; a name without a slash is looked for everywhere."},
"path":{"type":"string","description":"The folder to look in; the workspace by default."}}}`)}
}

func (t *globFiles) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a globArgs
	if err := decode(args, &a); err != nil {
		return loop.Plan{}, err
	}
	dir, _, err := t.pattern(a)
	if err != nil {
		return loop.Plan{}, err
	}
	return loop.Plan{Effect: loop.Read, Title: "glob " + a.Pattern, Paths: []loop.PathAccess{{Path: dir}}, ConcurrencySafe: true}, nil
}

// pattern resolves the folder and makes the pattern relative to it.
func (t *globFiles) pattern(a globArgs) (dir, pattern string, err error) {
	pattern = filepath.ToSlash(a.Pattern)
	from := a.Path
	if from == "" {
		from = "."
	}
	// A fixed first part is a part of the folder, so that what is read is
	// what is judged.
	base, rest := doublestar.SplitPattern(pattern)
	if base != "." {
		if path.IsAbs(base) {
			from = base
		} else {
			from = from + "/" + base
		}
		pattern = rest
	} else if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == ".." {
			return "", "", errors.New("the pattern has .. after a wildcard; give the folder as path")
		}
	}
	if !doublestar.ValidatePattern(pattern) {
		return "", "", fmt.Errorf("%q is not a valid pattern", a.Pattern)
	}
	dir, err = t.resolve(from)
	return dir, pattern, err
}

func (t *globFiles) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	var a globArgs
	if err := decode(call.Arguments, &a); err != nil {
		return failure(err.Error())
	}
	dir, pattern, err := t.pattern(a)
	if err == nil {
		err = t.judged(&call, dir)
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	type found struct {
		path string
		at   time.Time
	}
	var all []found
	err = t.walk(ctx, dir, func(p string, e fs.DirEntry) error {
		if e.IsDir() || t.Hide(p) {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return nil //nolint:nilerr // below dir by construction
		}
		if ok, _ := doublestar.Match(pattern, filepath.ToSlash(rel)); ok {
			f := found{path: p}
			if info, err := e.Info(); err == nil {
				f.at = info.ModTime()
			}
			all = append(all, f)
		}
		return nil
	})
	if err != nil {
		return t.failed(ctx, err)
	}
	if len(all) == 0 {
		return success("no file matches " + a.Pattern)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at.After(all[j].at) })
	var out strings.Builder
	for _, f := range all[:min(len(all), maxGlobbed)] {
		out.WriteString(visible(t.show(f.path)) + "\n")
	}
	r := success(out.String())
	if len(all) > maxGlobbed {
		r.Truncated = true
		r.Text += fmt.Sprintf("(%d more; narrow the pattern)\n", len(all)-maxGlobbed)
	}
	return r
}
