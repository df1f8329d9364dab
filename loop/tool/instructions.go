package tool

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"agent-ls/loop/realpath"
)

// maxInstructions bounds one file of project instructions, in bytes.
const maxInstructions = 64 << 10

// Instructions are the project's for an agent: AGENTS.md, or CLAUDE.md where
// that is all there is, of the root and of each folder on the way down to the
// files in work. It also names the files they came from, absolute.
func Instructions(root string, work ...string) (text string, files []string) {
	folders := []string{root}
	for _, w := range work {
		rel, err := filepath.Rel(root, w)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		dir := root
		for part := range strings.SplitSeq(filepath.Dir(rel), string(filepath.Separator)) {
			if dir = filepath.Join(dir, part); dir != root {
				folders = append(folders, dir)
			}
		}
	}
	var out strings.Builder
	done := map[string]bool{}
	for _, dir := range folders {
		if done[dir] {
			continue
		}
		done[dir] = true
		path, body := instructionsIn(root, dir)
		if path == "" {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			continue
		}
		files = append(files, path)
		fmt.Fprintf(&out, "Instructions of this project from %s:\n\n%s\n\n", filepath.ToSlash(rel), strings.TrimSpace(body))
	}
	return strings.TrimSpace(out.String()), files
}

// instructionsIn finds a folder's file. A link may lead elsewhere in the
// workspace, not out of it.
func instructionsIn(root, dir string) (path, body string) {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		path := filepath.Join(dir, name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil || !realpath.Within(resolveRoot(root), real) {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.Open(real)
		if err != nil {
			continue
		}
		b := make([]byte, maxInstructions+1)
		n, _ := io.ReadFull(f, b)
		_ = f.Close()
		text := plainOf(b[:n]).text
		if n > maxInstructions {
			text = cut(text, maxInstructions-16)
		}
		if strings.TrimSpace(text) != "" {
			return path, visible(text)
		}
	}
	return "", ""
}

func resolveRoot(root string) string {
	if r, err := filepath.EvalSymlinks(root); err == nil {
		return r
	}
	return root
}
