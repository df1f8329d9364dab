package sandbox

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agent-ls/loop/realpath"
)

// try finds out whether a mechanism works here, and says why it does not.
func (f *Floor) try(k Kind) string {
	switch k {
	case Bubblewrap:
		f.bwrap = bwrapPath()
		if f.bwrap == "" {
			return "bwrap is not installed"
		}
		return probes.of(f.bwrap, func() string { return probeBubblewrap(f.bwrap) })
	case Landlock:
		abi, why := landlockABI()
		f.abi = abi
		return why
	}
	return "unknown"
}

// prepare makes the command that lays the floor and runs the line.
func (f *Floor) prepare(p *Process) error {
	if f.dirs.Cache != "" && f.kind != None {
		if err := os.MkdirAll(filepath.Join(f.dirs.Cache, "tools"), 0o700); err != nil {
			return err
		}
	}
	switch f.kind {
	case Bubblewrap:
		return f.prepareBubblewrap(p)
	case Landlock:
		return f.prepareLandlock(p)
	}
	return f.plain(p)
}

// probed remembers what was found out about a program, for the process's life.
type probed struct {
	mu   sync.Mutex
	said map[string]string
}

var probes = probed{said: map[string]string{}}

func (p *probed) of(key string, find func() string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.said[key]; ok {
		return s
	}
	s := find()
	p.said[key] = s
	return s
}

func bwrapPath() string {
	for _, p := range []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p
		}
	}
	p, err := exec.LookPath("bwrap")
	if err != nil {
		return ""
	}
	return p
}

// probeBubblewrap runs it once with all that it is asked for later.
func probeBubblewrap(bwrap string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	args := append(bubblewrapBase(false), "--", "/bin/sh", "-c", "test $$ -lt 20 && ! test -w /usr && echo floor")
	cmd := exec.CommandContext(ctx, bwrap, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil && strings.TrimSpace(string(out)) == "floor" {
		return ""
	}
	said, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if said == "" && err != nil {
		said = err.Error()
	}
	return "does not work here: " + said
}

// keptInRun are the parts of /run that programs need and that reach nobody.
var keptInRun = []string{"/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/systemd/resolve", "/run/host", "/run/resolvconf"}

// bubblewrapBase is the floor without any folder of ours.
func bubblewrapBase(network bool) []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}
	if network {
		args = append(args, "--share-net")
	}
	for _, t := range []string{"/tmp", "/var/tmp", "/run"} {
		if info, err := os.Lstat(t); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", t)
		}
	}
	for _, k := range keptInRun {
		if _, err := os.Stat(k); err == nil {
			args = append(args, "--ro-bind-try", k, k)
		}
	}
	return args
}

func (f *Floor) prepareBubblewrap(p *Process) error {
	args := bubblewrapBase(f.config.Network)
	for _, d := range []string{f.dirs.Home, p.dir} {
		if d != "" && masked(d) {
			args = append(args, "--ro-bind-try", d, d)
		}
	}
	writable := f.writable()
	if f.dirs.Cache != "" {
		writable = append(writable, filepath.Join(f.dirs.Cache, "tools"))
	}
	hidden := f.hidden()
	var covers []string // what covers a hidden folder cannot be written to, once all is in place
	hide := func(around bool) {
		for _, h := range hidden {
			holds := false
			for _, w := range writable {
				holds = holds || realpath.Within(h, w)
			}
			if holds != around {
				continue
			}
			if info, err := os.Stat(h); err == nil && info.IsDir() {
				args, covers = append(args, "--tmpfs", h), append(covers, "--remount-ro", h)
			} else if err == nil {
				args = append(args, "--ro-bind", "/dev/null", h)
			}
		}
	}
	hide(true) // those that hold a writable folder, before it
	for _, w := range writable {
		args = append(args, "--bind", w, w)
	}
	hide(false)
	for _, w := range writable {
		l := p.before.list
		if l == nil || w != l.root {
			l = list(w)
		}
		more, bound := protectArgs(l, unshown(hidden, writable))
		args = append(args, more...)
		if l == p.before.list {
			p.before.bound = fixed(l.root, bound, writable)
		}
	}
	hide(false) // binding a folder again shows what it holds
	secret, _ := f.secretFiles()
	args = append(append(args, hideArgs(secret)...), covers...)
	args = append(args, "--chdir", p.dir, "--", "/bin/sh", "-c", limits, p.shell, p.line)
	p.cmd = exec.Command(f.bwrap, args...)
	p.cmd.Env = append(f.environment(os.Environ(), "/tmp"), p.Env...)
	p.host.group(p.cmd)
	return nil
}

// masked tells whether a folder lies under one that is replaced by an empty one.
func masked(dir string) bool {
	for _, t := range []string{"/tmp", "/var/tmp", "/run"} {
		if dir != t && realpath.Within(t, dir) {
			return true
		}
	}
	return false
}

// boundBytes bounds what of a command line names protected files; a system
// takes about two million bytes in all. The others are compared afterwards.
const boundBytes = 500_000

// protectArgs binds the always-asked files of a folder read-only. A folder of
// git's own is bound over itself first: a mount point cannot be moved out of
// the way. bound are those that are read-only.
func protectArgs(l *listing, unshown func(path string) bool) (args, bound []string) {
	size := 0
	bind := func(how, p string) bool {
		if size += 2*len(p) + 20; size >= boundBytes {
			return false
		}
		args = append(args, how, p, p)
		return true
	}
	for _, dir := range slices.SortedFunc(maps.Keys(l.repos), func(a, b string) int { return len(a) - len(b) }) {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && !unshown(dir) {
			bind("--bind-try", dir)
		}
	}
	size = 0 // many repositories leave no less for what is to be read-only
	for _, p := range l.tops {
		if info, err := os.Lstat(p); err != nil || info.Mode()&os.ModeSymlink != 0 || unshown(p) {
			continue // a link is compared afterwards; what is hidden, no command reaches
		}
		if bind("--ro-bind-try", p) {
			bound = append(bound, p)
		}
	}
	return args, bound
}

// unshown tells what lies in something hidden, and in no folder of it that is
// to be written.
func unshown(hidden, writable []string) func(path string) bool {
	return func(path string) bool {
		return slices.ContainsFunc(hidden, func(h string) bool {
			return realpath.Within(h, path) && !slices.ContainsFunc(writable, func(w string) bool { return realpath.Within(h, w) && realpath.Within(w, path) })
		})
	}
}

// fixed are those of the bound paths that no command can get out of the way:
// each lies in the root or its .git, which are mounts themselves. A folder
// deeper down can be moved, with the mounts in it.
func fixed(root string, bound, writable []string) []string {
	if slices.ContainsFunc(writable, func(w string) bool { return w != root && realpath.Within(w, root) }) {
		return nil // the root is in a larger mount
	}
	git := filepath.Join(root, ".git")
	if info, err := os.Lstat(git); err != nil || !info.IsDir() {
		git = root // a link is no mount
	}
	return slices.DeleteFunc(bound, func(p string) bool {
		dir := filepath.Dir(p)
		return dir != root && dir != git || slices.ContainsFunc(writable, func(w string) bool { return realpath.Within(p, w) })
	})
}
