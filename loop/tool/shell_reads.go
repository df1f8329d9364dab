package tool

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agent-ls/hooks/shell"
	"agent-ls/loop/realpath"
)

// track counts files that a command showed as read. Only what is certain
// counts: a plain reader that surely ran, with nothing between it and the
// output.
func (t *shellTool) track(ctx context.Context, line string) {
	for _, name := range shownFiles(line, ".", 0) {
		path, err := t.resolve(name)
		if err != nil || !realpath.Within(t.Root, path) || t.size(path, maxReadFile) != nil || t.Hide(path) {
			continue
		}
		if text, found, err := t.read(ctx, path); err == nil && found && !text.Unsaved {
			t.Tracker.Saw(path, text.Bytes)
		}
	}
}

// maxScripts is how deep scripts within scripts are looked at.
const maxScripts = 4

// shownFiles are the files whose text a script that ended well has printed,
// relative to the folder that it started in.
func shownFiles(line, dir string, depth int) []string {
	if depth > maxScripts || len(line) > shell.MaxLine || len(shell.Commands(line)) == 0 {
		return nil
	}
	if cs := shell.Commands(line); len(cs) == 1 && !cs[0].Name.Known {
		return nil // it cannot be read, or it is too large to be
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	s := &showing{line: line, dir: dir, depth: depth}
	s.statements(f.Stmts)
	return s.files
}

// showing walks the statements of a script that surely run.
type showing struct {
	line  string
	dir   string // "" once it cannot be known
	depth int
	files []string
}

func (s *showing) statements(list []*syntax.Stmt) {
	for _, st := range list {
		s.statement(st)
	}
}

func (s *showing) statement(st *syntax.Stmt) {
	if st.Background || st.Coprocess || st.Negated || slices.ContainsFunc(st.Redirs, hides) {
		return
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.command(s.text(st))
	case *syntax.Block:
		s.statements(c.Stmts)
	case *syntax.Subshell:
		dir := s.dir
		s.statements(c.Stmts)
		s.dir = dir
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt:
			s.statement(c.X)
			s.statement(c.Y)
		case syntax.OrStmt:
			s.statement(c.X) // the other one may not have run
		case syntax.Pipe, syntax.PipeAll:
			// Both sides run in shells of their own, and only the last one's
			// output is seen.
			dir := s.dir
			s.statement(c.Y)
			s.dir = dir
		}
	}
	// What depends on a condition may not have run.
}

// hides says whether a redirect takes a command's output away.
func hides(r *syntax.Redirect) bool {
	switch r.Op {
	case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn:
		return false
	}
	return r.N == nil || r.N.Value == "1"
}

func (s *showing) text(n syntax.Node) string {
	return s.line[n.Pos().Offset():n.End().Offset()]
}

func (s *showing) command(text string) {
	cs := shell.Commands(text)
	if len(cs) == 0 {
		return
	}
	c := cs[0]
	args, known := plainWords(c.Args)
	if len(c.Through) > 0 || !c.Name.Known {
		return
	}
	switch base := c.Base(); {
	case base == "cd":
		s.dir = moved(s.dir, args, known)
	case base == "pushd" || base == "popd" || base == "exec" || base == "exit" || base == "eval" || base == "source" || base == ".":
		s.dir = "" // whatever it does, what comes behind it is not certain
	case (base == "bash" || base == "sh") && known && len(args) == 2 && args[0] == "-c" && s.dir != "":
		s.files = append(s.files, shownFiles(args[1], s.dir, s.depth+1)...)
	case known && len(cs) == 1 && s.dir != "":
		for _, name := range shownBy(base, args) {
			if !filepath.IsAbs(name) {
				name = s.dir + string(filepath.Separator) + name
			}
			s.files = append(s.files, name)
		}
	}
}

// moved is the folder behind a cd, "" when it is not known.
func moved(dir string, args []string, known bool) string {
	if !known || len(args) != 1 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "~") || dir == "" {
		return ""
	}
	to := filepath.FromSlash(args[0])
	if filepath.IsAbs(to) {
		return to
	}
	return dir + string(filepath.Separator) + to
}

func plainWords(words []shell.Word) (texts []string, known bool) {
	for _, w := range words {
		if !w.Known {
			return nil, false
		}
		texts = append(texts, w.Text)
	}
	return texts, true
}

// shownBy are the files whose text a command prints.
func shownBy(base string, args []string) []string {
	switch base {
	case "cat", "head", "tail", "nl":
	case "sed":
		return shownBySed(args)
	default:
		return nil
	}
	var out []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case (a == "-n" || a == "-c") && base != "cat" && base != "nl":
			i++
		case a == "--":
			return append(out, args[i+1:]...)
		case !strings.HasPrefix(a, "-"):
			out = append(out, filepath.FromSlash(a))
		}
	}
	return out
}

// shownBySed are the files of `sed -n SCRIPT FILE…` with a script that only
// prints lines.
func shownBySed(args []string) []string {
	if len(args) < 3 || args[0] != "-n" || strings.HasPrefix(args[1], "-") {
		return nil
	}
	if strings.Trim(args[1], "0123456789,$p; ") != "" || !strings.Contains(args[1], "p") {
		return nil
	}
	var out []string
	for _, a := range args[2:] {
		if strings.HasPrefix(a, "-") {
			return nil // such as -i
		}
		out = append(out, filepath.FromSlash(a))
	}
	return out
}
