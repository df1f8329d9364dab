package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Always asked: things that run or steer later. Names compare without case,
// since some file systems do. A name among the folders counts as a file, too.
var (
	protectedFolders = []string{".agent-ls", ".vscode", ".idea", ".zed", ".helix", ".devcontainer", ".husky", ".githooks",
		".claude", ".cursor", ".codex", ".gemini", ".windsurf", ".clinerules", ".roo", ".continue", ".kiro", ".opencode", ".mise"}
	protectedFiles = []string{"agents.md", "agents.override.md", "claude.md", "claude.local.md",
		"gemini.md", "qwen.md", ".cursorrules", ".windsurfrules", ".roorules", ".mcp.json", "opencode.json", "opencode.jsonc",
		".pre-commit-config.yaml", ".mise.toml", "mise.toml", ".gdbinit", ".exrc", ".nvimrc", ".nvim.lua", ".lazy.lua", ".dir-locals.el"}
	// below .github
	protectedGithub = []string{"workflows", "instructions", "copilot-instructions.md"}
	// below a folder of git's own
	protectedGit = []string{"hooks", "config", "config.worktree", "commondir", "gitdir", "config.lock"}
)

// Protected tells whether a write to a path may only ever be asked, and names
// the reason: its name, or that something with such a name leads there (a
// link, the file .git, core.hooksPath). The path is absolute and resolved, or
// relative to the root.
func Protected(root, path string) (why string, yes bool) {
	if why, yes := named(root, path); yes {
		return why, yes
	}
	return ledTo(root, path)
}

// named judges a path by its name alone.
func named(root, path string) (why string, yes bool) {
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
		last := i == len(parts)-1
		switch {
		case p == ".git" || p == "git~1":
			return gitProtected(parts[i+1:])
		case p == ".github" && !last && slices.Contains(protectedGithub, parts[i+1]):
			return ".github/" + parts[i+1] + " runs or steers later", true
		case last && strings.HasSuffix(p, ".code-workspace"):
			return "editor settings", true
		case slices.Contains(protectedFolders, p):
			return p + "/** runs or steers later", true
		case last && (slices.Contains(protectedFiles, p) || strings.HasPrefix(p, ".envrc")):
			return parts[i] + " runs or steers later", true
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
		case i == len(rest)-1 && slices.Contains(protectedGit, p):
			return ".git/config decides what git runs", true
		}
	}
	return "", false
}
