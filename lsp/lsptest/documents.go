package lsptest

import (
	"encoding/json"
	"fmt"
	"maps"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Position is a place as the protocol has it.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a range of positions.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// TextEdit replaces a range.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// Location is a range in a document.
type Location struct {
	URI   string `json:"uri"`
	Range Range  `json:"range"`
}

// Diagnostic is one as the server sends it.
type Diagnostic struct {
	Range           Range  `json:"range"`
	Severity        int    `json:"severity"`
	Code            string `json:"code"`
	CodeDescription struct {
		Href string `json:"href"`
	} `json:"codeDescription"`
	Source             string `json:"source"`
	Message            string `json:"message"`
	Tags               []int  `json:"tags"`
	RelatedInformation []struct {
		Location Location `json:"location"`
		Message  string   `json:"message"`
	} `json:"relatedInformation"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Published is one textDocument/publishDiagnostics.
type Published struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Codes lists the codes of diagnostics, in order.
func Codes(diagnostics []Diagnostic) []string {
	codes := []string{}
	for _, d := range diagnostics {
		codes = append(codes, d.Code)
	}
	return codes
}

// Document is an open document as this editor has it.
type Document struct {
	URI     string
	Version int
	Text    string
}

// Initialize sends initialize and initialized. capabilities may be nil; extra
// are further members of the parameters.
func (e *Editor) Initialize(capabilities map[string]any, extra map[string]any) json.RawMessage {
	e.t.Helper()
	if capabilities == nil {
		capabilities = map[string]any{}
	}
	params := map[string]any{"processId": nil, "rootUri": nil, "capabilities": capabilities}
	maps.Copy(params, extra)
	var result json.RawMessage
	e.Must("initialize", params, &result)
	var got struct {
		Capabilities struct {
			PositionEncoding string `json:"positionEncoding"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(result, &got); err != nil {
		e.t.Fatal(err)
	}
	if got.Capabilities.PositionEncoding != "" {
		e.mu.Lock()
		e.encoding = got.Capabilities.PositionEncoding
		e.mu.Unlock()
	}
	e.Notify("initialized", map[string]any{})
	return result
}

// Folder is the extra parameter of Initialize for one workspace folder.
func Folder(uris ...string) map[string]any {
	folders := []map[string]any{}
	for _, uri := range uris {
		folders = append(folders, map[string]any{"uri": uri, "name": uri[strings.LastIndexByte(uri, '/')+1:]})
	}
	return map[string]any{"workspaceFolders": folders}
}

// Quit leaves as the protocol says and returns how the server ended.
func (e *Editor) Quit() error {
	e.t.Helper()
	e.Must("shutdown", nil, nil)
	e.Notify("exit", nil)
	return e.Wait()
}

// Open opens a document with version 1.
func (e *Editor) Open(uri, language, text string) {
	e.t.Helper()
	e.mu.Lock()
	e.documents[uri] = &Document{uri, 1, text}
	e.mu.Unlock()
	e.Notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": language, "version": 1, "text": text,
	}})
}

// Document returns an open document; nil if it is not open.
func (e *Editor) Document(uri string) *Document {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.documents[uri]; d != nil {
		copied := *d
		return &copied
	}
	return nil
}

// Change replaces a range of bytes and returns the new version.
func (e *Editor) Change(uri string, start, end int, with string) int {
	e.t.Helper()
	e.mu.Lock()
	d := e.documents[uri]
	if d == nil {
		e.mu.Unlock()
		e.t.Fatalf("%s is not open", uri)
	}
	r := Range{positionOf(d.Text, start, e.encoding), positionOf(d.Text, end, e.encoding)}
	d.Text = d.Text[:start] + with + d.Text[end:]
	d.Version++
	version := d.Version
	e.mu.Unlock()
	e.Notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": uri, "version": version},
		"contentChanges": []any{map[string]any{"range": r, "text": with}},
	})
	return version
}

