package trust

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/loop/realpath"
)

// maxLooks bounds how often one digest asks the file system for a name.
const maxLooks = 100_000

// lookup collects the files that words name.
type lookup struct {
	root   string
	named  map[string]bool
	walked map[string]bool
	looks  int
	err    error // the bound that was reached
}

func (l *lookup) look() bool {
	if l.looks++; l.looks > maxLooks && l.err == nil {
		l.err = fmt.Errorf("names too much to look for within %d looks", maxLooks)
	}
	if len(l.named) > maxFiles && l.err == nil {
		l.err = fmt.Errorf("names more than %d files", maxFiles)
	}
	return l.err == nil
}

// extensions are what programs append to a name without one.
var extensions = []string{"", ".js", ".mjs", ".cjs", ".py", ".sh", ".ts"}

// word adds what a word names from each of the folders. It says whether that
// is a file, or a folder other than the root.
func (l *lookup) word(bases []string, w string, deep bool) (found bool) {
	for _, base := range bases {
		ways := extensions
		if filepath.Ext(filepath.Base(w)) != "" || w == "." {
			ways = ways[:1]
		}
		for _, ext := range ways {
			if !l.look() {
				return found
			}
			path := absolute(base, w) + ext
			if strings.ContainsAny(w, "*?[") {
				found = l.glob(path) || found
			}
			found = l.path(path, deep) || found
		}
	}
	return found
}

// path adds a file, or the files of a folder. A link of the workspace counts
// wherever it leads.
func (l *lookup) path(path string, deep bool) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	real := realpath.Resolve(path)
	if !realpath.Within(l.root, path) && !realpath.Within(l.root, real) {
		return false
	}
	switch {
	case info.Mode().IsRegular():
		l.named[real] = true
		return true
	case !info.IsDir():
		return false
	}
	l.starts(real)
	if real == l.root || realpath.Within(real, l.root) {
		return false
	}
	if deep {
		l.walk(real)
	}
	return true
}

// glob adds what a pattern matches inside the workspace.
func (l *lookup) glob(pattern string) bool {
	if !realpath.Within(l.root, pattern) || strings.Count(pattern, "*") > 8 {
		return false
	}
	at := []string{l.root}
	rel, _ := filepath.Rel(l.root, pattern)
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		var next []string
		for _, dir := range at {
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue
			}
			for _, e := range entries {
				if !l.look() {
					return true
				}
				if ok, err := filepath.Match(part, e.Name()); ok && err == nil {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		at = next
	}
	for _, path := range at {
		l.path(path, true)
	}
	return true // what it does not match does not run
}

// walk adds all regular files below a folder, and what links in it lead to.
func (l *lookup) walk(dir string) {
	if l.walked[dir] {
		return
	}
	l.walked[dir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.err = fmt.Errorf("names a folder that cannot be read: %w", err)
		return
	}
	for _, e := range entries {
		if !l.look() {
			return
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		switch {
		case err != nil: // a link to nothing
		case info.Mode().IsRegular():
			l.named[realpath.Resolve(path)] = true
		case info.IsDir():
			l.walk(realpath.Resolve(path))
		}
	}
}

// starts adds what a program that is given the folder starts in it.
func (l *lookup) starts(dir string) {
	entries, _ := filepath.Glob(filepath.Join(escaped(dir), "index.*"))
	for _, path := range append(entries, filepath.Join(dir, "package.json"), filepath.Join(dir, "__main__.py")) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			l.named[realpath.Resolve(path)] = true
		}
	}
	for _, w := range mains(filepath.Join(dir, "package.json")) {
		for _, ext := range extensions {
			if !l.look() {
				return
			}
			path := absolute(dir, w) + ext
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && realpath.Within(l.root, path) {
				l.named[realpath.Resolve(path)] = true
			}
		}
	}
}

// escaped is a path without a pattern in it.
func escaped(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// mains are the files that a package.json says start it.
func mains(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var p struct{ Main, Bin any }
	if json.NewDecoder(io.LimitReader(f, 1<<20)).Decode(&p) != nil {
		return nil
	}
	var out []string
	add := func(v any) {
		if s, ok := v.(string); ok && usableWord(s) {
			out = append(out, s, filepath.Join(s, "index"))
		}
	}
	add(p.Main)
	add(p.Bin)
	if m, ok := p.Bin.(map[string]any); ok {
		for _, v := range m {
			add(v)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), 64)]
}
