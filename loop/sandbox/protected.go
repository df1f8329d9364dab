package sandbox

import (
	"path/filepath"
	"strings"
)

// Always asked: things that run or steer later. Names compare without case,
// since some file systems do.
var (
	protectedFolders = []string{".agent-ls", ".vscode", ".idea", ".devcontainer", ".husky", ".githooks",
		".claude", ".cursor", ".codex", ".gemini"}
	protectedFiles = []string{".envrc", "agents.md", "agents.override.md", "claude.md", "claude.local.md",
		"gemini.md", ".cursorrules", ".mcp.json", ".exrc", ".nvimrc", ".nvim.lua", ".lazy.lua", ".dir-locals.el"}
)

// Protected tells whether a write to a path may only ever be asked, and names
// the reason. The path is absolute and resolved, or relative to the root.
func Protected(root, path string) (why string, yes bool) {
	rel := path
	if filepath.IsAbs(path) {
		r, err := filepath.Rel(root, path)
		if err != nil || r == ".." || strings.HasPrefix(r, ".."+string(filepath.Separator)) {
			// Outside the workspace: the whole path is looked at, so that
			// another repository's hooks are no better off.
			r = path
		}
		rel = r
	}
	parts := strings.Split(strings.ToLower(filepath.ToSlash(rel)), "/")
	for i, p := range parts {
		p = strings.TrimRight(p, " .") // Windows drops these
		if p == "" && parts[i] != "." && parts[i] != ".." && parts[i] != "" {
			return "a name that some systems read as another", true
		}
		// NTFS streams and the short names of old file systems.
		if name, _, found := strings.Cut(p, ":"); found && i > 0 {
			p = name
		}
		switch {
		case p == ".git" || p == "git~1":
			return gitProtected(parts[i+1:])
		case p == ".github" && i+2 == len(parts) && parts[i+1] == "copilot-instructions.md":
			return "agent instructions", true
		case strings.HasSuffix(p, ".code-workspace") && i == len(parts)-1:
			return "editor settings", true
		}
		for _, f := range protectedFolders {
			if p == f {
				return f + "/** runs or steers later", true
			}
		}
		for _, f := range protectedFiles {
			if p == f && i == len(parts)-1 {
				return parts[i] + " runs or steers later", true
			}
		}
	}
	return "", false
}

// gitProtected judges a path below a .git.
func gitProtected(rest []string) (string, bool) {
	if len(rest) == 0 {
		return ".git decides which hooks and settings git uses", true
	}
	for i, p := range rest {
		switch {
		case p == "hooks":
			return ".git/hooks run later", true
		case i == len(rest)-1 && (p == "config" || p == "config.worktree" || p == "commondir" || p == "gitdir" || p == "config.lock"):
			return ".git/config decides what git runs", true
		}
	}
	return "", false
}
