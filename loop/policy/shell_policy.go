package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"agent-ls/hooks/lazyexp"
	"agent-ls/hooks/shell"
	"agent-ls/loop"
	"agent-ls/loop/realpath"
	"agent-ls/loop/sandbox"
)

// maxFolders bounds the folders in which a line's relative paths may lie.
const maxFolders = 16

// line is one shell line under judgement.
type line struct {
	*judging
	dirs []string // where a relative path may lie: each cd adds, none takes away
	lost bool     // after a cd to somewhere unknown
	link bool     // the shell may have come where it is through a link
	many bool     // it has several commands: one may make what another uses
}

// shell judges each command of a line. The worst answer of all is the answer.
func (j *judging) shell(text, dir string) {
	l := &line{judging: j, dirs: []string{resolveFolder(dir)}}
	l.link = l.dirs[0] != filepath.Clean(dir)
	if why := unreadable(text); why != "" {
		l.unsure(j.deniesCommands(), why)
	}
	commands := shell.Commands(text)
	l.many = len(commands) > 1
	for i, c := range commands {
		next, starts := shell.Command{}, i+1 < len(commands) && len(commands[i+1].Through) > len(c.Through)
		if starts {
			next = commands[i+1]
		}
		l.command(c, next, starts)
	}
	if !slices.ContainsFunc(j.answers, func(a answer) bool { return a.layer == loop.LayerRule || a.source == "shell" }) {
		if len(commands) == 0 {
			l.unsure(false, "no command can be read in the line")
		} else {
			j.add(j.byDefault(loop.Execute))
		}
	}
	j.wholeLine(strings.TrimSpace(text))
}

// wholeLine looks at the rules for every call and for this very line.
func (j *judging) wholeLine(text string) {
	match := func(r rule) bool { return r.bare || r.line != "" && r.line == text }
	a := j.ruleAnswer("shell", match)
	switch {
	case a.verdict == loop.VerdictDeny || a.verdict == loop.VerdictAsk:
		j.add(a)
	case a.verdict == loop.VerdictAllow && !j.uncertain:
		exact := func(r rule) bool { return r.line != "" && r.line == text }
		if e := j.ruleAnswer("shell", exact); e.verdict != loop.VerdictAllow {
			return // a bare `shell` covers commands that can be read, one by one
		}
		for i, one := range j.answers {
			if one.verdict == loop.VerdictAsk && !one.must {
				j.answers[i] = a
			}
		}
	}
}

// unsure says that something cannot be read for certain.
func (l *line) unsure(must bool, because string) {
	l.uncertain = true
	l.say(loop.LayerBuiltin, loop.VerdictAsk, must, "shell", because)
}

// unreadable names what makes a line look like what it is not, "" if nothing.
func unreadable(text string) string {
	for _, c := range text {
		switch {
		case c == '\n' || c == '\t':
		case unicode.IsControl(c):
			return fmt.Sprintf("the line has a control character (%U)", c)
		case unicode.Is(unicode.Cf, c), unicode.IsSpace(c) && c != ' ', c == unicode.ReplacementChar:
			return fmt.Sprintf("the line has an invisible character (%U)", c)
		}
	}
	if sh, err := sandbox.Shell(); err == nil && !strings.Contains(filepath.Base(sh), "bash") {
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), ""); err != nil {
			return "the line means something else to this machine's shell"
		}
	}
	return ""
}

// deniesCommands tells whether some command is denied, so that what cannot be
// read might be it.
func (j *judging) deniesCommands() bool {
	return slices.ContainsFunc(j.rules, func(r rule) bool { return r.verdict == loop.VerdictDeny && r.tool == "shell" })
}

// deniesPaths tells whether some file is denied.
func (j *judging) deniesPaths() bool {
	return slices.ContainsFunc(j.rules, func(r rule) bool { return r.verdict == loop.VerdictDeny && r.glob != "" })
}

