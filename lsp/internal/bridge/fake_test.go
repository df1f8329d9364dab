package bridge

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/internal/text"
)

// fakeHost is the server's side of the seam without a server: an editor that
// tests script, documents and folders.
type fakeHost struct {
	*server.Host
	t        *testing.T
	caps     server.Capabilities
	encoding text.Encoding
	folders  []server.Folder
	config   *manifest.Config
	reloaded []string

	mu       sync.Mutex
	changed  *sync.Cond // something arrived, or a document changed
	answers  map[string]func(context.Context, json.RawMessage) (any, error)
	sent     []message // everything that the editor got, in order
	docs     map[string]server.Document
	apply    func(server.DocumentEdit) error // before an edit is applied
	findings map[string][]check.Finding
}

// message is a notification or request that the editor got, or the end of a
// request that was cancelled ("$/cancelRequest").
type message struct {
	method string
	params json.RawMessage
}

func newFakeHost(t *testing.T) *fakeHost {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeHost{
		t: t, encoding: text.UTF16, docs: map[string]server.Document{},
		folders:  []server.Folder{{URI: fileURI(root), Name: "w", Root: root}},
		answers:  map[string]func(context.Context, json.RawMessage) (any, error){},
		findings: map[string][]check.Finding{},
	}
	f.changed = sync.NewCond(&f.mu)
	f.Host = &server.Host{Client: f, Documents: f, Workspace: f, Findings: f}
	return f
}

func (f *fakeHost) root() string { return f.folders[0].Root }

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// Call is server.Client's.
func (f *fakeHost) Call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	checkSchema(f.t, method, raw)
	f.record(method, raw)
	f.mu.Lock()
	answer := f.answers[method]
	f.mu.Unlock()
	if answer == nil {
		return jsonrpc2.NewError(jsonrpc2.MethodNotFound, "not known: "+method)
	}
	type reply struct {
		value any
		err   error
	}
	got := make(chan reply, 1)
	go func() {
		v, err := answer(ctx, raw)
		got <- reply{v, err}
	}()
	select {
	case r := <-got:
		if r.err != nil || result == nil {
			return r.err
		}
		raw, err := json.Marshal(r.value)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, result)
	case <-ctx.Done():
		f.record("$/cancelRequest", raw)
		return ctx.Err()
	}
}

// Notify is server.Client's.
func (f *fakeHost) Notify(_ context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	checkSchema(f.t, method, raw)
	f.record(method, raw)
	return nil
}

func (f *fakeHost) Capabilities() server.Capabilities { return f.caps }

func (f *fakeHost) record(method string, params json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, message{method, params})
	f.changed.Broadcast()
}

// on sets how the editor answers a request.
func (f *fakeHost) on(method string, answer func(context.Context, json.RawMessage) (any, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[method] = answer
}

// answer sets a fixed answer.
func (f *fakeHost) answer(method string, value any) {
	f.on(method, func(context.Context, json.RawMessage) (any, error) { return value, nil })
}

// wait blocks until the editor has got n messages of a method and returns the
// last of them.
func (f *fakeHost) wait(method string, n int) json.RawMessage {
	f.t.Helper()
	deadline := time.AfterFunc(10*time.Second, func() { f.mu.Lock(); f.changed.Broadcast(); f.mu.Unlock() })
	defer deadline.Stop()
	start := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		count := 0
		for _, m := range f.sent {
			if m.method == method {
				if count++; count == n {
					return m.params
				}
			}
		}
		if time.Since(start) > 9*time.Second {
			f.t.Fatalf("the editor got %d of %s, want %d; all: %s", count, method, n, f.names())
		}
		f.changed.Wait()
	}
}

// got are the messages of a method so far.
func (f *fakeHost) got(method string) []json.RawMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []json.RawMessage
	for _, m := range f.sent {
		if m.method == method {
			out = append(out, m.params)
		}
	}
	return out
}

