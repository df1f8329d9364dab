package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/lsptest"
)

// expectation is the comment of the checker's cases that says which codes a
// line has.
var expectation = regexp.MustCompile(`//!([ a-z-]*)`)

// TestTheCheckersCasesOnTheWire runs the checker's own cases through a server,
// as they are, with other line ends, with characters outside the BMP before
// every position, and in every encoding: what an editor underlines must be the
// same words on the same lines.
func TestTheCheckersCasesOnTheWire(t *testing.T) {
	files, err := filepath.Glob("../../../hooks/check/testdata/*.risor")
	if err != nil || len(files) == 0 {
		t.Fatalf("the cases are gone: %v", err)
	}
	variants := []struct {
		name string
		make func(string) string
	}{
		{"as it is", func(s string) string { return s }},
		{"CRLF", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{"CR", func(s string) string { return strings.ReplaceAll(s, "\n", "\r") }},
		{"astral", func(s string) string { return astral(s) }},
		{"byte order mark", func(s string) string { return "\ufeff" + s }},
	}
	for _, encoding := range []string{"utf-8", "utf-16", "utf-32"} {
		e := start(t, server.Options{})
		e.Initialize(map[string]any{"general": map[string]any{"positionEncodings": []string{encoding}}}, nil)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			content := strings.ReplaceAll(string(raw), "\r\n", "\n")
			var plain []string
			for _, v := range variants {
				t.Run(filepath.Base(file)+"/"+encoding+"/"+v.name, func(t *testing.T) {
					uri := "untitled:" + filepath.Base(file) + "-" + strings.ReplaceAll(v.name, " ", "-")
					e.Open(uri, "risor", v.make(content))
					got := found(e, uri, e.Diagnostics(uri, 1))
					if plain == nil {
						plain = got
						return
					}
					if diff := cmp.Diff(plain, got); diff != "" {
						t.Errorf("the findings differ (-as it is +%s):\n%s", v.name, diff)
					}
				})
			}
			for _, want := range expected(content) {
				if !slices.ContainsFunc(plain, func(got string) bool { return strings.HasPrefix(got, want+" ") }) {
					t.Errorf("%s: %s is not there, there is %v", file, want, plain)
				}
			}
		}
	}
}

// astral puts a comment with characters outside the BMP before every line of
// code.
func astral(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		code := strings.TrimLeft(line, " \t")
		if code != "" && !strings.HasPrefix(code, "//") && !strings.Contains(s, "`") {
			lines[i] = line[:len(line)-len(code)] + "/* 😀𝒳 e\u0301 */ " + code
		}
	}
	return strings.Join(lines, "\n")
}

// found describes diagnostics by line, code and the words that they are about.
func found(e *lsptest.Editor, uri string, diagnostics []lsptest.Diagnostic) []string {
	var out []string
	for _, d := range diagnostics {
		words := strings.NewReplacer("\r\n", "\n", "\r", "\n", "/* 😀𝒳 e\u0301 */ ", "", "\ufeff", "").Replace(e.TextAt(uri, d.Range))
		out = append(out, fmt.Sprintf("%d %s %q", d.Range.Start.Line+1, d.Code, words))
	}
	return out
}

// expected lists what the comments say.
func expected(content string) []string {
	var out []string
	for i, line := range strings.Split(content, "\n") {
		if m := expectation.FindStringSubmatch(line); m != nil {
			for _, code := range strings.Fields(m[1]) {
				out = append(out, fmt.Sprintf("%d %s", i+1, code))
			}
		}
	}
	return out
}

// TestHostileScriptsCostNothing opens what tries to bring a server down.
func TestHostileScriptsCostNothing(t *testing.T) {
	files, err := filepath.Glob("../../../hooks/check/testdata/hostile/*.risor")
	if err != nil || len(files) == 0 {
		t.Fatalf("the cases are gone: %v", err)
	}
	e := start(t, server.Options{})
	e.Initialize(nil, nil)
	contents := map[string]string{
		"brackets": strings.Repeat("(", 1_000_000),
		"open":     "func on_tool_call(ctx) {" + strings.Repeat("if true {", 100_000),
		"holes":    "x := '" + strings.Repeat("{'", 50_000),
		"one line": "x := 1" + strings.Repeat(" + 1", 200_000),
		"nothing":  "",
		"nul":      "x := \x00\nfunc on_error(ctx) { return nil }\n",
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		contents[filepath.Base(file)] = string(raw)
	}
	for name, content := range contents {
		uri := "untitled:" + strings.ReplaceAll(name, " ", "-")
		began := time.Now()
		e.Open(uri, "risor", content)
		e.Diagnostics(uri, 1)
		for _, method := range []string{"textDocument/hover", "textDocument/completion", "textDocument/definition"} {
			e.Must(method, e.Position(uri, len(content)/2), nil)
		}
		// Each wait has its own limit; the sum is told for those who read logs.
		t.Logf("%s took %s", name, time.Since(began))
		e.Close(uri)
	}
	if err := e.Quit(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
