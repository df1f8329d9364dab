package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agent-ls/hooks/check"
	"agent-ls/hooks/shell"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// taint is what is known of labels and clearances.
type taint struct {
	manifest.Taint
	labels []labelled
	// commands are the rules of commands. A file that is more secret than what
	// commands are cleared for is one that they may not read.
	commands *Rules
	// reading holds, by level, rules under which nothing is refused but to read
	// what has that level: they tell whether a command may read it.
	reading map[loop.Label]*Rules
}

// labelled is a pattern of paths with the level of what is there. The pattern
// matches as that of a deny rule: too much rather than too little.
type labelled struct {
	rule
	level loop.Label
}

// layerTaint marks rules that stand for a label.
const layerTaint = "taint"

// gate is the layer of the gate that a rule belongs to.
func (r rule) gate() loop.Layer {
	if r.layer == layerTaint {
		return loop.LayerTaint
	}
	return loop.LayerRule
}

// takeTaint reads labels and clearances. A pattern that cannot be read is a
// finding that keeps runs from starting.
func (r *Rules) takeTaint(t manifest.Taint) []check.Finding {
	r.taint = taint{Taint: t, reading: map[loop.Label]*Rules{}}
	var found []check.Finding
	for _, l := range t.Labels {
		glob := filepath.ToSlash(l.Glob)
		if !doublestar.ValidatePattern(glob) || glob == "" {
			found = append(found, check.Finding{Code: "wrong-type", Severity: check.Error, Message: fmt.Sprintf("taint label %q is not a valid glob", l.Glob)})
			continue
		}
		r.taint.labels = append(r.taint.labels, labelled{level: loop.Label(l.Level), rule: rule{
			verdict: loop.VerdictDeny, tool: "read_file", glob: glob, layer: layerTaint,
			text: fmt.Sprintf("label %q is %s and shell is cleared for %s", l.Glob, l.Level, t.ClearanceOf("shell")),
		}})
	}
	r.taint.commands = r
	cleared := r.cleared("shell")
	var above []rule
	for _, level := range []loop.Label{loop.Internal, loop.Private} {
		var these []rule
		for _, l := range r.taint.labels {
			if l.level == level {
				these = append(these, l.rule)
			}
		}
		if len(these) == 0 {
			continue
		}
		if level.Above(cleared) {
			above = append(above, these...)
			continue // hidden from commands
		}
		these = append(these, rule{verdict: loop.VerdictAllow, tool: "shell", bare: true})
		r.taint.reading[level] = &Rules{root: r.root, home: r.home, search: r.search, fallback: "ask", rules: these}
	}
	if len(above) > 0 {
		commands := *r
		commands.rules = append(slices.Clone(r.rules), above...)
		r.taint.commands = &commands
	}
	return found
}

// cleared is the highest label that may be in the context when a tool is
// called.
func (r *Rules) cleared(tool string) loop.Label {
	if !r.taint.Enabled {
		return loop.Private
	}
	return loop.Label(r.taint.ClearanceOf(tool))
}

// ForCommands are the rules that commands are held to: these, and that they
// see no file that is more secret than what commands are cleared for.
func (r *Rules) ForCommands() *Rules {
	if r.taint.commands == nil {
		return r
	}
	return r.taint.commands
}

// LabelOf is the highest label of a path, absolute and resolved.
func (r *Rules) LabelOf(path string) loop.Label {
	label := loop.NoLabel
	if r == nil || len(r.taint.labels) == 0 {
		return label
	}
	rel, inside := r.relative(path)
	for _, l := range r.taint.labels {
		if r.globMatch(l.rule, path, rel, inside) {
			label = label.With(l.level)
		}
	}
	return label
}

// clearance is the taint gate: a tool is called only with what it is cleared
// for in the context, unless a person says so.
func (j *judging) clearance() {
	if !j.taint.Enabled || j.tool == loop.NextStageTool {
		return
	}
	if cleared := j.cleared(j.tool); j.req.Taint.Above(cleared) {
		j.say(loop.LayerTaint, loop.VerdictAsk, true, "taint",
			fmt.Sprintf("the context holds what is %s, and %s is cleared for %s", j.req.Taint, j.tool, cleared))
	}
}

// CommandLabel is the highest label of what a shell line may read. What is
// not known to read only what it names may read every file that commands see.
func (r *Rules) CommandLabel(text, dir string) loop.Label {
	if r == nil {
		return loop.NoLabel
	}
	for _, level := range []loop.Label{loop.Private, loop.Internal} {
		reading := r.taint.reading[level]
		if reading == nil || !r.holds(level) {
			continue
		}
		if !onlyReadsNamed(text) {
			return level
		}
		j := reading.Judge(Request{Tool: "shell", Mode: loop.ModeAsk, SandboxInForce: true,
			Plan: loop.Plan{Effect: loop.Execute, Command: &loop.CommandPlan{Line: text, Dir: dir}}})
		// Either it names such a file, or it cannot be read for certain.
		if slices.ContainsFunc(j.Steps, func(s loop.GateStep) bool {
			return s.Layer == loop.LayerTaint || s.Source == "shell" && s.Outcome != loop.VerdictAllow
		}) {
			return level
		}
	}
	return loop.NoLabel
}

// AnyCommandLabel is the highest label of what a program may read of which
// nothing is known but that it runs where commands do.
func (r *Rules) AnyCommandLabel() loop.Label {
	if r == nil {
		return loop.NoLabel
	}
	for _, level := range []loop.Label{loop.Private, loop.Internal} {
		if r.taint.reading[level] != nil && r.holds(level) {
			return level
		}
	}
	return loop.NoLabel
}

// holds tells whether files of a level are there that commands could see.
func (r *Rules) holds(level loop.Label) bool {
	inRoot := false
	for _, l := range r.taint.labels {
		if l.level != level {
			continue
		}
		glob := l.glob
		if rest, ok := strings.CutPrefix(glob, "~/"); ok {
			glob = filepath.ToSlash(r.home) + "/" + rest
		}
		if !strings.HasPrefix(glob, "/") && !filepath.IsAbs(glob) {
			inRoot = true
			continue
		}
		base, _ := doublestar.SplitPattern(glob)
		if _, err := os.Stat(filepath.FromSlash(base)); err == nil {
			return true
		}
	}
	if !inRoot {
		return false
	}
	_, yes := r.below(r.root, func(p string) (string, bool) { return "", r.LabelOf(p) == level })
	return yes
}

// plainCommands read nothing that they do not name, besides those that are
// known to take paths and those that do nothing by themselves.
var plainCommands = []string{"date", "uname", "whoami", "id", "hostname", "seq", "sleep", "basename", "dirname", "which", "printenv", "nproc", "tty"}

// plainGit are what git does without showing what is in files.
var plainGit = []string{"status", "branch", "rev-parse", "remote", "add", "tag", "fetch"}

// onlyReadsNamed tells whether every command of a line is known to read no
// other files than those that it names.
func onlyReadsNamed(text string) bool {
	for _, c := range shell.Commands(text) {
		if !c.Name.Known {
			return false
		}
		base := c.Base()
		_, reads := fileCommands[base]
		switch args := knownArgs(c); {
		case c.Name.Text == "", reads, neutral(c, false), slices.Contains(plainCommands, base):
		case base == "git" && len(args) > 0 && slices.Contains(plainGit, args[0]):
		default:
			return false
		}
	}
	return true
}