// Replace replaces the first occurrence of a text.
func (e *Editor) Replace(uri, old, with string) int {
	e.t.Helper()
	d := e.Document(uri)
	if d == nil {
		e.t.Fatalf("%s is not open", uri)
	}
	at := strings.Index(d.Text, old)
	if at < 0 {
		e.t.Fatalf("%s does not contain %q", uri, old)
	}
	return e.Change(uri, at, at+len(old), with)
}

// SetText replaces everything.
func (e *Editor) SetText(uri, text string) int {
	e.t.Helper()
	e.mu.Lock()
	d := e.documents[uri]
	if d == nil {
		e.mu.Unlock()
		e.t.Fatalf("%s is not open", uri)
	}
	d.Text = text
	d.Version++
	version := d.Version
	e.mu.Unlock()
	e.Notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": uri, "version": version},
		"contentChanges": []any{map[string]any{"text": text}},
	})
	return version
}

// Close closes a document.
func (e *Editor) Close(uri string) {
	e.t.Helper()
	e.mu.Lock()
	delete(e.documents, uri)
	e.mu.Unlock()
	e.Notify("textDocument/didClose", At(uri))
}

// Diagnostics waits for what is published for a version of a document; version
// 0 takes a publication without one.
func (e *Editor) Diagnostics(uri string, version int) []Diagnostic {
	e.t.Helper()
	return e.AwaitDiagnostics(uri, func(p Published) bool {
		return version == 0 && p.Version == nil || p.Version != nil && *p.Version == version
	})
}

// AwaitDiagnostics waits for a publication like that.
func (e *Editor) AwaitDiagnostics(uri string, ok func(Published) bool) []Diagnostic {
	e.t.Helper()
	var found Published
	e.Await("textDocument/publishDiagnostics", func(raw json.RawMessage) bool {
		var p Published
		if err := json.Unmarshal(raw, &p); err != nil {
			e.t.Fatalf("diagnostics that do not decode: %v: %s", err, raw)
		}
		if p.URI == uri && ok(p) {
			found = p
			return true
		}
		return false
	})
	return found.Diagnostics
}

// Shown is what an editor shows for a document: the last publication.
func (e *Editor) Shown(uri string) []Diagnostic {
	e.t.Helper()
	var last []Diagnostic
	for _, m := range e.Messages("textDocument/publishDiagnostics") {
		var p Published
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.t.Fatal(err)
		}
		if p.URI == uri {
			last = p.Diagnostics
		}
	}
	return last
}

// At is the parameter of a request about a document.
func At(uri string) map[string]any {
	return map[string]any{"textDocument": map[string]any{"uri": uri}}
}

// Position is the parameter of a request about a place of an open document.
func (e *Editor) Position(uri string, offset int) map[string]any {
	e.t.Helper()
	d := e.Document(uri)
	if d == nil {
		e.t.Fatalf("%s is not open", uri)
	}
	params := At(uri)
	params["position"] = positionOf(d.Text, offset, e.encoding)
	return params
}

// TextAt returns what a range of an open document covers.
func (e *Editor) TextAt(uri string, r Range) string {
	e.t.Helper()
	d := e.Document(uri)
	if d == nil {
		e.t.Fatalf("%s is not open", uri)
	}
	start, end := offsetOf(d.Text, r.Start, e.encoding), offsetOf(d.Text, r.End, e.encoding)
	if start > end {
		e.t.Fatalf("the range %v is turned around", r)
	}
	return d.Text[start:end]
}

// positionOf and offsetOf are written without the server's own code, so that
// the two can disagree.
func positionOf(text string, offset int, encoding string) Position {
	before := text[:offset]
	lines := splitLines(before)
	return Position{len(lines) - 1, units(lines[len(lines)-1], encoding)}
}

