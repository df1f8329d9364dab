// Package policy owns the rules: which calls are allowed, which ask, which are
// denied, and what can never be more than asked. Start at New and Rules.Judge.
// Shell lines are judged command by command (shell_policy.go); nothing that
// cannot be read for certain is allowed.
package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agent-ls/hooks/check"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/tool/toolname"
)

// Options are what the rules need to know about the machine.
type Options struct {
	Home     string // the user's, for ~ in rules
	StateDir string // our own state: never read or written by a tool
	// Own are our own settings, files and folders: a write to them is always
	// asked, also where they lie in the workspace.
	Own   []string
	Path  string // PATH, "" = the process's own
	Taint manifest.Taint
}

// Rules are the rules of one run. They never change once made.
type Rules struct {
	root     string
	home     string
	state    string
	own      []string
	search   []string
	fallback string // what the default is: "ask", "allow", "deny"
	rules    []rule
	taint    taint
}

// rule is one rule, read.
type rule struct {
	verdict loop.Verdict
	text    string
	layer   string
	where   string // "file:line", "" when it is in no file
	tool    string // canonical, or a pattern of mcp__ names
	bare    bool   // covers every call of the tool
	glob    string // file tools: relative to the root, or absolute
	words   []string
	line    string // shell: this very line, when it is not ""
	granted bool   // a person's answer: it also settles what ask rules say
	broken  bool   // stands for an ask or deny rule that could not be read
}

// source names a rule for people.
func (r rule) source() string {
	switch {
	case r.granted:
		return "granted: " + r.text
	case r.layer == layerTaint:
		return r.text
	}
	s := string(r.verdict) + " " + r.text
	if r.where != "" {
		s += " (" + r.where + ")"
	}
	return s
}

// pathTools take a path pattern in their rules.
var pathTools = []string{"read_file", "write_file", "edit", "multi_edit", "glob", "grep", "list_files"}

// New reads the rules. A rule that cannot be read is a finding: a broken allow
// has no effect, a broken ask or deny asks for every call of every tool that
// could have been meant, so that it is never an open gate.
func New(root string, p manifest.Policy, o Options) (*Rules, []check.Finding) {
	r := &Rules{root: resolveFolder(root), home: o.Home, fallback: p.Default}
	if o.StateDir != "" {
		r.state = resolveFolder(o.StateDir)
	}
	for _, own := range o.Own {
		r.own = append(r.own, resolveFolder(own))
	}
	path := o.Path
	if path == "" {
		path = os.Getenv("PATH")
	}
	r.search = filepath.SplitList(path)
	var findings []check.Finding
	if r.fallback == "" {
		r.fallback = "ask"
	}
	if !slices.Contains([]string{"ask", "allow", "deny"}, r.fallback) {
		findings = append(findings, check.Finding{Code: "wrong-type", Severity: check.Error, Message: fmt.Sprintf("policy default %q is not ask, allow or deny", r.fallback)})
		r.fallback = "ask"
	}
	for _, m := range p.Rules {
		one, err := parseRule(m.Text)
		one.verdict, one.layer = loop.Verdict(m.Verdict), m.Origin.Layer
		if m.Origin.Path != "" {
			one.where = fmt.Sprintf("%s:%d", m.Origin.Path, m.Origin.Line)
		}
		if err == nil && !slices.Contains([]string{"allow", "ask", "deny"}, m.Verdict) {
			err = &ruleError{code: "wrong-type", text: fmt.Sprintf("%q is no verdict", m.Verdict)}
		}
		if err == nil && one.verdict == loop.VerdictAllow && len(one.words) > 0 && strings.Contains(one.words[0], "/") {
			findings = append(findings, finding(m, "wrong-type", check.Warning, fmt.Sprintf("allow rule %q names a path; only a bare command name that PATH finds can be allowed", m.Text)))
		}
		if err == nil {
			r.rules = append(r.rules, one)
			continue
		}
		code := check.Code("wrong-type")
		if re, ok := err.(*ruleError); ok {
			code = re.code
		}
		findings = append(findings, finding(m, code, check.Error, fmt.Sprintf("policy rule %q: %s", m.Text, err)))
		if one.verdict != loop.VerdictAllow {
			r.rules = append(r.rules, rule{verdict: loop.VerdictAsk, text: m.Text + " (broken)", layer: m.Origin.Layer, where: one.where, tool: "*", bare: true, broken: true})
		}
	}
	return r, append(findings, r.takeTaint(o.Taint)...)
}

