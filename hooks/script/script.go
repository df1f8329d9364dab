// Package script compiles hook scripts and runs them. It is the only importer
// of Risor's compiler and machine, and it only ever runs in a worker process:
// a script can end the process that runs it. Start at Runtime. What a script
// has is listed in globals.go; how it tells where it is, in weave.go.
package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/risor-io/risor/ast"
	"github.com/risor-io/risor/compiler"
	"github.com/risor-io/risor/object"
	"github.com/risor-io/risor/parser"
	"github.com/risor-io/risor/token"

	"agent-ls/hooks/lazyexp"
	"agent-ls/hooks/worker/wire"
)

// Runtime holds the loaded scripts of one worker. It runs one firing at a
// time.
type Runtime struct {
	page     *wire.Page
	reporter *reporter
	shelter  *tryShelter
	known    map[string]any // globals by name
	programs map[uint32]*program
	arena    *arena

	// of the firing that runs
	at         time.Time
	printed    strings.Builder
	printLimit int64
	cut        bool

	ask func(wire.Ask) (told []byte, err error)
}

// program is a loaded script.
type program struct {
	main     *compiler.Code
	siblings map[string]*compiler.Code
	marks    []valueMark
	globals  map[string]any            // those that its files can mean: fewer cost less
	objects  map[string]object.Object  // the globals as the engine has them; it never changes the map
	modules  map[string]*object.Module // those among them
}

// New makes a runtime that says in page where it is.
func New(page *wire.Page) *Runtime {
	r := &Runtime{page: page, reporter: &reporter{page: page}, shelter: &tryShelter{}, programs: map[uint32]*program{}, arena: newArena()}
	r.known = r.globals()
	return r
}

// Answers sets what puts the questions of scripts to the host and waits: it
// gives what a script is told, encoded. An error is a reason why there is no
// answer, which the script is told. Without it no question has an answer.
func (r *Runtime) Answers(ask func(wire.Ask) (told []byte, err error)) { r.ask = ask }

// Load compiles a script and its siblings. Their texts must be within the
// bounds of hooks/syntax: they are checked again here, since the engine's
// parser can be made to end the process.
func (r *Runtime) Load(l wire.Load) (ready wire.Ready, bad *wire.Bad) {
	r.page.Begin(l.ID, 0)
	places := newPlaces()
	p := &program{siblings: map[string]*compiler.Code{}, globals: map[string]any{}}
	for _, name := range []string{reporterName, orderedName, shelterName, attemptName} {
		p.globals[name] = r.known[name]
	}
	for i, f := range l.Files {
		code, functions, bad := r.compile(i, f, places, p.globals)
		if bad != nil {
			return wire.Ready{}, bad
		}
		if i == 0 {
			p.main = code
			ready.Functions = functions
		} else {
			p.siblings[f.Name] = code
		}
	}
	if p.main == nil {
		return wire.Ready{}, &wire.Bad{Message: "no script was given"}
	}
	if err := p.ready(); err != nil {
		return wire.Ready{}, &wire.Bad{Message: err.Error()}
	}
	p.marks = make([]valueMark, len(places.kinds))
	for i, k := range places.kinds {
		p.marks[i] = valueMark{r: r.reporter, id: uint32(i), kind: k}
	}
	r.programs[l.ID] = p
	ready.Points, ready.Names = places.points, places.names
	return ready, nil
}

func (r *Runtime) compile(index int, f wire.File, places *places, globals map[string]any) (code *compiler.Code, functions []wire.Function, bad *wire.Bad) {
	defer func() {
		if thrown := recover(); thrown != nil {
			bad = &wire.Bad{Message: "the script engine cannot compile this: " + plainPanic(fmt.Sprint(thrown)), File: index}
		}
	}()
	if bad := accept(f); bad != nil {
		bad.File = index
		return nil, nil, bad
	}
	text := lines(f.Text)
	tree, err := parser.Parse(context.Background(), text, parser.WithFilename(f.Path))
	if err != nil {
		return nil, nil, located(err, index)
	}
	functions = topLevelFunctions(tree)
	own := declared(tree)
	woven, used, err := weave(tree, index, []rune(text), places)
	if err != nil {
		return nil, nil, located(err, index)
	}
	for name := range used {
		if o, ok := r.known[name]; ok && !own[name] {
			globals[name] = o
		}
	}
	names := slices.DeleteFunc(wire.SortedKeys(globals), func(name string) bool { return own[name] })
	code, err = compiler.Compile(woven, compiler.WithGlobalNames(names), compiler.WithFilename(f.Path))
	if err != nil {
		return nil, nil, located(err, index)
	}
	return code, functions, nil
}

