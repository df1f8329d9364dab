package tool

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agent-ls/loop/realpath"
	"agent-ls/loop/tool/toolname"
)

const maxWalked = 200_000

// ignoreRule is one line of a .gitignore.
type ignoreRule struct {
	glob    string // relative to the file's folder
	negated bool
	folders bool // matches folders only
}

// ignoreFile is the rules of one folder.
type ignoreFile struct {
	dir   string
	rules []ignoreRule
}

func parseIgnore(dir, text string) ignoreFile {
	f := ignoreFile{dir: dir}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if line == "" || line[0] == '#' {
			continue
		}
		r := ignoreRule{}
		if line[0] == '!' {
			r.negated, line = true, line[1:]
		}
		if strings.HasSuffix(line, "/") {
			r.folders, line = true, strings.TrimRight(line, "/")
		}
		anchored := strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if line == "" {
			continue
		}
		// git's braces are plain characters.
		line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
		if !anchored {
			line = "**/" + line
		}
		r.glob = line
		if doublestar.ValidatePattern(r.glob) {
			f.rules = append(f.rules, r)
		}
	}
	return f
}

// ignores is what the ignore files from the root down say about a path.
type ignores []ignoreFile

// with adds the ignore file of a folder, if it has one.
func (ig ignores) with(dir string) ignores {
	out := ig
	for _, name := range []string{".gitignore", ".ignore"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(b) < 1<<20 {
			if f := parseIgnore(dir, string(b)); len(f.rules) > 0 {
				out = append(slices.Clip(out), f)
			}
		}
	}
	return out
}

// match tells whether a path is ignored: the last rule that matches, of the
// deepest file that has one, decides.
func (ig ignores) match(p string, folder bool) bool {
	for _, f := range slices.Backward(ig) {
		rel, err := filepath.Rel(f.dir, p)
		if err != nil {
			continue
		}
		rel = filepath.ToSlash(rel)
		for _, r := range slices.Backward(f.rules) {
			if r.folders && !folder {
				continue
			}
			if ok, _ := doublestar.Match(r.glob, rel); ok {
				return !r.negated
			}
		}
	}
	return false
}

// above collects the ignore files from the workspace's root down to a folder.
func (w *workspace) above(dir string) ignores {
	var ig ignores
	if b, err := os.ReadFile(filepath.Join(w.Root, ".git", "info", "exclude")); err == nil {
		ig = append(ig, parseIgnore(w.Root, string(b)))
	}
	if !realpath.Within(w.Root, dir) {
		return ig
	}
	rel, err := filepath.Rel(w.Root, dir)
	if err != nil || rel == "." {
		return ig
	}
	at := w.Root
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		ig = ig.with(at)
		at = filepath.Join(at, part)
	}
	return ig
}

// walk visits what is below a folder in order of names, without what git
// ignores, without .git, following no link. fs.SkipDir and fs.SkipAll count.
func (w *workspace) walk(ctx context.Context, dir string, visit func(path string, e fs.DirEntry) error) error {
	seen := 0
	err := w.walkIn(ctx, dir, w.above(dir), &seen, visit)
	if err == fs.SkipAll {
		return nil
	}
	return err
}

func (w *workspace) walkIn(ctx context.Context, dir string, ig ignores, seen *int, visit func(path string, e fs.DirEntry) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil //nolint:nilerr // a folder that cannot be read is passed over
	}
	ig = ig.with(dir)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := filepath.Join(dir, e.Name())
		if e.Name() == ".git" || ig.match(p, e.IsDir()) {
			continue
		}
		if *seen++; *seen > maxWalked {
			return fs.SkipAll
		}
		switch err := visit(p, e); {
		case err == fs.SkipDir && e.IsDir():
			continue
		case err != nil && err != fs.SkipDir:
			return err
		}
		if e.IsDir() {
			if err := w.walkIn(ctx, p, ig, seen, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func baseName(p string) string { return path.Base(filepath.ToSlash(p)) }

func distanceWithin(a, b string) bool { return toolname.Closest(a, []string{b}) == b }