// command judges one simple command. starts says that it starts the next one.
func (l *line) command(c, next shell.Command, starts bool) {
	for _, rd := range c.Redirects {
		l.redirect(rd)
	}
	if !c.Name.Known {
		l.unsure(l.deniesCommands(), "a command that only a running shell can tell")
		return
	}
	for _, a := range c.Assigns {
		l.assignment(a)
	}
	if c.Name.Text == "" {
		return
	}
	denied, possible := l.strictRules(c)
	if denied.verdict != loop.VerdictNone {
		l.add(denied)
	}
	base := c.Base()
	if why, ok := meaningChangers[base]; ok {
		if slices.Contains(fileBuiltins, base) {
			l.paths(c, next, starts)
		}
		if args := knownArgs(c); (base == "source" || base == ".") && len(args) > 0 {
			l.path("read_file", args[0], false, false)
		}
		l.unsure(l.deniesCommands(), base+" "+why)
		return
	}
	if slices.Contains(runLater, base) {
		l.mustAsk("shell", base+" runs something later")
	}
	l.paths(c, next, starts)
	if starts {
		l.leads(c)
	}
	if base == "cd" || base == "pushd" {
		l.cd(c)
	}
	if possible {
		l.unsure(true, shown(c)+": a word that is not known could make it a denied command")
		return
	}
	if neutral(c, starts) && len(c.Assigns) == 0 && (bash(base) || l.find(base, l.dirs) == "") {
		return
	}
	l.allow(c)
}

// strictRules finds the worst deny or ask rule for a command, and tells
// whether a deny rule could match if a word were known.
func (l *line) strictRules(c shell.Command) (worst answer, possible bool) {
	settled := l.grantFor(c)
	for _, r := range l.rules {
		if r.tool != "shell" || r.verdict == loop.VerdictAllow || len(r.words) == 0 {
			continue
		}
		switch strict(r.words, c) {
		case yes:
			a := answer{verdict: r.verdict, source: r.source(), because: shown(c) + ": rule " + r.source(), layer: loop.LayerRule}
			if r.verdict == loop.VerdictAsk {
				a.must = r.layer == "organisation"
				if !a.must && settled {
					continue
				}
			}
			if a.rank() > worst.rank() {
				worst = a
			}
		case maybe:
			possible = possible || r.verdict == loop.VerdictDeny
		}
	}
	return worst, possible && worst.verdict != loop.VerdictDeny
}

// grantFor tells whether a person granted exactly this command.
func (l *line) grantFor(c shell.Command) bool {
	return slices.ContainsFunc(l.grants, func(g rule) bool { return l.allows(g, c) })
}

// allows tells whether an allow rule's words are about a command: by bare
// name, all words known, and every dangerous argument named.
func (l *line) allows(r rule, c shell.Command) bool {
	if r.tool != "shell" || r.verdict != loop.VerdictAllow || r.line != "" {
		return false
	}
	pattern := r.words
	if r.bare {
		pattern = []string{"*"}
	}
	words, ok := knownWords(c)
	if !ok || !wordsMatch(pattern, words) {
		return false
	}
	for _, d := range dangers(c.Base(), words[1:]) {
		if !slices.Contains(pattern, d) {
			return false
		}
	}
	return true
}

func knownWords(c shell.Command) ([]string, bool) {
	var out []string
	for _, w := range c.Words() {
		if !w.Known {
			return nil, false
		}
		out = append(out, w.Text)
	}
	return out, len(out) > 0
}

// knownArgs are the arguments that are known.
func knownArgs(c shell.Command) []string {
	var out []string
	for _, a := range c.Args {
		if a.Known {
			out = append(out, a.Text)
		}
	}
	return out
}

