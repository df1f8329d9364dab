package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks/measured"
	"agent-ls/lsp/internal/server"
)

// script makes a guard of about so many lines.
func script(lines int) string {
	var b strings.Builder
	for i := 0; b.Len() == 0 || strings.Count(b.String(), "\n") < lines-12; i++ {
		fmt.Fprintf(&b, `func helper%d(call) {
    name := call.name
    if name == "shell" && len(call.arguments) > %d {
        return name + "!"
    }
    for _, word := range ["rm", "dd", "mkfs"] {
        if strings.contains(name, word) {
            return word
        }
    }
    return nil
}
`, i, i)
	}
	b.WriteString(`func on_tool_call(ctx) {
    for _, call := range ctx.tool_calls {
        if helper0(call) != nil {
            return {action: "deny", reason: "no"}
        }
    }
    return nil
}
`)
	return b.String()
}

// percentiles reports the middle and the slow end of what was measured, the
// latter beside what it should stay within, in milliseconds; 0 for no target.
func percentiles(b *testing.B, took measured.Sample, within float64, what string) {
	measured.Own(b)
	b.ReportMetric(took.Millis(0.5), what+"-p50-ms")
	if within > 0 {
		measured.Most(b, took.Millis(0.95), within, what+"-p95-ms")
		return
	}
	b.ReportMetric(took.Millis(0.95), what+"-p95-ms")
}

// BenchmarkKeystroke measures from a keystroke in a script to its diagnostics
// on the wire, a keystroke at a time, as people type.
func BenchmarkKeystroke(b *testing.B) {
	var ofThousand float64
	for _, lines := range []int{100, 1_000, 4_000} {
		b.Run(fmt.Sprintf("lines=%d", lines), func(b *testing.B) {
			w := newWorkspace(b, map[string]string{".agent-ls/agent.toml": plainManifest, ".agent-ls/hooks/guard.risor": plainGuard})
			e := start(b, server.Options{})
			e.Initialize(nil, w.folder())
			uri, content := w.uri(".agent-ls/hooks/guard.risor"), script(lines)
			e.Open(uri, "risor", content)
			if got := e.Diagnostics(uri, 1); len(got) > 0 && got[0].Severity < 3 {
				b.Fatalf("the script is not clean: %+v", got[0])
			}
			at := strings.LastIndex(content, "reason")
			took := make(measured.Sample, 0, b.N)
			b.ResetTimer()
			for i := range b.N {
				began := time.Now()
				version := 0
				if i%2 == 0 {
					version = e.Change(uri, at, at, "x")
				} else {
					version = e.Change(uri, at, at+1, "")
				}
				e.Diagnostics(uri, version)
				took = append(took, time.Since(began))
				e.Forget()
			}
			switch lines {
			case 1_000:
				percentiles(b, took, 5, "keystroke")
				ofThousand = took.Millis(0.5)
			default:
				percentiles(b, took, 0, "keystroke")
			}
			if lines > 1_000 && ofThousand > 0 { // linear, and a tenth
				measured.Most(b, took.Millis(0.5)/ofThousand, 1.1*float64(lines)/1_000, "times-1000-lines")
			}
		})
	}
}

// BenchmarkQuestions measures completion and hover in a script of 1,000 lines.
func BenchmarkQuestions(b *testing.B) {
	for _, method := range []string{"textDocument/completion", "textDocument/hover", "textDocument/definition"} {
		b.Run(method, func(b *testing.B) {
			e := start(b, server.Options{})
			e.Initialize(nil, nil)
			const uri = "untitled:guard"
			content := script(1_000)
			e.Open(uri, "risor", content)
			at := strings.LastIndex(content, "ctx.tool_calls") + len("ctx.tool")
			params := e.Position(uri, at)
			took := make(measured.Sample, 0, b.N)
			b.ResetTimer()
			for range b.N {
				began := time.Now()
				e.Must(method, params, nil)
				took = append(took, time.Since(began))
			}
			percentiles(b, took, 5, "answer")
		})
	}
}

// BenchmarkManifestKeystroke measures the same for agent.toml, which reads the
// whole configuration.
func BenchmarkManifestKeystroke(b *testing.B) {
	w := newWorkspace(b, nil)
	e := start(b, server.Options{})
	e.Initialize(nil, w.folder())
	uri := w.uri(".agent-ls/agent.toml")
	e.Open(uri, "toml", plainManifest)
	e.Diagnostics(uri, 1)
	took := make(measured.Sample, 0, b.N)
	b.ResetTimer()
	for i := range b.N {
		began := time.Now()
		version := 0
		if i%2 == 0 {
			version = e.Change(uri, 0, 0, "#")
		} else {
			version = e.Change(uri, 0, 1, "")
		}
		e.Diagnostics(uri, version)
		took = append(took, time.Since(began))
		e.Forget()
	}
	percentiles(b, took, 0, "keystroke")
}

// BenchmarkInitialize measures the answer to initialize of a server that has
// just been made.
func BenchmarkInitialize(b *testing.B) {
	w := newWorkspace(b, nil)
	took := make(measured.Sample, 0, b.N)
	for range min(b.N, 200) {
		e := start(b, server.Options{UserConfig: w.path("none.toml"), OrgPolicy: w.path("none.toml")})
		params := map[string]any{"processId": nil, "rootUri": nil, "capabilities": map[string]any{}}
		for k, v := range w.folder() {
			params[k] = v
		}
		began := time.Now()
		e.Must("initialize", params, nil)
		took = append(took, time.Since(began))
		e.Hangup()
	}
	percentiles(b, took, 0, "initialize")
}