func finding(m manifest.Rule, code check.Code, severity check.Severity, message string) check.Finding {
	return check.Finding{Path: m.Origin.Path, Code: code, Severity: severity, Message: message}
}

func resolveFolder(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return filepath.Clean(path)
}

// ruleError is a rule that cannot be read.
type ruleError struct {
	code check.Code
	text string
}

func (e *ruleError) Error() string { return e.text }

// CheckRule tells what is wrong with a rule's text, nil when nothing is. The
// code is that of the finding.
func CheckRule(text string) (check.Code, error) {
	_, err := parseRule(text)
	if re, ok := err.(*ruleError); ok {
		return re.code, err
	}
	return "", err
}

// parseRule reads `tool` or `tool(pattern)`.
func parseRule(text string) (rule, error) {
	r := rule{text: text}
	name, pattern, has := strings.Cut(strings.TrimSpace(text), "(")
	r.tool = toolname.Canonical(strings.TrimSpace(name))
	if !toolname.Known(r.tool) {
		if n := toolname.Nearest(r.tool); n != "" {
			return r, &ruleError{"unknown-tool", fmt.Sprintf("there is no tool %q; did you mean %q?", name, n)}
		}
		return r, &ruleError{"unknown-tool", fmt.Sprintf("there is no tool %q", name)}
	}
	if strings.HasPrefix(r.tool, "mcp__") && !doublestar.ValidatePattern(r.tool) {
		return r, &ruleError{"wrong-type", "the name is not a valid pattern"}
	}
	if !has {
		r.bare = true
		return r, nil
	}
	pattern, ok := strings.CutSuffix(pattern, ")")
	if !ok {
		return r, &ruleError{"wrong-type", "the closing parenthesis is missing"}
	}
	pattern = strings.TrimSpace(pattern)
	switch {
	case pattern == "":
		return r, &ruleError{"wrong-type", "the pattern is empty; leave the parentheses out to cover every call"}
	case r.tool == "shell" && pattern[0] == '=':
		r.line = strings.TrimSpace(pattern[1:])
		if r.line == "" {
			return r, &ruleError{"wrong-type", "the line after = is empty"}
		}
		return r, nil
	case r.tool == "shell":
		words, err := patternWords(pattern)
		r.words = words
		return r, err
	case slices.Contains(pathTools, r.tool):
		r.glob = filepath.ToSlash(pattern)
		if !doublestar.ValidatePattern(r.glob) {
			return r, &ruleError{"wrong-type", "the pattern is not a valid glob"}
		}
		return r, nil
	}
	return r, &ruleError{"wrong-type", fmt.Sprintf("rules for %s take no pattern", r.tool)}
}

// patternWords splits a shell pattern at spaces. It holds words and stars,
// no shell syntax: what looks like it would promise more than is kept.
func patternWords(pattern string) ([]string, error) {
	if i := strings.IndexAny(pattern, "|&;<>`$()'\"\\\n"); i >= 0 {
		return nil, &ruleError{"wrong-type", fmt.Sprintf("%q has no meaning in a command pattern; write =LINE for one exact line", pattern[i:i+1])}
	}
	words := strings.Fields(pattern)
	for i, w := range words {
		if n, ok := strings.CutSuffix(w, ":*"); ok && i == len(words)-1 && i == 0 {
			return []string{n, "*"}, nil // as another system writes it
		}
	}
	return words, nil
}

// covers tells whether the rule is about a tool, by name only.
func (r rule) covers(tool string) bool {
	if r.tool == tool || r.tool == "*" {
		return true
	}
	if strings.HasPrefix(r.tool, "mcp__") && strings.HasPrefix(tool, "mcp__") {
		ok, _ := doublestar.Match(r.tool, tool)
		return ok || strings.Count(r.tool, "__") == 1 && strings.HasPrefix(tool, r.tool+"__")
	}
	return false
}
