// Package skill owns skills: folders with a SKILL.md that says in its head
// what it is for and in its body how to do it. Start at Discover. A skill file
// that is wrong is a finding and disables itself only.
package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"agent-ls/hooks/check"
	"agent-ls/hooks/lazyexp"
	"agent-ls/hooks/textfile"
	"agent-ls/loop/realpath"
)

// The bounds of what is read.
const (
	MaxFile        = 256 << 10 // bytes of one SKILL.md
	maxSkills      = 200
	maxDescription = 1024     // characters
	maxHead        = 16 << 10 // bytes of the YAML of one SKILL.md
	maxNesting     = 64
)

// Skill is one skill, without its body.
type Skill struct {
	Name        string
	Description string // when to use it
	Path        string // of its SKILL.md, absolute, symlinks resolved
	// AllowedTools are the only tools that may be called while the skill is in
	// use; nil when it does not say.
	AllowedTools []string
	Workspace    bool // it comes with the code that the agent works on
}

// Folder is where skills are looked for: each folder in it with a SKILL.md.
type Folder struct {
	Path      string
	Inside    string // what a symlink may not lead out of
	Workspace bool
}

// Discover finds the skills of some folders, by name. Of two with one name the
// first folder's counts.
func Discover(folders []Folder) ([]Skill, []check.Finding) {
	var out []Skill
	var found []check.Finding
	for _, folder := range folders {
		entries, err := os.ReadDir(folder.Path)
		if err != nil {
			continue // most have none
		}
		for _, e := range entries {
			path := filepath.Join(folder.Path, e.Name(), "SKILL.md")
			if _, err := os.Stat(path); err != nil {
				continue // no skill
			}
			if len(out) >= maxSkills {
				return sorted(out), append(found, finding(path, check.Span{}, check.Warning, fmt.Sprintf("there are more than %d skills; this one is left out", maxSkills)))
			}
			s, more, ok := read(folder, path)
			found = append(found, more...)
			if !ok {
				continue
			}
			if i := slices.IndexFunc(out, func(o Skill) bool { return o.Name == s.Name }); i >= 0 {
				found = append(found, finding(path, check.Span{}, check.Warning, fmt.Sprintf("the skill %q is defined already in %s; this one is left out", s.Name, out[i].Path)))
				continue
			}
			out = append(out, s)
		}
	}
	return sorted(out), found
}

func sorted(skills []Skill) []Skill {
	slices.SortFunc(skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return skills
}

func finding(path string, span check.Span, severity check.Severity, message string) check.Finding {
	return check.Finding{Path: path, Span: span, Code: check.CodeSkillFile, Severity: severity, Message: message}
}

func read(folder Folder, path string) (Skill, []check.Finding, bool) {
	bad := func(message string) (Skill, []check.Finding, bool) {
		return Skill{}, []check.Finding{finding(path, check.Span{}, check.Warning, message)}, false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return bad("the skill cannot be read: " + err.Error())
	}
	if within, err := filepath.EvalSymlinks(folder.Inside); err != nil || !realpath.Within(within, real) {
		return bad("the skill is a link out of " + folder.Inside + ": it is left out")
	}
	text, err := textfile.Read(real, MaxFile)
	if err != nil {
		return bad("the skill cannot be read: " + err.Error())
	}
	s, found, ok := Parse(path, text)
	s.Path, s.Workspace = real, folder.Workspace
	return s, found, ok
}

// Body reads what a skill says, below its head, and names the other files of
// its folder, relative to it.
func Body(s Skill) (body string, files []string, err error) {
	text, err := textfile.Read(s.Path, MaxFile)
	if err != nil {
		return "", nil, fmt.Errorf("read the skill %s: %w", s.Name, err)
	}
	_, at, _ := head(text)
	dir := filepath.Dir(s.Path)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || len(files) >= 100 {
			return filepath.SkipDir
		}
		if rel, err := filepath.Rel(dir, path); err == nil && d.Type().IsRegular() && path != s.Path {
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return strings.TrimSpace(string(text[at:])), files, nil
}

// head finds the YAML between the two lines of dashes: where it begins and
// where what follows it begins.
func head(text []byte) (from, after int, ok bool) {
	rest := bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	start := len(text) - len(rest)
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if string(bytes.TrimRight(line, " \r")) != "---" {
		return 0, start, false
	}
	from = start + len(line) + 1
	for at := from; at < len(text); {
		line, _, more := bytes.Cut(text[at:], []byte("\n"))
		next := at + len(line)
		if more {
			next++
		}
		if string(bytes.TrimRight(line, " \r")) == "---" {
			return from, next, true
		}
		at = next
	}
	return from, len(text), false
}

var goodName = lazyexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Parse reads the head of a SKILL.md. What is wrong comes with its place in
// the text; ok is false if the skill cannot be used.
func Parse(path string, text []byte) (s Skill, found []check.Finding, ok bool) {
	from, after, closed := head(text)
	if !closed {
		what := "the skill does not begin with a head: a line ---, name and description as YAML, a line ---"
		if from > 0 {
			what = "the head of the skill is not closed by a line ---"
		}
		return s, []check.Finding{finding(path, check.Span{End: min(len(text), 3)}, check.Warning, what)}, false
	}
	end := bytes.LastIndex(text[from:after], []byte("---")) + from
	add := func(n ast.Node, message string) {
		span := check.Span{Start: from, End: from}
		if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
			at := from + max(0, n.GetToken().Position.Offset-1)
			span = check.Span{Start: min(at, end), End: min(at+len(strings.TrimSpace(n.GetToken().Value)), end)}
		}
		found = append(found, finding(path, span, check.Warning, message))
	}
	if at, why := tooMuch(text[from:end]); why != "" {
		span := check.Span{Start: from + at, End: min(from+at+1, end)}
		return s, []check.Finding{finding(path, span, check.Warning, "the head of the skill "+why)}, false
	}
	file, err := parse(text[from:end])
	if err != nil {
		return s, []check.Finding{notYAML(path, err, from, end)}, false
	}
	var values map[string]ast.Node
	if len(file.Docs) == 1 {
		values = entries(file.Docs[0].Body)
	}
	if values == nil {
		add(nil, "the head of the skill is no list of keys and values")
		return s, found, false
	}
	s, ok = fill(path, values, add)
	return s, found, ok
}

// fill takes what a skill says of itself. What keeps it from being used is
// added, and ok is false then.
func fill(path string, values map[string]ast.Node, add func(ast.Node, string)) (s Skill, ok bool) {
	ok = true
	bad := func(n ast.Node, message string) {
		add(n, message)
		ok = false
	}
	s.Name = filepath.Base(filepath.Dir(path))
	if n := values["name"]; n != nil {
		s.Name = textOf(n)
	}
	if !goodName.MatchString(s.Name) || len(s.Name) > 64 {
		bad(values["name"], fmt.Sprintf("the name %q of the skill is not made of small letters, digits and single hyphens, 64 at most", s.Name))
	}
	s.Description = strings.Join(strings.Fields(textOf(values["description"])), " ")
	if s.Description == "" || len([]rune(s.Description)) > maxDescription {
		bad(values["description"], fmt.Sprintf("the skill has no description of 1 to %d characters that says when to use it", maxDescription))
	}
	if n := values["allowed-tools"]; n != nil {
		var err error
		if s.AllowedTools, err = toolsOf(n); err != nil {
			// Unread, it would allow everything.
			bad(n, "allowed-tools of the skill cannot be read: "+err.Error())
		}
	}
	return s, ok
}

// notYAML is the finding about a head, from one place to another, that is no
// YAML.
func notYAML(path string, err error, from, end int) check.Finding {
	message, span := err.Error(), check.Span{Start: from, End: end}
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		message = syntax.Message
		if t := syntax.Token; t != nil && t.Position != nil {
			at := min(from+max(0, t.Position.Offset-1), end)
			span = check.Span{Start: at, End: min(at+len(strings.TrimSpace(t.Value)), end)}
		}
	}
	return finding(path, span, check.Warning, "the head of the skill is no YAML: "+message)
}

