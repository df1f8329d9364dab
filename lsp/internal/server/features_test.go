package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/lsptest"
)

// modern is what an editor of today declares.
var modern = map[string]any{
	"textDocument": map[string]any{
		"publishDiagnostics": map[string]any{"relatedInformation": true},
		"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
		"completion":         map[string]any{"completionItem": map[string]any{"snippetSupport": true}},
	},
	"workspace": map[string]any{"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true}},
}

// opened starts a server on a workspace and opens both of its files.
func opened(t *testing.T, manifest, guard string) (e *lsptest.Editor, manifestURI, guardURI string) {
	t.Helper()
	w := newWorkspace(t, map[string]string{".agent-ls/agent.toml": manifest, ".agent-ls/hooks/guard.risor": guard})
	e = start(t, server.Options{ReferencePage: func() string { return "file:///docs/diagnostics.md" }})
	e.Initialize(modern, w.folder())
	manifestURI, guardURI = w.uri(".agent-ls/agent.toml"), w.uri(".agent-ls/hooks/guard.risor")
	e.Open(manifestURI, "toml", manifest)
	e.Open(guardURI, "risor", guard)
	return e, manifestURI, guardURI
}

func TestAMisspeltFieldIsUnderlinedWithItsFix(t *testing.T) {
	guard, at := lsptest.Mark(t, "// 😀\r\nfunc on_tool_call(ctx) {\r\n    /* 😀 */ calls := ctx.⟦here:tool_call⟧\r\n    return len(calls) == 0\r\n}\r\n")
	e, _, uri := opened(t, plainManifest, guard)
	got := e.Diagnostics(uri, 1)
	i := slices.IndexFunc(got, func(d lsptest.Diagnostic) bool { return d.Code == "unknown-field" })
	if i < 0 {
		t.Fatalf("the script has %v", lsptest.Codes(got))
	}
	d := got[i]
	if text := e.TextAt(uri, d.Range); text != "tool_call" {
		t.Errorf("the finding is at %q", text)
	}
	if !strings.Contains(d.Message, "tool_calls") {
		t.Errorf("the message is %q", d.Message)
	}
	if d.CodeDescription.Href != "file:///docs/diagnostics.md#unknown-field" {
		t.Errorf("the page is %q", d.CodeDescription.Href)
	}
	if !strings.Contains(string(d.Data), "tool_calls") {
		t.Errorf("the data are %s", d.Data)
	}

	var actions []struct {
		Title       string                `json:"title"`
		Kind        string                `json:"kind"`
		IsPreferred bool                  `json:"isPreferred"`
		Diagnostics []lsptest.Diagnostic  `json:"diagnostics"`
		Edit        lsptest.WorkspaceEdit `json:"edit"`
	}
	ask := func(only ...string) {
		t.Helper()
		actions = nil
		context := map[string]any{"diagnostics": []any{}}
		if only != nil {
			context["only"] = only
		}
		e.Must("textDocument/codeAction", map[string]any{"textDocument": map[string]any{"uri": uri}, "range": d.Range, "context": context}, &actions)
	}
	ask()
	if len(actions) != 1 || actions[0].Kind != "quickfix" || !actions[0].IsPreferred || len(actions[0].Diagnostics) != 1 {
		t.Fatalf("the actions are %+v", actions)
	}
	if v := actions[0].Edit.DocumentChanges[0].TextDocument.Version; v == nil || *v != 1 {
		t.Error("the edit is for no version")
	}
	ask("refactor")
	if len(actions) != 0 {
		t.Errorf("asked for refactorings, there is %+v", actions)
	}
	for _, kind := range []string{"source", "source.fixAll", "source.fixAll.agent-ls"} {
		ask(kind)
		if len(actions) != 1 || actions[0].Kind != "source.fixAll.agent-ls" {
			t.Errorf("asked for %s, there is %+v", kind, actions)
		}
	}
	if err := e.Apply(actions[0].Edit); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(guard, "tool_call\r", "tool_calls\r", 1)
	if got := e.Document(uri).Text; got != want {
		t.Errorf("after the fix the script is %q", got)
	}
	if got := e.Diagnostics(uri, 2); has(got, "unknown-field") {
		t.Errorf("after the fix there is %v", lsptest.Codes(got))
	}
	_ = at
}

func TestAMissingFunctionShowsOnBothFiles(t *testing.T) {
	e, manifest, guard := opened(t, plainManifest, "func on_tol_call(ctx) {\n    return nil\n}\n")
	got := e.Diagnostics(manifest, 1)
	if !has(got, "missing-function") {
		t.Errorf("the manifest has %v", lsptest.Codes(got))
	}
	if related := got[0].RelatedInformation; len(related) == 0 || related[0].Location.URI != guard {
		t.Errorf("the related information is %+v", related)
	}
	got = e.Diagnostics(guard, 1)
	i := slices.IndexFunc(got, func(d lsptest.Diagnostic) bool { return d.Code == "missing-function" })
	if i < 0 {
		t.Fatalf("the script has %v", lsptest.Codes(got))
	}
	related := got[i].RelatedInformation
	if len(related) != 1 || related[0].Location.URI != manifest || e.TextAt(manifest, related[0].Location.Range) != `"hooks/guard.risor"` {
		t.Errorf("the related information is %+v", related)
	}
}

func TestAScriptThatNothingNames(t *testing.T) {
	w := newWorkspace(t, map[string]string{
		".agent-ls/agent.toml": plainManifest, ".agent-ls/hooks/guard.risor": plainGuard,
		".agent-ls/hooks/lost.risor": "func on_error(ctx) {\n    return nil\n}\n",
	})
	e := start(t, server.Options{})
	e.Initialize(modern, w.folder())
	lost, manifest := w.uri(".agent-ls/hooks/lost.risor"), w.uri(".agent-ls/agent.toml")
	if got := e.Diagnostics(lost, 0); !has(got, "unreferenced") {
		t.Errorf("the lost script has %v", lsptest.Codes(got))
	}
	e.Open(manifest, "toml", plainManifest)
	e.Change(manifest, len(plainManifest), len(plainManifest), "on_error = \"hooks/lost.risor\"\n")
	e.AwaitDiagnostics(lost, func(p lsptest.Published) bool { return len(p.Diagnostics) == 0 && len(e.Shown(lost)) == 0 })
	// While the manifest is broken nobody knows.
	e.SetText(manifest, "[stages.main\n")
	e.AwaitDiagnostics(manifest, func(p lsptest.Published) bool { return has(p.Diagnostics, "manifest-syntax") })
	if got := e.Shown(lost); has(got, "unreferenced") {
		t.Error("with a broken manifest the script counts as lost")
	}
}

func TestHover(t *testing.T) {
	guard, at := lsptest.Mark(t, "func ⟦hook:on_tool_call⟧(ctx) {\n    return len(ctx.⟦field:tool_calls⟧) == 0⟦nothing⟧\n}\n")
	manifest, in := lsptest.Mark(t, strings.Replace(plainManifest, "tools =", "⟦key:tools⟧ =", 1))
	e, manifestURI, guardURI := opened(t, manifest, guard)
	hover := func(uri string, offset int) (value string, text string) {
		var h *struct {
			Contents struct{ Kind, Value string } `json:"contents"`
			Range    lsptest.Range                `json:"range"`
		}
		e.Must("textDocument/hover", e.Position(uri, offset), &h)
		if h == nil {
			return "", ""
		}
		return h.Contents.Value, e.TextAt(uri, h.Range)
	}
	for name, want := range map[string]string{"hook": "on_tool_call", "field": "tool_calls"} {
		if value, text := hover(guardURI, at[name].Start+1); value == "" || text != want {
			t.Errorf("hovering over %s: %q about %q", name, value, text)
		}
	}
	if value, _ := hover(guardURI, at["nothing"].Start+2); value != "" {
		t.Errorf("hovering over nothing: %q", value)
	}
	if value, text := hover(manifestURI, in["key"].Start+1); !strings.Contains(value, "stages.*.tools") || text != "tools" {
		t.Errorf("hovering over a key: %q about %q", value, text)
	}
}

func TestCompletion(t *testing.T) {
	guard, at := lsptest.Mark(t, "func on_tool_call(ctx) {\n    /* 😀 */ x := ctx.too⟦field⟧\n    return x\n}\n")
	manifest, in := lsptest.Mark(t, strings.Replace(plainManifest, "tools =", "to⟦key⟧ =", 1))
	e, manifestURI, guardURI := opened(t, manifest, guard)
	complete := func(uri string, offset int) map[string]lsptest.TextEdit {
		t.Helper()
		var list struct {
			Items []struct {
				Label    string           `json:"label"`
				TextEdit lsptest.TextEdit `json:"textEdit"`
			} `json:"items"`
		}
		e.Must("textDocument/completion", e.Position(uri, offset), &list)
		out := map[string]lsptest.TextEdit{}
		for _, item := range list.Items {
			if item.TextEdit.Range.Start.Line != item.TextEdit.Range.End.Line {
				t.Errorf("the item %q edits several lines", item.Label)
			}
			out[item.Label] = item.TextEdit
		}
		return out
	}
	items := complete(guardURI, at["field"].Start)
	edit, ok := items["tool_calls"]
	if !ok || e.TextAt(guardURI, edit.Range) != "too" {
		t.Errorf("after ctx. there is %v", items)
	}
	if _, ok := complete(manifestURI, in["key"].Start)["tools"]; !ok {
		t.Error("a stage's keys lack tools")
	}
}

func TestDefinitionGoesBothWays(t *testing.T) {
	guard, at := lsptest.Mark(t, "import lib\nfunc ⟦hook:on_tool_call⟧(ctx) {\n    ⟦def:n⟧ := lib.size(ctx)\n    return ⟦use:n⟧ == 0\n}\nx := ⟦module:lib⟧\n")
	manifest, in := lsptest.Mark(t, strings.Replace(plainManifest, `"hooks/guard.risor"`, `"hooks/⟦script:guard⟧.risor"`, 1))
	w := newWorkspace(t, map[string]string{
		".agent-ls/agent.toml": manifest, ".agent-ls/hooks/guard.risor": guard, ".agent-ls/hooks/lib.risor": "func size(c) { return 1 }\n",
	})
	e := start(t, server.Options{})
	e.Initialize(modern, w.folder())
	manifestURI, guardURI := w.uri(".agent-ls/agent.toml"), w.uri(".agent-ls/hooks/guard.risor")
	e.Open(manifestURI, "toml", manifest)
	e.Open(guardURI, "risor", guard)
	definition := func(uri string, span lsptest.Span) string {
		t.Helper()
		var locations []lsptest.Location
		e.Must("textDocument/definition", e.Position(uri, span.Start), &locations)
		var out []string
		for _, l := range locations {
			name := l.URI[strings.LastIndexByte(l.URI, '/')+1:]
			if e.Document(l.URI) != nil {
				name += " " + e.TextAt(l.URI, l.Range)
			}
			out = append(out, name)
		}
		return strings.Join(out, ", ")
	}
	for _, tt := range []struct {
		uri  string
		span lsptest.Span
		want string
	}{
		{manifestURI, in["script"], "guard.risor on_tool_call"},
		{guardURI, at["hook"], `agent.toml "hooks/guard.risor"`},
		{guardURI, at["use"], "guard.risor n"},
		{guardURI, at["module"], "lib.risor"},
	} {
		if got := definition(tt.uri, tt.span); got != tt.want {
			t.Errorf("the definition is %q, want %q", got, tt.want)
		}
	}

	references := func(span lsptest.Span, declaration bool) (out []string) {
		t.Helper()
		params := e.Position(guardURI, span.Start)
		params["context"] = map[string]any{"includeDeclaration": declaration}
		var locations []lsptest.Location
		e.Must("textDocument/references", params, &locations)
		for _, l := range locations {
			out = append(out, fmt.Sprint(l.URI[strings.LastIndexByte(l.URI, '/')+1:], " ", l.Range.Start.Line+1))
		}
		return out
	}
	if diff := cmp.Diff([]string{"guard.risor 3", "guard.risor 4"}, references(at["def"], true)); diff != "" {
		t.Errorf("references of n (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"guard.risor 4"}, references(at["def"], false)); diff != "" {
		t.Errorf("uses of n (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"agent.toml 8"}, references(at["hook"], false)); diff != "" {
		t.Errorf("uses of the hook (-want +got):\n%s", diff)
	}
}

func TestDefinitionInAnUntitledScript(t *testing.T) {
	e := start(t, server.Options{})
	e.Initialize(modern, nil)
	script, at := lsptest.Mark(t, "x := 1\ny := ⟦use:x⟧\n")
	e.Open("untitled:Untitled-1", "risor", script)
	var locations []lsptest.Location
	e.Must("textDocument/definition", e.Position("untitled:Untitled-1", at["use"].Start), &locations)
	if len(locations) != 1 || locations[0].URI != "untitled:Untitled-1" || locations[0].Range.Start.Line != 0 {
		t.Errorf("the definition is %+v", locations)
	}
}

func TestSymbols(t *testing.T) {
	e, manifest, guard := opened(t, plainManifest, "limit := 3\nfunc on_tool_call(ctx) {\n    return nil\n}\n")
	type symbol struct {
		Name           string        `json:"name"`
		Range          lsptest.Range `json:"range"`
		SelectionRange lsptest.Range `json:"selectionRange"`
		Children       []symbol      `json:"children"`
	}
	var names func(uri string, in []symbol) []string
	names = func(uri string, in []symbol) (out []string) {
		for _, s := range in {
			if whole, name := e.TextAt(uri, s.Range), e.TextAt(uri, s.SelectionRange); !strings.Contains(whole, name) {
				t.Errorf("the name %q is outside of %q", name, whole)
			}
			out = append(append(out, s.Name), names(uri, s.Children)...)
		}
		return out
	}
	for uri, want := range map[string][]string{
		guard:    {"limit", "on_tool_call"},
		manifest: {"agent", "name", "stages", "main", "tools", "hooks", "on_tool_call"},
	} {
		var got []symbol
		e.Must("textDocument/documentSymbol", lsptest.At(uri), &got)
		if diff := cmp.Diff(want, names(uri, got)); diff != "" {
			t.Errorf("symbols of %s (-want +got):\n%s", uri, diff)
		}
	}
}

func TestFlatSymbolsForOldClients(t *testing.T) {
	e := start(t, server.Options{})
	e.Initialize(nil, nil)
	e.Open("untitled:a", "risor", plainGuard)
	var got []struct {
		Name     string           `json:"name"`
		Location lsptest.Location `json:"location"`
	}
	e.Must("textDocument/documentSymbol", lsptest.At("untitled:a"), &got)
	if len(got) != 1 || got[0].Name != "on_tool_call" || got[0].Location.URI != "untitled:a" {
		t.Errorf("the symbols are %+v", got)
	}
}

func TestRunFindingsStayUntilTheFileIsEdited(t *testing.T) {
	w := newWorkspace(t, nil)
	hosts := make(chan *server.Host, 1)
	e := start(t, server.Options{Extend: func(h *server.Host) *server.Extension {
		hosts <- h
		return nil
	}})
	e.Initialize(modern, w.folder())
	host, uri, path := <-hosts, w.uri(".agent-ls/hooks/guard.risor"), w.path(".agent-ls/hooks/guard.risor")
	e.Open(uri, "risor", plainGuard)
	e.Diagnostics(uri, 1)
	at := strings.Index(plainGuard, "nil")
	failed := []check.Finding{check.FailedAtRunTime(path, check.Span{Start: at, End: at + 3}, "boom")}
	host.Findings.SetRunFindings(path, "another digest", failed)
	host.Findings.SetRunFindings(path, "", failed)
	got := e.AwaitDiagnostics(uri, func(p lsptest.Published) bool { return has(p.Diagnostics, "failed-at-run-time") })
	if i := slices.IndexFunc(got, func(d lsptest.Diagnostic) bool { return d.Code == "failed-at-run-time" }); e.TextAt(uri, got[i].Range) != "nil" {
		t.Errorf("the finding is at %q", e.TextAt(uri, got[i].Range))
	}
	v := e.Change(uri, 0, 0, "// edited\n")
	if got := e.Diagnostics(uri, v); has(got, "failed-at-run-time") {
		t.Error("the finding outlives the edit")
	}
}

func TestAnswersAreAboutWhatWasSentBefore(t *testing.T) {
	e, _, uri := opened(t, plainManifest, plainGuard)
	var pending []*lsptest.Pending
	for range 100 {
		e.Change(uri, 0, 0, "// more\n")
		pending = append(pending, e.Send("textDocument/documentSymbol", lsptest.At(uri)))
	}
	for i, p := range pending {
		var got []struct {
			Range lsptest.Range `json:"range"`
		}
		if err := p.Result(&got); err != nil || len(got) != 1 || got[0].Range.Start.Line != i+1 {
			t.Fatalf("request %d was answered with %+v (%v)", i, got, err)
		}
	}
}

func TestAnUnknownMethodOfAnExtension(t *testing.T) {
	e := start(t, server.Options{Extend: func(*server.Host) *server.Extension {
		return &server.Extension{
			Requests: map[string]server.RequestHandler{"agent/list": nil},
			Commands: map[string]server.CommandHandler{"agent.run": nil},
		}
	}})
	raw := e.Initialize(modern, nil)
	var got struct {
		Capabilities struct {
			Experimental           json.RawMessage `json:"experimental"`
			ExecuteCommandProvider struct {
				Commands []string `json:"commands"`
			} `json:"executeCommandProvider"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if want := `{"agent":{"methods":["agent/list"],"version":1}}`; string(got.Capabilities.Experimental) != want {
		t.Errorf("experimental is %s, want %s", got.Capabilities.Experimental, want)
	}
	if diff := cmp.Diff([]string{"agent.run"}, got.Capabilities.ExecuteCommandProvider.Commands); diff != "" {
		t.Error(diff)
	}
	// A handler that is nil panics; the server goes on.
	if err := e.Call("agent/list", map[string]any{}, nil); lsptest.Code(err) != -32603 {
		t.Errorf("a broken handler gives %v", err)
	}
	if err := e.Call("agent/nothing", map[string]any{}, nil); lsptest.Code(err) != -32601 {
		t.Errorf("an unknown method gives %v", err)
	}
	if err := e.Call("workspace/executeCommand", map[string]any{"command": "agent.fly"}, nil); lsptest.Code(err) != -32602 {
		t.Errorf("an unknown command gives %v", err)
	}
}
