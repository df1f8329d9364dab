package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"agent-ls/loop"
	"agent-ls/loop/tool"
	"agent-ls/lsp/internal/text"
)

// ClientDiagnosticsParams are those of agent/clientDiagnostics.
type ClientDiagnosticsParams struct {
	URIs []string `json:"uris"`
}

// ClientDiagnosticsResult is that of agent/clientDiagnostics.
type ClientDiagnosticsResult struct {
	Items []DocumentDiagnostics `json:"items"`
}

// DocumentDiagnostics are what an editor's language servers say of a document.
type DocumentDiagnostics struct {
	URI         string             `json:"uri"`
	Version     *int32             `json:"version,omitempty"` // of the text that they are about
	Diagnostics []ClientDiagnostic `json:"diagnostics"`
}

// ClientDiagnostic is an LSP diagnostic; other members are not looked at.
type ClientDiagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity,omitempty"` // 1 error, 2 warning, 3 information, 4 hint
	Message  string          `json:"message"`
	Source   string          `json:"source,omitempty"`
	Code     json.RawMessage `json:"code,omitempty"` // a string or a number
}

// ClientLSPParams are those of agent/clientLsp. The result is the method's
// own, as the editor's language servers gave it.
type ClientLSPParams struct {
	URI    string          `json:"uri"` // the document that the language servers are chosen by
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// codeServers is tool.Editor over the connection.
type codeServers struct {
	*bridge
	root string
}

var _ tool.Editor = (*codeServers)(nil)

// maxClientItems bounds what is taken of an editor's answer.
const maxClientItems = 10_000

var severityNames = map[int]string{1: "error", 2: "warning", 3: "information", 4: "hint"}

// Diagnostics implements tool.Editor.
func (c *codeServers) Diagnostics(ctx context.Context, paths []string) ([]tool.FileDiagnostics, error) {
	if !c.host.Client.Capabilities().Agent.Diagnostics {
		return nil, tool.ErrNotOffered
	}
	params := ClientDiagnosticsParams{URIs: []string{}}
	for _, p := range paths {
		params.URIs = append(params.URIs, c.uriOf(p))
	}
	var got ClientDiagnosticsResult
	if err := c.call(ctx, methodClientDiagnostics, params, &got); err != nil {
		return nil, err
	}
	var out []tool.FileDiagnostics
	for _, item := range got.Items {
		path := c.pathOf(item.URI)
		if !slices.Contains(paths, path) {
			continue // nobody asked for it
		}
		f := tool.FileDiagnostics{Path: path}
		if doc, open := c.host.Documents.ByPath(path); open && item.Version != nil {
			f.Late = *item.Version < doc.Version
		}
		source := c.files.source(path)
		for _, d := range item.Diagnostics[:min(len(item.Diagnostics), maxClientItems)] {
			f.Items = append(f.Items, c.diagnostic(source, d))
		}
		out = append(out, f)
	}
	return out, nil
}

func (c *codeServers) diagnostic(source *text.Source, d ClientDiagnostic) tool.Diagnostic {
	out := tool.Diagnostic{Severity: severityNames[d.Severity], Message: d.Message, Source: d.Source, Code: codeText(d.Code)}
	if out.Severity == "" {
		out.Severity = "error" // what the protocol lets a client assume
	}
	out.Line, out.Column = c.lineColumn(source, d.Range.Start)
	return out
}

// codeText is a diagnostic's code, which is a string or a number.
func codeText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// lineColumn is a position as people count, from 1, in characters.
func (c *codeServers) lineColumn(source *text.Source, p Position) (line, column int) {
	if source == nil {
		return int(p.Line) + 1, int(p.Character) + 1
	}
	offset := source.PositionOffset(c.wire.encoding(), text.Position{Line: p.Line, Character: p.Character})
	return int(p.Line) + 1, source.Column(offset)
}

// uriOf names a file as the client does where it has it open.
func (c *codeServers) uriOf(path string) string {
	if doc, open := c.host.Documents.ByPath(path); open {
		return doc.URI
	}
	return c.host.Workspace.URI(path)
}

// pathOf is the file that a URI names, "" for anything else.
func (c *codeServers) pathOf(uri string) string {
	path := c.host.Workspace.Path(uri)
	if path == "" {
		return ""
	}
	return resolved(path)
}

// Navigate implements tool.Editor.
func (c *codeServers) Navigate(ctx context.Context, n tool.Navigation) (tool.Navigated, error) {
	if !c.host.Client.Capabilities().Agent.LSP {
		return tool.Navigated{}, tool.ErrNotOffered
	}
	path := n.Path
	if path == "" {
		path = c.root
	}
	uri := c.uriOf(path)
	method, params := c.question(n, uri)
	raw, err := json.Marshal(params)
	if err != nil {
		return tool.Navigated{}, err
	}
	var got json.RawMessage
	if err := c.call(ctx, methodClientLSP, ClientLSPParams{URI: uri, Method: method, Params: raw}, &got); err != nil {
		return tool.Navigated{}, err
	}
	switch n.Kind {
	case tool.Rename:
		edits, err := c.workspaceEdit(ctx, got)
		return tool.Navigated{Edits: edits}, err
	case tool.Symbols:
		places, err := c.symbols(got, path)
		return tool.Navigated{Places: places}, err
	}
	places, err := c.locations(got)
	return tool.Navigated{Places: places}, err
}

// question is the request of the protocol for a navigation.
func (c *codeServers) question(n tool.Navigation, uri string) (method string, params map[string]any) {
	if n.Kind == tool.Symbols && n.Path == "" {
		return "workspace/symbol", map[string]any{"query": n.Query}
	}
	document := map[string]any{"uri": uri}
	if n.Kind == tool.Symbols {
		return "textDocument/documentSymbol", map[string]any{"textDocument": document}
	}
	params = map[string]any{"textDocument": document, "position": c.positionOf(n)}
	switch n.Kind {
	case tool.References:
		params["context"] = map[string]any{"includeDeclaration": true}
		return "textDocument/references", params
	case tool.Rename:
		params["newName"] = n.NewName
		return "textDocument/rename", params
	}
	return "textDocument/definition", params
}

func (c *codeServers) positionOf(n tool.Navigation) Position {
	p := Position{Line: uint32(max(n.Line-1, 0)), Character: uint32(max(n.Column-1, 0))}
	source := c.files.source(n.Path)
	if source == nil {
		return p
	}
	offset := source.PositionOffset(text.UTF32, text.Position{Line: p.Line, Character: p.Character})
	q := source.OffsetPosition(c.wire.encoding(), offset)
	return Position{Line: q.Line, Character: q.Character}
}

// oneOrMany reads a result that is an object, a list of them, or null.
func oneOrMany[T any](raw json.RawMessage) ([]T, error) {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] == '[' {
		var many []T
		err := json.Unmarshal(raw, &many)
		return many[:min(len(many), maxClientItems)], err
	}
	var one T
	if err := json.Unmarshal(raw, &one); err != nil {
		return nil, err
	}
	return []T{one}, nil
}

