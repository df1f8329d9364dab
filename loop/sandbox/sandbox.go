// Package sandbox owns the floor under every command that the agent starts:
// what it may write, which files and environment it does not see, whether it
// has a network, and that nothing of it is left when it ends. Start at Detect
// and Floor.Command. It decides nothing about a command: that is policy's.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"agent-ls/loop/manifest"
	"agent-ls/loop/realpath"
)

// Kind is the mechanism in force.
type Kind string

const (
	None       Kind = "none"
	Bubblewrap Kind = "bubblewrap"
	Landlock   Kind = "landlock"
)

// Dirs are the folders that the floor treats differently. All are absolute;
// an empty one does not count, but for Home, which is then the process's own.
type Dirs struct {
	Root  string // the workspace, symlinks resolved: writable
	State string // our own state: hidden
	Cache string // our own cache: writable, tools keep theirs in it
	Home  string // the user's: readable but for credentials
}

// Floor is what commands run on. It is safe for use from several goroutines.
type Floor struct {
	kind    Kind
	dirs    Dirs
	config  manifest.Sandbox
	bwrap   string
	abi     int
	missing []string // why the better ones are not in force
	own     []string // our own settings
	without []string // names of variables that commands do not see, besides the usual
	watch   *watch
	secrets *secrets // nil: no rule denies to read anything
}

// watch is what the last look at the protected files came to.
type watch struct {
	mu     sync.Mutex
	looked bool
	why    string // some may have been overlooked
}

// Line is one row of what doctor says about the floor.
type Line struct {
	Name string
	OK   bool
	Text string
}

// Detect finds out what this machine offers, by trying it, and returns the
// best. It never fails: where nothing works, InForce is false.
func Detect(config manifest.Sandbox, dirs Dirs) *Floor {
	return detect(config, dirs, Bubblewrap, Landlock)
}

func detect(config manifest.Sandbox, dirs Dirs, kinds ...Kind) *Floor {
	if dirs.Home == "" {
		// Forgotten, credentials would lie open.
		dirs.Home, _ = os.UserHomeDir()
	}
	f := &Floor{kind: None, config: config, dirs: resolved(dirs), watch: &watch{}}
	if config.Off {
		f.missing = append(f.missing, "the user's configuration turns it off")
		return f
	}
	for _, k := range kinds {
		if why := f.try(k); why != "" {
			f.missing = append(f.missing, string(k)+": "+why)
			continue
		}
		f.kind = k
		break
	}
	return f
}

func resolved(d Dirs) Dirs {
	for _, p := range []*string{&d.Root, &d.State, &d.Cache, &d.Home} {
		*p = realpath.Resolve(*p)
	}
	return d
}

// Kind says which mechanism is in force.
func (f *Floor) Kind() Kind { return f.kind }

// InForce tells whether commands are confined at all. Where they are not,
// every command has to ask.
func (f *Floor) InForce() bool { return f != nil && f.kind != None }

// Incomplete says why protected files of the workspace may be overlooked, as of
// the last command, "" if none are. Where it says something a command should
// ask. The first call looks through the workspace.
func (f *Floor) Incomplete() string {
	if f == nil || f.watch == nil {
		return ""
	}
	f.watch.mu.Lock()
	defer f.watch.mu.Unlock()
	if !f.watch.looked {
		f.watch.looked = true
		f.watch.why = (&Digests{list: list(f.dirs.Root)}).Incomplete()
	}
	return f.watch.why
}

func (f *Floor) saw(d *Digests) {
	f.watch.mu.Lock()
	defer f.watch.mu.Unlock()
	f.watch.looked, f.watch.why = true, d.Incomplete()
}

// Describe says in one line what is in force, for run_started and doctor.
func (f *Floor) Describe() string {
	if f == nil {
		return "none: every command asks"
	}
	network := "no network"
	if f.config.Network {
		network = "network allowed"
	}
	hidden := "credentials hidden"
	if f.secrets != nil {
		hidden = "credentials and files that may not be read hidden"
	}
	switch f.kind {
	case Bubblewrap:
		return "bubblewrap: workspace writable, " + hidden + ", own process namespace, " + network
	case Landlock:
		return fmt.Sprintf("landlock %d and seccomp: workspace writable, %s, protected files compared after each command, %s", f.abi, hidden, network)
	}
	return "none (" + strings.Join(f.missing, "; ") + "): every command asks"
}

// Report is what doctor prints.
func (f *Floor) Report() []Line {
	lines := []Line{{Name: "sandbox", OK: f.InForce(), Text: f.Describe()}}
	for _, m := range f.missing {
		name, text, found := strings.Cut(m, ": ")
		if !found {
			name, text = "sandbox", m
		}
		lines = append(lines, Line{Name: name, Text: text})
	}
	switch f.kind {
	case Bubblewrap:
		lines = append(lines, Line{"processes", true, "everything that a command starts ends with it (own PID namespace)"})
	case Landlock:
		lines = append(lines,
			Line{"processes", true, "what a command starts is ended with it by a subreaper; best effort"},
			Line{"protected files", false, "compared and put back after each command, not read-only meanwhile; file modes outside the workspace are not guarded"})
	default:
		lines = append(lines, Line{"processes", false, "a command's process group is ended with it; what left the group is not"})
	}
	if f.secrets != nil && f.InForce() {
		why := f.Exposed()
		if why == "" {
			why = "what rules deny to read, and labels keep from commands, is not there for them"
		}
		lines = append(lines, Line{"denied files", f.Exposed() == "", why})
	}
	shell, err := Shell()
	if err != nil {
		return append(lines, Line{"shell", false, err.Error()})
	}
	return append(lines, Line{"shell", true, shell})
}

// Without adds names of environment variables that no command gets to see,
// such as those that hold a configured model's key.
func (f *Floor) Without(names ...string) *Floor {
	g := *f
	g.without = append(slices.Clone(f.without), names...)
	return &g
}

// WithNetwork is the same floor for a program that may reach the network.
func (f *Floor) WithNetwork() *Floor {
	g := *f
	g.config.Network = true
	return &g
}

// Command prepares a shell line to run in dir. Nothing runs before Start. The
// process is stopped when ctx ends.
func (f *Floor) Command(ctx context.Context, line, dir string) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if strings.IndexByte(line, 0) >= 0 {
		return nil, errors.New("a command cannot contain a zero byte")
	}
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("the working directory %q is not absolute", dir)
	}
	shell, err := Shell()
	if err != nil {
		return nil, err
	}
	return &Process{ctx: ctx, floor: f, line: line, dir: realpath.Resolve(dir), shell: shell}, nil
}

// Shell is the shell that lines run in: bash where there is one, since that
// is what lines are read as before they run, else sh.
func Shell() (string, error) {
	for _, p := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"} {
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
			return p, nil
		}
	}
	for _, name := range []string{"bash", "sh"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	if runtime.GOOS == "windows" {
		return "", errors.New("no bash found: install Git for Windows, or run inside WSL")
	}
	return "", errors.New("no shell found: neither bash nor sh")
}
