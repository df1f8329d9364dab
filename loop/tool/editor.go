package tool

import (
	"context"
	"errors"

	"agent-ls/loop"
)

// Editor is what the editor's own language servers can tell; nil where no
// editor is there. What it does not offer is ErrNotOffered.
type Editor interface {
	// Diagnostics are those of the files, absolute paths, as the editor has
	// them now.
	Diagnostics(ctx context.Context, paths []string) ([]FileDiagnostics, error)
	// Navigate asks a question about a place.
	Navigate(ctx context.Context, n Navigation) (Navigated, error)
}

// ErrNotOffered is what an Editor fails with that has no such thing.
var ErrNotOffered = errors.New("the editor does not offer this")

// FileDiagnostics are what language servers say of one file.
type FileDiagnostics struct {
	Path string // absolute
	// Late says that they are about an older text than the one that the file
	// has now.
	Late  bool
	Items []Diagnostic
}

// Diagnostic is one of them.
type Diagnostic struct {
	Line, Column int    // from 1; the column in characters
	Severity     string // "error", "warning", "information", "hint"
	Message      string
	Source, Code string // who says it; may be empty
}

// NavigationKind is what is asked.
type NavigationKind string

const (
	Definition NavigationKind = "definition"
	References NavigationKind = "references"
	Symbols    NavigationKind = "symbols" // of Path, or of the workspace for Query
	Rename     NavigationKind = "rename"
)

// Navigation is a question about a place.
type Navigation struct {
	Kind         NavigationKind
	Path         string // absolute
	Line, Column int    // from 1; the column in characters
	Query        string // Symbols without a Path
	NewName      string // Rename
}

// Navigated is the answer.
type Navigated struct {
	Places []Place
	Edits  []loop.FileEdit // Rename: what the files would become
}

// Place is a place in a file.
type Place struct {
	Path    string // absolute
	Line    int    // from 1
	EndLine int
	Column  int    // from 1, in characters
	Name    string // Symbols
	Kind    string // Symbols: "function", "class", …
	Depth   int    // Symbols: of nesting
}
