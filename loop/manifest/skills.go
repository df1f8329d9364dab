package manifest

import (
	"path/filepath"

	"agent-ls/loop/skill"
)

// skills finds the user's skills and the workspace's. The user's come first:
// a workspace cannot put another in the place of one of them.
func (l *loader) skills() {
	root := l.sources.Root
	var folders []skill.Folder
	user := func(path string) { folders = append(folders, skill.Folder{Path: path, Inside: path}) }
	if l.sources.UserConfig != "" {
		user(filepath.Join(filepath.Dir(l.sources.UserConfig), "skills"))
	}
	if home := lookup(l.sources.Environ, "HOME"); filepath.IsAbs(home) {
		user(filepath.Join(home, ".claude", "skills"))
	}
	if root != "" {
		for _, dir := range []string{".agent-ls", ".claude"} {
			folders = append(folders, skill.Folder{Path: filepath.Join(root, dir, "skills"), Inside: root, Workspace: true})
		}
	}
	found := []string{}
	list, findings := skill.Discover(folders)
	l.cfg.Skills = list
	for _, s := range list {
		found = append(found, s.Path)
	}
	for _, f := range findings {
		l.out.add(f)
		found = append(found, f.Path)
	}
	for _, f := range folders {
		l.watch(f.Path)
	}
	for _, path := range found {
		l.watch(path)
	}
}