var bareName = lazyexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// allow looks for a rule that allows a command; without one it asks.
func (l *line) allow(c shell.Command) {
	var problem string
	words, known := knownWords(c)
	harm := dangers(c.Base(), knownArgs(c))
	switch {
	case !known:
		l.uncertain = true
		problem = "it has a word that only a running shell can tell"
	case !bareName.MatchString(words[0]) && words[0] != "[" && words[0] != ":":
		problem = "it is not a bare command name"
	case len(c.Assigns) > 0:
		problem = "a variable is set for it"
	case !bash(words[0]):
		problem = l.find(words[0], l.dirs)
	}
	matched := rule{}
	for _, r := range slices.Concat(l.grants, l.rules) {
		if l.allows(r, c) && !l.only(r) {
			matched = r
			break
		}
	}
	switch {
	case problem == "" && matched.text != "":
		l.say(loop.LayerRule, loop.VerdictAllow, false, matched.source(), shown(c)+": rule "+matched.source())
	case len(harm) > 0:
		// What it executes could be what is denied.
		l.say(loop.LayerRule, loop.VerdictAsk, l.deniesCommands() && executes(c.Base(), harm), "shell", fmt.Sprintf("%s: %s can execute or write something else", shown(c), harm[0]))
	case problem != "":
		l.say(loop.LayerRule, loop.VerdictAsk, false, "shell", shown(c)+": "+problem)
	default:
		a := l.byDefault(loop.Execute)
		for _, r := range l.rules {
			if l.only(r) && l.allows(r, c) && a.verdict != loop.VerdictDeny {
				a = answer{verdict: loop.VerdictAsk, layer: loop.LayerRule, source: r.source(), because: "rule " + r.source() + ": a workspace cannot allow, only the user can"}
			}
		}
		a.because = shown(c) + ": " + a.because
		l.add(a)
	}
}

