// Package shell says which simple commands a shell line runs. It owns the
// reading of a line: parsing with bounds, quote removal, and the commands that
// other commands start (env, sudo, xargs, find -exec, sh -c, …). Start at
// Commands. It judges nothing: guards and the shell policy do that.
package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxLine is the longest line that is read, in bytes. A longer one counts
	// as one that cannot be known.
	MaxLine = 64 << 10
	// MaxStructure bounds what the parser can recurse on: brackets, operators
	// and keywords in one line. The parser's stack grows with each of them.
	MaxStructure = 4000
	// MaxDepth is how many commands may start each other (sudo env sh -c …).
	MaxDepth = 16
	// MaxCommands is how many commands one line may have.
	MaxCommands = 2000

	maxWords = 256 // words that one word may become by brace expansion
)

// Word is a word of a command after quote removal. An unquoted word that is
// not known may stand for any number of words, none included.
type Word struct {
	Text  string
	Known bool // false: it depends on what only a running shell can say
}

// Redirect is one redirection of a command.
type Redirect struct {
	FD     int    // the redirected descriptor; -1 where the shell picks one
	Op     string // ">", ">>", "<", "<<", ">&", "&>", …
	Target Word   // a path, a descriptor number, or the text of a here-document
}

// Assign is a variable set for a command, or for the shell when the command
// has no name.
type Assign struct {
	Name   string
	Value  Word
	Append bool
}

// Command is one simple command.
type Command struct {
	// Name is the command's name as written, quotes removed: "rm", "/bin/rm".
	// Known with an empty text: only assignments or redirects.
	Name      Word
	Args      []Word
	Redirects []Redirect
	Assigns   []Assign
	// Through names the commands that start this one, outermost first:
	// sudo, env.
	Through []string
}

// Base is the name without its folder, "" when the name is not known.
func (c Command) Base() string {
	if !c.Name.Known {
		return ""
	}
	return baseName(c.Name.Text)
}

// Words is the command's name and arguments.
func (c Command) Words() []Word {
	if c.Name.Known && c.Name.Text == "" && len(c.Args) == 0 {
		return nil
	}
	return append([]Word{c.Name}, c.Args...)
}

func baseName(name string) string {
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Commands lists the simple commands of a line in the order in which they are
// written, each followed by the commands that it starts and then by those in
// its substitutions. A line that does not parse, or is too large to be read,
// gives one command of which nothing is known. It never fails and is safe on
// any input.
func Commands(line string) (cs []Command) {
	// A mistake in the parser must not end the server, nor let a line pass.
	defer func() {
		if recover() != nil {
			cs = []Command{unknown}
		}
	}()
	r := reader{}
	r.script(line, scope{})
	return r.out
}

var unknown = Command{}

// oversized tells whether parsing a line could recurse without bound.
// Everything that nests or chains in the grammar needs one of these marks;
// closers are not subtracted, since quoted ones would lie.
func oversized(line string) bool {
	if len(line) > MaxLine {
		return true
	}
	n := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '(', '{', '[', '`', '!', '|', '&':
			n++
		}
	}
	for _, k := range []string{"if", "while", "until", "for", "case", "select", "time", "coproc", "function"} {
		n += strings.Count(line, k)
	}
	if arithmetic(line) {
		for i := 0; i < len(line); i++ {
			switch line[i] {
			case '-', '+', '~', '?', ':', '=', '*', '<', '>', ',', '/', '%', '^':
				n++
			}
		}
	}
	return n > MaxStructure
}

// arithmetic tells whether a line may hold an arithmetic expression, where
// every operator is one more level.
func arithmetic(line string) bool {
	for _, mark := range []string{"((", "[", "${", "let"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}

func parse(line string) (*syntax.File, bool) {
	if oversized(line) || strings.IndexByte(line, 0) >= 0 {
		return nil, false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	return f, err == nil
}