// locations reads Location, Location[] or LocationLink[].
func (c *codeServers) locations(raw json.RawMessage) ([]tool.Place, error) {
	got, err := oneOrMany[struct {
		URI    string `json:"uri"`
		Range  Range  `json:"range"`
		Target string `json:"targetUri"`
		Chosen Range  `json:"targetSelectionRange"`
	}](raw)
	if err != nil {
		return nil, fmt.Errorf("its answer is no list of places: %w", err)
	}
	var out []tool.Place
	for _, l := range got {
		if l.Target != "" {
			l.URI, l.Range = l.Target, l.Chosen
		}
		if p, ok := c.place(l.URI, l.Range); ok {
			out = append(out, p)
		}
	}
	return out, nil
}

func (c *codeServers) place(uri string, r Range) (tool.Place, bool) {
	path := c.pathOf(uri)
	if path == "" {
		return tool.Place{}, false
	}
	p := tool.Place{Path: path, EndLine: int(r.End.Line) + 1}
	p.Line, p.Column = c.lineColumn(c.files.source(path), r.Start)
	return p, true
}

// symbol is a DocumentSymbol, a SymbolInformation or a WorkspaceSymbol.
type symbol struct {
	Name     string    `json:"name"`
	Kind     int       `json:"kind"`
	Chosen   *Range    `json:"selectionRange"`
	Location *Location `json:"location"`
	Children []symbol  `json:"children"`
}

// symbolDepth bounds the nesting of symbols that is looked at.
const symbolDepth = 20

