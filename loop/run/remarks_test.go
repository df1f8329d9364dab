package run

import (
	"strings"
	"testing"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// What a provider says beside its answer is told to hooks and shown; an answer
// with nothing beside it leads to none of that.
func TestProvidersRemarks(t *testing.T) {
	for _, d := range dialects() {
		t.Run(d.provider, func(t *testing.T) {
			events := d.text("ok")
			want := map[string][]string{}
			if d.provider == "anthropic" {
				events[0] = strings.Replace(events[0], `"content":[]`, `"content":[],"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"model_binding_mismatch"},{"type":"thinking_mismatch_allowed","path":"messages.3.content.0","reason":"x"}]`, 1)
				last := len(events) - 2
				events[last] = strings.Replace(events[last], `"stop_reason":"end_turn"`, `"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It looks like an attack."}`, 1)
				want["provider:diagnostic"] = []string{"cyber: It looks like an attack."}
				want["provider:input-transformations"] = []string{"1"}
			} else {
				events[0] = strings.Replace(events[0], `"choices"`, `"warnings":["top_k is ignored",{"code":"deprecated","message":"use another model"},"top_k is ignored",7],"choices"`, 1)
				events[1] = strings.Replace(events[1], `"finish_reason":"stop"`, `"finish_reason":"content_filter","content_filter_results":{"hate":{"filtered":true}}`, 1)
				want["provider:diagnostic"] = []string{": top_k is ignored", "deprecated: use another model", "content_filter: the provider's filter stopped the answer"}
			}
			r, _ := wired(t, d, manifest.Model{}, func(n int) wireAnswer {
				if n == 1 {
					return streaming(events)
				}
				return streaming(d.text("quiet"))
			})
			h := r.overhear("provider:diagnostic", "provider:input-transformations")
			s := r.start("x")
			if end := r.wait(s.RunID); end.Status != report.Done {
				t.Fatalf("ended %s: %s", end.Status, end.Error)
			}
			r.wait(r.startIn(s.SessionID, "again").RunID)
			var said []string
			for _, f := range h.fields["provider:diagnostic"] {
				said = append(said, f["code"].(string)+": "+f["message"].(string))
				if !strings.Contains(r.screen.text(), f["message"].(string)) {
					t.Errorf("%q is not shown; events:\n%s", f["message"], r.screen.text())
				}
			}
			if got := strings.Join(said, "\n"); got != strings.Join(want["provider:diagnostic"], "\n") {
				t.Errorf("the provider said\n%s", got)
			}
			dropped := h.fields["provider:input-transformations"]
			if len(dropped) != len(want["provider:input-transformations"]) {
				t.Fatalf("input transformations: %v", dropped)
			}
			for _, f := range dropped {
				details, _ := f["details"].([]any)
				if f["dropped"] != int64(1) || len(details) != 1 || details[0].(map[string]any)["reason"] != "model_binding_mismatch" {
					t.Errorf("ctx = %v", f)
				}
			}
		})
	}
}
