package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/loop/realpath"
)

// script is a hook script as it was read, with what it defines.
type script struct {
	path string
	text []byte
}

// locate turns a path of a settings file into an absolute one that stays in
// the folder after symlinks. It reports what is wrong.
func (l *loader) locate(one *layer, n *node, folder, what string) (string, bool) {
	if n.text == "" {
		l.out.add(one.finding(n.span, CodeMissingFile, check.Error, fmt.Sprintf("the %s has no path", what)))
		return "", false
	}
	path := absolute(folder, n.text)
	if one.confined() && leaves(folder, path) {
		l.out.add(one.finding(n.span, CodeNotAllowedHere, check.Error, fmt.Sprintf("the %s %s leaves the folder %s", what, n.text, folder)))
		return "", false
	}
	return path, true
}

// absolute reads a path with slashes as one below a folder.
func absolute(folder, path string) string {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	return filepath.Clean(path)
}

// confined layers name files of their own folder only.
func (l *layer) confined() bool { return l.restricted() || l.kind == defaultLayer }

// leaves says whether a path is outside a folder, before or after symlinks.
func leaves(folder, path string) bool {
	return !realpath.Within(folder, path) || !realpath.Within(realpath.Resolve(folder), realpath.Resolve(path))
}

// scriptPath is where a script's setting points, "" if it may not.
func (l *loader) scriptPath(one *layer, n *node) string {
	path := absolute(one.base, n.text)
	if n.text == "" || one.confined() && leaves(one.base, path) {
		return ""
	}
	return path
}

// textFile reads a file that a setting names, from the layer's folder.
func (l *loader) textFile(one *layer, n *node, what string) (string, []byte, bool) {
	return l.fileIn(one, n, one.base, what)
}

func (l *loader) fileIn(one *layer, n *node, folder, what string) (string, []byte, bool) {
	path, ok := l.locate(one, n, folder, what)
	if !ok {
		return "", nil, false
	}
	l.watch(path)
	text, err := l.text(path)
	if err != nil {
		why := reason(err)
		if errors.Is(err, fs.ErrNotExist) {
			why = "no such file"
		}
		l.out.add(one.finding(n.span, CodeMissingFile, check.Error, fmt.Sprintf("cannot read the %s %s: %s", what, n.text, why)))
		return path, nil, false
	}
	return path, text, true
}

// text reads a file once in a load.
func (l *loader) text(path string) ([]byte, error) {
	if have, ok := l.texts[path]; ok {
		return have.text, have.err
	}
	text, err := l.sources.read(path)
	l.texts[path] = readText{text, err}
	return text, err
}

// script reads a hook script and looks for the function that it must define.
func (l *loader) script(one *layer, n *node, function string) (script, bool) {
	path, text, ok := l.textFile(one, n, "script")
	if !ok {
		return script{}, false
	}
	s := script{path: path, text: text}
	if functionOffset(text, function) < 0 {
		f := one.finding(n.span, CodeMissingFunction, check.Error, fmt.Sprintf("%s does not define the function %s", n.text, function))
		f.Related = []check.Related{{Path: path, Message: "the script"}}
		l.out.add(f)
		return s, false
	}
	return s, true
}

// functionOffset returns the offset of a top-level function's name in a Risor
// script, -1 if there is none. It reads past comments and strings and does
// not care whether the rest parses: a script that is being edited keeps its
// functions.
func functionOffset(text []byte, name string) int {
	at := -1
	functions(text, func(found string, offset int) bool {
		if found == name {
			at = offset
		}
		return at < 0
	})
	return at
}

// functions calls yield with each top-level function until it returns false.
func functions(text []byte, yield func(name string, offset int) bool) {
	depth := 0
	word := "" // the word before, if only blanks are between
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '#', c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' && text[i] != '\r' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := strings.Index(string(text[i+2:]), "*/")
			if end < 0 {
				return
			}
			i += end + 4
		case c == '"' || c == '\'' || c == '`':
			i = literalEnd(text, i)
			word = ""
		case isWord(c):
			start := i
			for i < len(text) && isWord(text[i]) {
				i++
			}
			next := string(text[start:i])
			if word == "func" && depth == 0 && !yield(next, start) {
				return
			}
			word = next
		default:
			if c == '{' || c == '(' || c == '[' {
				depth++
			} else if (c == '}' || c == ')' || c == ']') && depth > 0 {
				depth--
			}
			if c != ' ' && c != '\t' {
				word = ""
			}
			i++
		}
	}
}

// literalEnd returns the end of a string literal; a quoted one ends with its line.
func literalEnd(text []byte, at int) int {
	quote := text[at]
	for at++; at < len(text); at++ {
		switch {
		case text[at] == '\\' && quote != '`':
			at++
		case text[at] == quote:
			return at + 1
		case text[at] == '\n' && quote != '`':
			return at
		}
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