func offsetOf(text string, p Position, encoding string) int {
	lines := splitLines(text)
	offset := 0
	for i, line := range lines {
		if i < p.Line {
			offset += len(line)
			continue
		}
		for n := 0; n < len(line); {
			_, size := utf8.DecodeRuneInString(line[n:])
			if units(line[:n+size], encoding) > p.Character {
				return offset + n
			}
			n += size
		}
		return offset + len(line)
	}
	return len(text)
}

// splitLines splits after each line end.
func splitLines(text string) []string {
	var lines []string
	start := 0
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			lines = append(lines, text[start:i+1])
			start = i + 1
		}
	}
	return append(lines, text[start:])
}

func units(s, encoding string) int {
	switch encoding {
	case "utf-8":
		return len(s)
	case "utf-32":
		return utf8.RuneCountInString(s)
	}
	return len(utf16.Encode([]rune(s)))
}

// standard are the answers of an editor that was told nothing else.
func (e *Editor) standard(method string) Answer {
	switch method {
	case "client/registerCapability", "window/workDoneProgress/create", "workspace/diagnostic/refresh":
		return func(json.RawMessage) (any, error) { return nil, nil }
	case "workspace/configuration":
		return func(raw json.RawMessage) (any, error) {
			var p struct {
				Items []json.RawMessage `json:"items"`
			}
			err := json.Unmarshal(raw, &p)
			return make([]any, len(p.Items)), err
		}
	case "workspace/applyEdit":
		return e.applyEdit
	}
	return nil
}

// WorkspaceEdit is the part of one that this editor can do.
type WorkspaceEdit struct {
	Changes         map[string][]TextEdit `json:"changes"`
	DocumentChanges []struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version *int   `json:"version"`
		} `json:"textDocument"`
		Edits []TextEdit `json:"edits"`
	} `json:"documentChanges"`
}

// applyEdit does what the server asks for, and reports the change as an editor
// does. An edit for another version is refused.
func (e *Editor) applyEdit(raw json.RawMessage) (any, error) {
	var p struct {
		Edit WorkspaceEdit `json:"edit"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	if err := e.Apply(p.Edit); err != nil {
		return map[string]any{"applied": false, "failureReason": err.Error()}, nil
	}
	return map[string]any{"applied": true}, nil
}

// Apply makes a workspace edit in open documents and reports it.
func (e *Editor) Apply(edit WorkspaceEdit) error {
	all := maps.Clone(edit.Changes)
	if all == nil {
		all = map[string][]TextEdit{}
	}
	for _, c := range edit.DocumentChanges {
		d := e.Document(c.TextDocument.URI)
		if d == nil {
			return fmt.Errorf("%s is not open", c.TextDocument.URI)
		}
		if v := c.TextDocument.Version; v != nil && *v != d.Version {
			return fmt.Errorf("%s has version %d, not %d", d.URI, d.Version, *v)
		}
		all[d.URI] = append(all[d.URI], c.Edits...)
	}
	for uri, edits := range all {
		d := e.Document(uri)
		if d == nil {
			return fmt.Errorf("%s is not open", uri)
		}
		text, err := ApplyEdits(d.Text, edits, e.encoding)
		if err != nil {
			return err
		}
		e.SetText(uri, text)
	}
	return nil
}

// ApplyEdits makes edits that all speak of the text before.
func ApplyEdits(text string, edits []TextEdit, encoding string) (string, error) {
	type span struct {
		start, end int
		with       string
	}
	spans := make([]span, len(edits))
	for i, e := range edits {
		spans[i] = span{offsetOf(text, e.Range.Start, encoding), offsetOf(text, e.Range.End, encoding), e.NewText}
	}
	sort.SliceStable(spans, func(i, j int) bool { return spans[i].start > spans[j].start })
	at := len(text)
	for _, s := range spans {
		if s.end > at || s.start > s.end {
			return "", fmt.Errorf("overlapping edits")
		}
		text, at = text[:s.start]+s.with+text[s.end:], s.start
	}
	return text, nil
}