// names lists the methods so far; the caller holds mu.
func (f *fakeHost) names() string {
	var out []string
	for _, m := range f.sent {
		out = append(out, m.method)
	}
	return strings.Join(out, " ")
}

// order lists the methods that the editor got, of those named.
func (f *fakeHost) order(methods ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, m := range f.sent {
		if slices.Contains(methods, m.method) {
			out = append(out, m.method)
		}
	}
	return out
}

// open opens a document as an editor does.
func (f *fakeHost) open(path, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.docs[path] = server.Document{URI: fileURI(path), Path: path, Version: 1, Source: text.NewSource(content)}
}

// typed changes an open document as a user does.
func (f *fakeHost) typed(path, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.docs[path]
	d.Version++
	d.Source, d.Dirty = text.NewSource(content), true
	f.docs[path] = d
}

func (f *fakeHost) textOf(path string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.docs[path].Source.Text()
}

// Open is server.Documents'.
func (f *fakeHost) Open() []server.Document {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []server.Document
	for _, path := range sortedKeys(f.docs) {
		out = append(out, f.docs[path])
	}
	return out
}

// ByPath is server.Documents'.
func (f *fakeHost) ByPath(path string) (server.Document, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.docs[path]
	return d, ok
}

// ApplyEdit is server.Documents': it keeps its promises, after apply had its
// say.
func (f *fakeHost) ApplyEdit(_ context.Context, _ string, edits ...server.DocumentEdit) error {
	f.mu.Lock()
	apply := f.apply
	f.mu.Unlock()
	for _, e := range edits {
		if apply != nil {
			if err := apply(e); err != nil {
				return err
			}
		}
		if err := f.applyOne(e); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeHost) applyOne(e server.DocumentEdit) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, d := range f.docs {
		if d.URI != e.URI {
			continue
		}
		if d.Version != e.Version {
			return server.ErrVersionMoved
		}
		d.Version++
		d.Source, d.Dirty = text.NewSource(applied(d.Source.Text(), e.Edits)), true
		f.docs[path] = d
		return nil
	}
	return server.ErrNotOpen
}

// applied applies edits by offset.
func applied(s string, edits []check.Edit) string {
	sorted := slices.Clone(edits)
	slices.SortFunc(sorted, func(a, b check.Edit) int { return b.Span.Start - a.Span.Start })
	for _, e := range sorted {
		s = s[:e.Span.Start] + e.NewText + s[e.Span.End:]
	}
	return s
}

func (f *fakeHost) Folders() []server.Folder { return f.folders }
func (f *fakeHost) Reload(paths ...string)   { f.reloaded = append(f.reloaded, paths...) }

func (f *fakeHost) Manifest(context.Context, string) (*manifest.Config, []check.Finding) {
	return f.config, nil
}
func (f *fakeHost) DiskManifest(context.Context, string) (*manifest.Config, []check.Finding) {
	return f.config, nil
}
func (f *fakeHost) URI(path string) string { return fileURI(path) }
func (f *fakeHost) Path(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	return u.Path
}
func (f *fakeHost) Encoding() text.Encoding { return f.encoding }
func (f *fakeHost) Range(path string, span check.Span) protocol.Range {
	b, _ := os.ReadFile(path)
	r := text.NewSource(string(b)).SpanRange(f.encoding, text.Span(span))
	return protocol.Range{
		Start: protocol.Position{Line: r.Start.Line, Character: r.Start.Character},
		End:   protocol.Position{Line: r.End.Line, Character: r.End.Character},
	}
}
func (f *fakeHost) Diagnostics(findings []check.Finding) []server.FileDiagnostics {
	var out []server.FileDiagnostics
	for _, x := range findings {
		out = append(out, server.FileDiagnostics{URI: fileURI(x.Path), Diagnostics: []protocol.Diagnostic{
			{Message: protocol.String(x.Message), Code: protocol.String(x.Code)},
		}})
	}
	return out
}

// SetRunFindings is server.Findings'.
func (f *fakeHost) SetRunFindings(path, _ string, findings []check.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.findings[path] = findings
}

