package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent-ls/loop"
)

//go:embed list_files.md
var listFilesDoc string

const maxListed = 500

type listFiles struct{ *workspace }

type listArgs struct {
	Path  string `json:"path"`
	Depth int    `json:"depth"`
}

func (t *listFiles) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "list_files", Description: listFilesDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"properties":{
"path":{"type":"string","description":"The folder; the workspace by default."},
"depth":{"type":"integer","minimum":1,"maximum":20,"description":"How many levels; 2 by default."}}}`)}
}

func (t *listFiles) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	_, dir, err := t.folder(args)
	if err != nil {
		return loop.Plan{}, err
	}
	return loop.Plan{Effect: loop.Read, Title: "list " + t.show(dir), Paths: []loop.PathAccess{{Path: dir}}, ConcurrencySafe: true}, nil
}

func (t *listFiles) folder(args json.RawMessage) (a listArgs, dir string, err error) {
	if err = decode(args, &a); err != nil {
		return a, "", err
	}
	if a.Path == "" {
		a.Path = "."
	}
	if a.Depth == 0 {
		a.Depth = 2
	}
	dir, err = t.resolve(a.Path)
	return a, dir, err
}

func (t *listFiles) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	a, dir, err := t.folder(call.Arguments)
	if err == nil {
		err = t.judged(&call, dir)
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return failure(t.show(dir) + " does not exist")
	case !info.IsDir():
		return failure(t.show(dir) + " is a file; read_file shows it")
	}
	var out strings.Builder
	n, more := 0, false
	err = t.walk(ctx, dir, func(p string, e fs.DirEntry) error {
		rel, err := filepath.Rel(dir, p)
		if err != nil || t.Hide(p) {
			return fs.SkipDir
		}
		if n++; n > maxListed {
			more = true
			return fs.SkipAll
		}
		depth := strings.Count(rel, string(filepath.Separator))
		mark := ""
		switch {
		case e.IsDir():
			mark = "/"
		case e.Type()&fs.ModeSymlink != 0:
			mark = "@"
		}
		fmt.Fprintf(&out, "%s%s%s\n", strings.Repeat("  ", depth), visible(e.Name()), mark)
		if e.IsDir() && depth+1 >= a.Depth {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return t.failed(ctx, err)
	}
	if n == 0 {
		return success(t.show(dir) + " is empty")
	}
	r := success(out.String())
	if more {
		r.Truncated = true
		r.Text += fmt.Sprintf("(more than %d entries; list a folder of it, or use glob)\n", maxListed)
	}
	return r
}