// find says why PATH does not give a command from outside the workspace, ""
// if it does. Whatever comes first in PATH counts, as it does for the shell.
func (r *Rules) find(name string, dirs []string) string {
	if strings.ContainsAny(name, `/\`) {
		return "it is not a bare command name"
	}
	for _, dir := range r.search {
		if !filepath.IsAbs(dir) {
			for _, d := range dirs {
				if executable(filepath.Join(d, dir, name)) {
					return "PATH finds it in the workspace"
				}
			}
			continue
		}
		p := filepath.Join(dir, name)
		if !executable(p) {
			continue
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil || realpath.Within(r.root, p) || realpath.Within(r.root, real) {
			return "PATH finds it in the workspace"
		}
		return ""
	}
	return "PATH does not find it"
}

// executable tells whether a file can be run.
func executable(path string) bool {
	for _, ext := range executableEnds {
		info, err := os.Stat(path + ext)
		if err == nil && info.Mode().IsRegular() && (len(executableEnds) > 1 || info.Mode().Perm()&0o111 != 0) {
			return true
		}
	}
	return false
}

// shown is a command for people, in short.
func shown(c shell.Command) string {
	var parts []string
	for _, w := range c.Words() {
		t := "?"
		if w.Known {
			t = w.Text
		}
		parts = append(parts, t)
	}
	s := strings.Join(parts, " ")
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return s
}

// meaningChangers are builtins after which names or words no longer mean what
// they say, or that run text which is not a command here.
var meaningChangers = map[string]string{
	"eval": "runs text", "source": "runs a file in this shell", ".": "runs a file in this shell",
	"alias": "changes what names mean", "unalias": "changes what names mean", "hash": "changes what names mean", "enable": "changes what names mean",
	"export": "sets variables", "declare": "sets variables", "typeset": "sets variables", "local": "sets variables", "readonly": "sets variables", "nameref": "sets variables",
	"set": "changes the shell", "shopt": "changes the shell", "unset": "changes variables", "read": "sets variables", "mapfile": "sets variables and runs text", "readarray": "sets variables and runs text",
	"getopts": "sets variables", "let": "sets variables", "bind": "runs text", "complete": "runs text", "compgen": "runs text", "trap": "runs text later", "fc": "runs text", "history": "changes the shell", "exec": "replaces the shell", "coproc": "starts something beside", "builtin": "runs builtins",
}

// fileBuiltins are those of them that read or write a file that they name.
var fileBuiltins = []string{"source", ".", "exec", "enable", "bind", "history"}

// runLater are commands that start something which outlives the line.
var runLater = []string{"at", "batch", "crontab", "systemctl", "systemd-run", "launchctl", "schtasks"}

// bashBuiltins are those that mean what they say.
var bashBuiltins = []string{"echo", "printf", "pwd", "true", "false", ":", "test", "[", "cd", "kill", "wait", "type", "exit", "return", "break", "continue", "shift", "times", "umask", "jobs", "command", "time", "ulimit"}

func bash(name string) bool { return slices.Contains(bashBuiltins, name) }

// neutral commands do nothing by themselves: they need no rule, and what they
// start or redirect is judged by itself.
func neutral(c shell.Command, starts bool) bool {
	words, ok := knownWords(c)
	if !ok {
		return false
	}
	switch words[0] {
	case "cd", "true", "false", ":", "pwd", "echo", "exit", "return", "break", "continue":
		return true
	case "test", "[":
		return !evaluates(words[1:])
	case "wait": // -p sets a variable
		return !slices.ContainsFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") && strings.Contains(w, "p") })
	case "printf":
		return len(words) > 1 && !strings.HasPrefix(words[1], "-")
	case "command":
		return starts || len(words) > 1 && (words[1] == "-v" || words[1] == "-V")
	case "timeout", "nice", "nohup", "time":
		return starts && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-o") || strings.HasPrefix(w, "--o") })
	}
	return false
}

// evaluates tells whether test may read one of its words once more, as the
// name of a variable or as arithmetic.
func evaluates(words []string) bool {
	number := func(i int) bool {
		return i >= 0 && i < len(words) && words[i] != "" && strings.Trim(strings.TrimPrefix(words[i], "-"), "0123456789") == ""
	}
	for i, w := range words {
		switch w {
		case "-v", "-R":
			return true
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			if !number(i-1) || !number(i+1) {
				return true
			}
		}
	}
	return false
}

// assignment judges a variable that is set.
func (l *line) assignment(a shell.Assign) {
	if a.Name == "" || slices.Contains(steering, a.Name) || hasPrefix(a.Name, "LD_", "DYLD_", "GIT_", "BASH_", "npm_config_", "NPM_CONFIG_", "PYTHON", "PERL", "RUBY", "NODE_", "GO") {
		l.unsure(l.deniesCommands(), a.Name+" is set, which changes what commands do")
		return
	}
	l.say(loop.LayerRule, loop.VerdictAsk, false, "shell", a.Name+" is set")
}

// steering are variables that decide what runs.
var steering = []string{"PATH", "IFS", "ENV", "SHELL", "HOME", "CDPATH", "PAGER", "EDITOR", "VISUAL", "BROWSER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "MAKEFLAGS", "CC", "CXX", "RUSTC", "RUSTC_WRAPPER", "CARGO_HOME", "TERMINFO", "LOCPATH", "GCONV_PATH", "JAVA_TOOL_OPTIONS", "CLASSPATH", "TMPDIR"}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// cd adds a folder in which later paths may lie.
func (l *line) cd(c shell.Command) {
	target := ""
	for _, a := range c.Args {
		switch {
		case !a.Known:
			l.lost = true
		case strings.HasPrefix(a.Text, "-") && a.Text != "-":
		default:
			target = a.Text
		}
	}
	if target == "" || target == "-" || l.lost || len(l.dirs) >= maxFolders {
		l.lost = true
		l.unsure(l.deniesPaths(), "it changes to a folder that is not known")
		return
	}
	up := slices.Contains(strings.Split(filepath.ToSlash(target), "/"), "..")
	if up && l.link {
		l.lost = true
		l.unsure(l.deniesPaths(), "it changes to what is above a link")
	}
	for _, d := range slices.Clone(l.dirs) {
		dir, ok := resolve(d, target)
		if !ok {
			l.lost = true
			continue
		}
		l.enter(dir)
		// A shell takes ".." away from the name, whatever links are in it.
		named := target
		if !filepath.IsAbs(named) {
			named = filepath.Join(d, named)
		}
		named = filepath.Clean(named)
		if named == dir {
			continue
		}
		l.link = true
		if real, ok := resolve(d, named); up && (!ok || real != dir) {
			l.lost = true
			l.unsure(l.deniesPaths(), target+" is not the same for the shell as for the commands: a link is in it")
			if ok {
				l.enter(real)
			}
		}
	}
}

// enter adds a folder in which later paths may lie.
func (l *line) enter(dir string) {
	switch {
	case !realpath.Within(l.root, dir):
		l.mustAsk("workspace", "it changes to "+dir+", outside the workspace")
	case !slices.Contains(l.dirs, dir):
		l.dirs = append(l.dirs, dir)
	}
}
