package tool

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"agent-ls/loop"
	"agent-ls/loop/realpath"
)

//go:embed grep.md
var grepDoc string

const (
	defaultMatches = 100
	maxMatches     = 1000
	maxMatchLine   = 300
	maxGrepFile    = 8 << 20
)

type grepFiles struct{ *workspace }

type grepArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
	Limit   int    `json:"limit"`
}

func (t *grepFiles) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "grep", Description: grepDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","minLength":1,"description":"A regular expression (RE2); (?i) at its start ignores case."},
"path":{"type":"string","description":"The file or folder to search; the workspace by default."},
"glob":{"type":"string","description":"Only files whose name or path matches, such as *.go."},
"limit":{"type":"integer","minimum":1,"maximum":1000,"description":"The most matching lines; 100 by default."}}}`)}
}

func (t *grepFiles) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	a, path, _, err := t.arguments(args)
	if err != nil {
		return loop.Plan{}, err
	}
	return loop.Plan{Effect: loop.Read, Title: "grep " + a.Pattern, Paths: []loop.PathAccess{{Path: path}}, ConcurrencySafe: true}, nil
}

func (t *grepFiles) arguments(args json.RawMessage) (a grepArgs, path string, re *regexp.Regexp, err error) {
	if err = decode(args, &a); err != nil {
		return a, "", nil, err
	}
	if re, err = regexp.Compile(a.Pattern); err != nil {
		return a, "", nil, fmt.Errorf("the pattern is not valid: %w", err)
	}
	if a.Glob != "" && !doublestar.ValidatePattern(a.Glob) {
		return a, "", nil, fmt.Errorf("%q is not a valid glob", a.Glob)
	}
	if a.Limit == 0 {
		a.Limit = defaultMatches
	}
	a.Limit = min(a.Limit, maxMatches)
	if a.Path == "" {
		a.Path = "."
	}
	path, err = t.resolve(a.Path)
	return a, path, re, err
}

// match is one matching line.
type match struct {
	path string
	line int
	text string
}

func (t *grepFiles) Run(ctx context.Context, call loop.Invocation) loop.ToolResult {
	a, path, re, err := t.arguments(call.Arguments)
	if err == nil {
		err = t.judged(&call, path)
	}
	if err == nil && !exists(path) {
		if _, open := t.Files.Open()[path]; !open {
			err = errors.New(t.missing(path))
		}
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	matches, more, err := t.search(ctx, a, path, re)
	if err != nil {
		return t.failed(ctx, err)
	}
	if len(matches) == 0 {
		return success("no match for " + a.Pattern)
	}
	var out strings.Builder
	for i, m := range matches {
		if i == 0 || matches[i-1].path != m.path {
			if call.Read != nil {
				call.Read(m.path)
			}
			if i > 0 {
				out.WriteByte('\n')
			}
			out.WriteString(visible(t.show(m.path)) + "\n")
		}
		fmt.Fprintf(&out, "%6d: %s\n", m.line, cut(visible(m.text), maxMatchLine))
	}
	window := newWindow(0)
	_, _ = io.WriteString(window, out.String())
	text, truncated := window.text()
	r := success(text)
	r.Truncated = truncated || more
	if more {
		r.Text += fmt.Sprintf("(more than %d matches; narrow the pattern, or set limit)\n", a.Limit)
	}
	return r
}

// search looks into open documents first: their text counts, not the disk's.
func (t *grepFiles) search(ctx context.Context, a grepArgs, path string, re *regexp.Regexp) ([]match, bool, error) {
	open := map[string]bool{}
	var matches []match
	for doc := range t.Files.Open() {
		if !realpath.Within(path, doc) || !t.wanted(a, path, doc) {
			continue
		}
		text, found, err := t.read(ctx, doc)
		if err != nil || !found {
			continue
		}
		open[doc] = true
		matches = append(matches, matchesIn(doc, bytes.NewReader(text.Bytes), re, a.Limit+1)...)
	}
	skip := func(p string) bool { return open[p] || !t.wanted(a, path, p) }
	var disk []match
	rg, err := ripgrep(), error(nil)
	if rg != "" {
		disk, err = t.searchRipgrep(ctx, rg, a, path, skip)
	}
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if rg == "" || err != nil { // it is not there, or reads the pattern differently
		disk, err = t.searchDisk(ctx, a, path, re, skip)
	}
	if err != nil {
		return nil, false, err
	}
	matches = append(matches, disk...)
	slices.SortStableFunc(matches, func(x, y match) int {
		if c := strings.Compare(x.path, y.path); c != 0 {
			return c
		}
		return x.line - y.line
	})
	if len(matches) > a.Limit {
		return matches[:a.Limit], true, nil
	}
	return matches, false, nil
}

// wanted tells whether a file takes part in the search.
func (t *grepFiles) wanted(a grepArgs, from, p string) bool {
	if t.Hide(p) {
		return false
	}
	if a.Glob == "" {
		return true
	}
	rel, err := filepath.Rel(from, p)
	if err != nil || rel == "." {
		rel = filepath.Base(p)
	}
	glob := a.Glob
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob
	}
	ok, _ := doublestar.Match(glob, filepath.ToSlash(rel))
	return ok
}

func matchesIn(path string, r io.Reader, re *regexp.Regexp, most int) []match {
	var out []match
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; len(out) < most; n++ {
		line, err := in.ReadBytes('\n')
		if n == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if bytes.IndexByte(line, 0) >= 0 {
			return out // a binary file from here on
		}
		text := bytes.TrimRight(line, "\r\n")
		if len(line) > 0 && re.Match(text) {
			out = append(out, match{path, n, string(text)})
		}
		if err != nil {
			break
		}
	}
	return out
}

func (t *grepFiles) searchDisk(ctx context.Context, a grepArgs, path string, re *regexp.Regexp, skip func(string) bool) ([]match, error) {
	var out []match
	one := func(p string) {
		info, err := os.Lstat(p)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxGrepFile || skip(p) {
			return
		}
		if text, err := Disk(t.Root).Read(ctx, p); err == nil && binary(text.Bytes) == "" {
			out = append(out, matchesIn(p, bytes.NewReader(text.Bytes), re, a.Limit+1-len(out))...)
		}
	}
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		one(path)
		return out, nil
	}
	err := t.walk(ctx, path, func(p string, e fs.DirEntry) error {
		if !e.IsDir() {
			one(p)
		}
		if len(out) > a.Limit {
			return fs.SkipAll
		}
		return nil
	})
	return out, err
}

// ripgrep is where rg is, "" where it is not.
var ripgrep = sync.OnceValue(func() string {
	p, err := exec.LookPath("rg")
	if err != nil {
		return ""
	}
	return p
})

func (t *grepFiles) searchRipgrep(ctx context.Context, rg string, a grepArgs, path string, skip func(string) bool) ([]match, error) {
	// The pattern was read by Go's regexp, so both must agree on it: what rg
	// does not understand, it refuses, and Go searches.
	args := []string{"--no-config", "--color=never", "--no-heading", "--with-filename", "--line-number", "--null", "--hidden", "--no-require-git",
		"--glob", "!.git", "--sort", "path", "--max-filesize", strconv.Itoa(maxGrepFile), "--max-columns", "4000", "--max-columns-preview",
		"--no-messages", "--crlf", "--regexp", a.Pattern, "--", path}
	permit, err := t.permit(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	defer permit()
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, rg, args...)
	cmd.Dir = t.Root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	cmd.WaitDelay = 200 * time.Millisecond
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var matches []match
	in := bufio.NewReaderSize(out, 64<<10)
	for len(matches) <= a.Limit {
		line, err := in.ReadString('\n')
		if p, rest, ok := strings.Cut(line, "\x00"); ok {
			number, text, _ := strings.Cut(rest, ":")
			n, _ := strconv.Atoi(number)
			if !skip(p) && n > 0 {
				matches = append(matches, match{p, n, strings.TrimRight(text, "\r\n")})
			}
		}
		if err != nil {
			break
		}
	}
	full := len(matches) > a.Limit
	if full {
		cancel()
	}
	err = cmd.Wait()
	var bad *exec.ExitError
	switch {
	case full, err == nil:
		return matches, nil
	case errors.As(err, &bad) && bad.ExitCode() == 1, errors.As(err, &bad) && bad.ExitCode() == 2 && len(matches) > 0:
		return matches, nil // nothing found, or some files could not be read
	}
	return nil, err
}