func (c *codeServers) symbols(raw json.RawMessage, path string) ([]tool.Place, error) {
	got, err := oneOrMany[symbol](raw)
	if err != nil {
		return nil, fmt.Errorf("its answer is no list of symbols: %w", err)
	}
	var out []tool.Place
	var walk func(all []symbol, depth int)
	walk = func(all []symbol, depth int) {
		for _, s := range all {
			if len(out) >= maxClientItems || depth > symbolDepth {
				return
			}
			p := tool.Place{Path: path}
			switch {
			case s.Chosen != nil:
				p.Line, p.Column = int(s.Chosen.Start.Line)+1, int(s.Chosen.Start.Character)+1
			case s.Location != nil:
				where := c.pathOf(s.Location.URI)
				if where == "" {
					continue
				}
				p.Path, p.Line = where, int(s.Location.Range.Start.Line)+1
			}
			p.Name, p.Kind, p.Depth = s.Name, symbolKind(s.Kind), depth
			out = append(out, p)
			walk(s.Children, depth+1)
		}
	}
	walk(got, 0)
	return out, nil
}

var symbolKinds = []string{
	"symbol", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface",
	"function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct",
	"event", "operator", "type parameter",
}

func symbolKind(n int) string {
	if n < 0 || n >= len(symbolKinds) {
		n = 0
	}
	return symbolKinds[n]
}

// textEdit is an LSP text edit.
type textEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// workspaceEdit reads what a rename would change, as whole files.
func (c *codeServers) workspaceEdit(ctx context.Context, raw json.RawMessage) ([]loop.FileEdit, error) {
	if isNull(raw) {
		return nil, nil
	}
	var edit struct {
		Changes  map[string][]textEdit `json:"changes"`
		Document []struct {
			Kind         string `json:"kind"` // create, rename, delete
			TextDocument struct {
				URI     string `json:"uri"`
				Version *int32 `json:"version"`
			} `json:"textDocument"`
			Edits []textEdit `json:"edits"`
		} `json:"documentChanges"`
	}
	if err := json.Unmarshal(raw, &edit); err != nil {
		return nil, fmt.Errorf("its answer is no edit: %w", err)
	}
	byPath := map[string][]textEdit{}
	for uri, edits := range edit.Changes {
		byPath[c.pathOf(uri)] = append(byPath[c.pathOf(uri)], edits...)
	}
	if len(edit.Document) > 0 {
		clear(byPath) // a client that gives both means these
	}
	for _, d := range edit.Document {
		if d.Kind != "" {
			return nil, fmt.Errorf("the rename would %s files, which the agent does not do", d.Kind)
		}
		path := c.pathOf(d.TextDocument.URI)
		if doc, open := c.host.Documents.ByPath(path); open && d.TextDocument.Version != nil && *d.TextDocument.Version != doc.Version {
			return nil, fmt.Errorf("%s changed in the editor meanwhile; ask again", path)
		}
		byPath[path] = append(byPath[path], d.Edits...)
	}
	var out []loop.FileEdit
	for path, edits := range byPath {
		if path == "" {
			return nil, errors.New("the rename would change something that is no file")
		}
		e, err := c.fileEdit(ctx, path, edits)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// fileEdit is what edits of ranges make of a file.
func (c *codeServers) fileEdit(ctx context.Context, path string, edits []textEdit) (loop.FileEdit, error) {
	now, err := c.files.Read(ctx, path)
	if err != nil {
		return loop.FileEdit{}, fmt.Errorf("read %s: %w", path, err)
	}
	source := text.NewSource(string(now.Bytes))
	type change struct {
		text.Span
		with string
	}
	var changes []change
	for _, e := range edits {
		r := text.Range{
			Start: text.Position{Line: e.Range.Start.Line, Character: e.Range.Start.Character},
			End:   text.Position{Line: e.Range.End.Line, Character: e.Range.End.Character},
		}
		changes = append(changes, change{source.RangeSpan(c.wire.encoding(), r), e.NewText})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return a.Start - b.Start })
	var after []byte
	done := 0
	for _, ch := range changes {
		if ch.Start < done {
			return loop.FileEdit{}, fmt.Errorf("the rename has edits of %s that overlap", path)
		}
		after = append(append(after, now.Bytes[done:ch.Start]...), ch.with...)
		done = ch.End
	}
	after = append(after, now.Bytes[done:]...)
	return loop.FileEdit{Path: path, Before: now.Bytes, After: after}, nil
}
