package policy

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agent-ls/loop"
	"agent-ls/loop/realpath"
	"agent-ls/loop/sandbox"
)

var (
	writers = []string{"write_file", "edit", "multi_edit"}
	readers = []string{"read_file", "grep", "glob", "list_files"}
)

// pathAnswer judges one path that a call touches. Path is absolute, resolved.
// byDefault says whether the default counts where no rule says anything.
func (j *judging) pathAnswer(tool, path string, write, byDefault bool) []answer {
	var out []answer
	say := func(verdict loop.Verdict, must bool, source, because string) {
		out = append(out, answer{verdict: verdict, must: must, source: source, because: because, layer: loop.LayerBuiltin})
	}
	shown := j.show(path)
	if j.state != "" && realpath.Within(j.state, path) {
		say(loop.VerdictDeny, false, "state", shown+" is agent-ls's own state")
	}
	rel, inside := j.relative(path)
	if !inside {
		say(loop.VerdictAsk, true, "workspace", shown+" is outside the workspace")
	}
	if write {
		if why, yes := sandbox.Protected(j.root, path); yes {
			say(loop.VerdictAsk, true, "protected", shown+": "+why+", so it is always asked")
		}
		if slices.ContainsFunc(j.own, func(own string) bool { return realpath.Within(own, path) }) {
			say(loop.VerdictAsk, true, "protected", shown+" is agent-ls's own configuration, so it is always asked")
		}
	}
	effect := loop.Read
	if write {
		effect = loop.Write
	}
	a := j.ruleAnswer(tool, func(r rule) bool { return r.bare || j.globMatch(r, path, rel, inside) })
	if d := j.denied(tool, path, rel, inside, write); d.rank() > a.rank() {
		a = d
	}
	if a.verdict == loop.VerdictNone && byDefault {
		a = j.byDefault(effect)
	}
	if a.verdict != loop.VerdictNone {
		out = append(out, a)
	}
	return out
}

// denied looks at the rules of the sister tools: what may not be written by
// one may not be written by another, and what may not be read may not be read
// by another way, an edit included, since it shows what is there.
func (j *judging) denied(tool, path, rel string, inside, write bool) answer {
	sisters := readers
	if write {
		sisters = writers
		if tool != "write_file" {
			sisters = append(slices.Clone(writers), "read_file")
		}
	}
	for _, r := range j.rules {
		if r.verdict == loop.VerdictDeny && r.tool != tool && slices.Contains(sisters, r.tool) && !r.bare && j.globMatch(r, path, rel, inside) {
			return answer{verdict: loop.VerdictDeny, because: "rule " + r.source(), source: r.source(), layer: r.gate()}
		}
	}
	return answer{}
}

// globMatch matches a path against a rule's pattern. A pattern is relative to
// the root. One without a slash, in a deny or ask rule, means the name
// wherever it is; an allow means exactly what it says. Deny and ask compare
// without case, since some file systems do.
func (r *Rules) globMatch(one rule, full, rel string, inside bool) bool {
	glob, subject := one.glob, rel
	switch {
	case glob == "":
		return false
	case strings.HasPrefix(glob, "~/"):
		if r.home == "" {
			return false
		}
		glob, subject = escapeGlob(filepath.ToSlash(r.home))+glob[1:], filepath.ToSlash(full)
	case path.IsAbs(glob) || filepath.IsAbs(glob):
		subject = filepath.ToSlash(full)
	case !inside:
		if one.verdict == loop.VerdictAllow {
			return false
		}
		subject = filepath.ToSlash(full)
		glob = "**/" + glob
	}
	glob = strings.TrimPrefix(glob, "./")
	if one.verdict == loop.VerdictAllow {
		ok, _ := doublestar.Match(glob, subject)
		return ok
	}
	glob, subject = strings.ToLower(glob), strings.ToLower(subject)
	patterns := []string{glob, strings.TrimSuffix(glob, "/") + "/**"}
	if !strings.Contains(glob, "/") {
		patterns = append(patterns, "**/"+glob, "**/"+glob+"/**")
	}
	for _, p := range patterns {
		if ok, _ := doublestar.Match(p, subject); ok {
			return true
		}
	}
	return false
}

// Unreadable tells whether a rule denies reading a file, so that tools which
// look at whole folders leave it out. The path is absolute and resolved.
func (r *Rules) Unreadable(path string) bool {
	rel, inside := r.relative(path)
	if r.state != "" && realpath.Within(r.state, path) {
		return true
	}
	for _, one := range r.rules {
		if one.verdict == loop.VerdictDeny && slices.Contains(readers, one.tool) && !one.bare && r.globMatch(one, path, rel, inside) {
			return true
		}
	}
	return false
}

// hasReadDenials tells whether some file may not be read.
func (r *Rules) hasReadDenials() bool {
	return slices.ContainsFunc(r.rules, func(one rule) bool {
		return one.verdict == loop.VerdictDeny && slices.Contains(readers, one.tool) && !one.bare
	})
}

// relative is a path in the workspace with slashes, and whether it is there.
func (r *Rules) relative(path string) (string, bool) {
	rel, err := filepath.Rel(r.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path, false
	}
	return filepath.ToSlash(rel), true
}

func (r *Rules) show(path string) string {
	rel, _ := r.relative(path)
	return rel
}

// resolve follows symlinks and ".." of a path that a command names, as far as
// it exists. It answers no when that cannot be told.
func resolve(dir, name string) (string, bool) {
	p := name
	if !filepath.IsAbs(p) {
		p = dir + string(filepath.Separator) + p
	}
	volume := filepath.VolumeName(p)
	todo := strings.Split(filepath.ToSlash(p[len(volume):]), "/")
	done := volume + string(filepath.Separator)
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0:
			done = next
			continue
		case err != nil:
			done = next // a file where a folder should be: it leads nowhere
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > 40 {
			return "", false
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			done, target = volume+string(filepath.Separator), target[len(volume):]
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	return done, true
}

// HiddenFromCommands is what no command is to see: denied tells it of a path,
// absolute and resolved, and outside are the places beside the workspace where
// something may be. some is false where no rule denies to read anything.
func (r *Rules) HiddenFromCommands() (denied func(path string) bool, outside []string, some bool) {
	if r == nil {
		return nil, nil, false
	}
	c := r.ForCommands()
	for _, one := range c.rules {
		if one.verdict != loop.VerdictDeny || !slices.Contains(readers, one.tool) || one.bare {
			continue
		}
		some = true
		glob := one.glob
		if rest, ok := strings.CutPrefix(glob, "~/"); ok && r.home != "" {
			glob = filepath.ToSlash(r.home) + "/" + rest
		}
		if !path.IsAbs(glob) && !filepath.IsAbs(glob) {
			continue
		}
		base, _ := doublestar.SplitPattern(glob)
		if base = resolveFolder(filepath.FromSlash(base)); base != filepath.Dir(base) && !realpath.Within(c.root, base) && !slices.Contains(outside, base) {
			outside = append(outside, base)
		}
	}
	return c.Unreadable, outside, some
}