// lines gives the text as the engine's lexer takes it: a byte order mark is
// skipped and a lone CR ends a line. Columns and lines stay what they are in
// the editor.
func lines(text []byte) string {
	s := strings.TrimPrefix(string(text), "\ufeff")
	if !strings.Contains(s, "\r") {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c == '\r' && (i+1 == len(b) || b[i+1] != '\n') {
			b[i] = '\n'
		}
	}
	return string(b)
}

var compilePlace = lazyexp.New(`(?s)^(.*?)\n*location: .*:(\d+):(\d+) \(line`)

// located finds where a script is wrong in what the parser, the weaver or the
// compiler says.
func located(err error, file int) *wire.Bad {
	at := func(p token.Position, msg string) *wire.Bad {
		return &wire.Bad{Message: msg, File: file, Line: p.LineNumber(), Col: p.ColumnNumber()}
	}
	var no *refusal
	if errors.As(err, &no) {
		return at(no.pos, no.msg)
	}
	var syntax parser.ParserError
	if errors.As(err, &syntax) {
		return at(syntax.StartPosition(), syntax.Error())
	}
	msg := err.Error()
	if m := compilePlace.FindStringSubmatch(msg); m != nil {
		line, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		return &wire.Bad{Message: m[1], File: file, Line: line, Col: col}
	}
	return &wire.Bad{Message: msg, File: file}
}

// topLevelFunctions lists what a firing can call.
func topLevelFunctions(tree *ast.Program) []wire.Function {
	var out []wire.Function
	for _, n := range tree.Statements() {
		name, f := "", (*ast.Func)(nil)
		switch n := n.(type) {
		case *ast.Func:
			if f = n; n.Name() != nil {
				name = n.Name().Literal()
			}
		case *ast.Var:
			var v ast.Expression
			name, v = n.Value()
			f, _ = v.(*ast.Func)
		case *ast.Const:
			var v ast.Expression
			name, v = n.Value()
			f, _ = v.(*ast.Func)
		}
		if f == nil || name == "" {
			continue
		}
		at := f.Token().StartPosition
		out = append(out, wire.Function{
			Name: name, Max: len(f.Parameters()), Min: len(f.Parameters()) - len(f.Defaults()),
			Line: at.LineNumber(), Col: at.ColumnNumber(),
		})
	}
	return out
}

// declared are the names that a file gives a meaning of its own, in place of
// what the library or another file of the script means by them.
func declared(tree *ast.Program) map[string]bool {
	own := map[string]bool{}
	for _, n := range tree.Statements() {
		switch n := n.(type) {
		case *ast.Func:
			if n.Name() != nil {
				own[n.Name().Literal()] = true
			}
		case *ast.Var:
			name, _ := n.Value()
			own[name] = true
		case *ast.MultiVar:
			names, _ := n.Value()
			for _, name := range names {
				own[name] = true
			}
		case *ast.Const:
			name, _ := n.Value()
			own[name] = true
		}
	}
	return own
}

// importer gives a script its siblings, and nothing from a disk.
type importer struct {
	siblings map[string]*compiler.Code
	opened   map[string]bool
}

// Import is called once for each module of a firing.
func (i *importer) Import(_ context.Context, name string) (*object.Module, error) {
	code, ok := i.siblings[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("import error: there is no script %q beside this one", name)
	case i.opened[name]:
		return nil, fmt.Errorf("import error: %q is imported while it is being imported", name)
	}
	if i.opened == nil {
		i.opened = map[string]bool{}
	}
	i.opened[name] = true
	return object.NewModule(name, code), nil
}