// parse keeps what goes wrong inside the YAML library inside.
func parse(text []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	return parser.ParseBytes(text, 0)
}

// tooMuch says where and why a head is not given to the YAML library, which
// takes memory by the square of the nesting: brackets, and on one line the
// marks that open a value within a value. What stands in strings counts, too.
func tooMuch(text []byte) (at int, why string) {
	if len(text) > maxHead {
		return maxHead, fmt.Sprintf("has more than %d bytes", maxHead)
	}
	open, marks, apart := 0, 0, true
	for i, c := range text {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		case '\n':
			marks = 0
		case '-', '?', ':', '!', '&', '*', '|', '>':
			if apart {
				marks++
			}
		}
		if open+marks > maxNesting {
			return i, fmt.Sprintf("nests values more than %d deep", maxNesting)
		}
		apart = c == ' ' || c == '\t' || c == '\n'
	}
	return 0, ""
}

func entries(n ast.Node) map[string]ast.Node {
	out := map[string]ast.Node{}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			out[v.Key.GetToken().Value] = v.Value
		}
	case *ast.MappingValueNode:
		out[n.Key.GetToken().Value] = n.Value
	default:
		return nil
	}
	return out
}

func textOf(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case nil, *ast.NullNode:
		return ""
	case ast.ScalarNode:
		return n.GetToken().Value
	}
	return ""
}

// toolsOf reads a list of tools: a YAML list, or words with commas or spaces
// between them, where what stands in parentheses stays together.
func toolsOf(n ast.Node) ([]string, error) {
	out := []string{}
	if list, ok := n.(*ast.SequenceNode); ok {
		for _, v := range list.Values {
			text := strings.TrimSpace(textOf(v))
			if text == "" {
				return nil, errors.New("an entry is no text")
			}
			out = append(out, text)
		}
		return out, wellFormed(out)
	}
	depth, word := 0, strings.Builder{}
	flush := func() {
		if word.Len() > 0 {
			out = append(out, word.String())
			word.Reset()
		}
	}
	for _, c := range textOf(n) {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n'):
			flush()
			continue
		}
		word.WriteRune(c)
	}
	flush()
	if depth != 0 {
		return nil, errors.New("a parenthesis is not closed")
	}
	return out, wellFormed(out)
}

func wellFormed(tools []string) error {
	for _, t := range tools {
		name, rest, has := strings.Cut(t, "(")
		if name == "" || has && !strings.HasSuffix(rest, ")") || len(t) > 512 {
			return fmt.Errorf("%q is no tool", t)
		}
	}
	return nil
}