// newTestBridge makes a bridge over a fake host, with one fake service per
// folder.
func newTestBridge(t *testing.T, f *fakeHost) (*bridge, *server.Extension, *fakeAPI) {
	t.Helper()
	api := &fakeAPI{}
	b := newBridge(Options{
		StateDir: t.TempDir(),
		Open: func(_ context.Context, p OpenParams) (run.API, error) {
			api.front, api.root = p.Frontend, p.Root
			return api, nil
		},
	}.filled(), f.Host)
	x := b.extension()
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := b.allFolders(); err == nil {
		if _, err := b.serviceOf(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	return b, x, api
}

// request calls a method of the extension with params as JSON text, and checks
// both against the schema.
func ask(t *testing.T, x *server.Extension, method, params string) (json.RawMessage, error) {
	t.Helper()
	h := x.Requests[method]
	if h == nil {
		t.Fatalf("no method %s", method)
	}
	got, err := h(t.Context(), json.RawMessage(params))
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	checkAgainst(t, method, "result", raw)
	return raw, nil
}

func mustAsk[T any](t *testing.T, x *server.Extension, method, params string) T {
	t.Helper()
	raw, err := ask(t, x, method, params)
	if err != nil {
		t.Fatalf("%s %s: %v", method, params, err)
	}
	return decodeJSON[T](t, raw)
}

func decodeJSON[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return out
}

// checkSchema holds what the server sends against its own schema.
func checkSchema(t *testing.T, method string, params json.RawMessage) {
	if strings.HasPrefix(method, "agent/") {
		checkAgainst(t, method, "params", params)
	}
}

var compiledSchema = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	raw, err := Schema()
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///protocol", doc); err != nil {
		return nil, err
	}
	out := map[string]*jsonschema.Schema{}
	for method, row := range doc.(map[string]any)["methods"].(map[string]any) {
		for _, part := range []string{"params", "result"} {
			if ref, ok := row.(map[string]any)[part].(map[string]any); ok {
				s, err := c.Compile("mem:///protocol" + ref["$ref"].(string))
				if err != nil {
					return nil, err
				}
				out[method+" "+part] = s
			}
		}
	}
	return out, nil
})

func checkAgainst(t *testing.T, method, part string, raw json.RawMessage) {
	all, err := compiledSchema()
	if err != nil {
		t.Errorf("the schema does not compile: %v", err)
		return
	}
	s := all[method+" "+part]
	if s == nil {
		t.Errorf("the schema has no %s of %s", part, method)
		return
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Errorf("%s: %v", method, err)
		return
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s of %s does not fit its schema: %v\n%s", part, method, err, raw)
	}
}

// codeOf is the code of an error answer.
func codeOf(err error) jsonrpc2.Code {
	if rpc, ok := err.(*jsonrpc2.Error); ok {
		return rpc.Code
	}
	return 0
}

func dataOf[T any](t *testing.T, err error) T {
	t.Helper()
	rpc, ok := err.(*jsonrpc2.Error)
	if !ok {
		t.Fatalf("%v is no error answer", err)
	}
	return decodeJSON[T](t, rpc.Data)
}

func approvalOf(id string, outcomes ...report.ApprovalOutcome) report.Approval {
	return report.Approval{
		ID: id, Outcomes: outcomes, RunID: "r1", SessionID: "s1", CallID: "c1", Stage: "implement",
		Tool: "shell", Arguments: json.RawMessage(`{"command":"go test ./..."}`), Digest: "d", Title: "go test ./...",
		Risk: "execute", Why: []string{"default: commands ask"},
		Command: &report.Command{Line: "go test ./...", Cwd: "/w", Commands: []string{"go test ./..."}},
		Covers:  report.Covers{Session: "shell(go test *)"},
	}
}

var allOutcomes = []report.ApprovalOutcome{report.AllowOnce, report.AllowSession, report.AllowAlways, report.DenyOnce}
