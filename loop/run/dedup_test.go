package run

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// A real script names equal calls; a call that it gives no key runs again.
func TestDedupToolsWithAScript(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.config.Policy = manifest.Policy{Default: "allow"}
	r.file("a.txt", "one\n")
	r.config.Behavior.DedupTools = []manifest.DedupTool{{Tool: "grep", Path: filepath.Join(r.dir, "ws", "dedup.risor"), Text: []byte(`func dedup_key(input) {
    if input.pattern == "fresh" {
        return nil
    }
    return strings.to_lower(input.pattern)
}
`)}}
	r.model.turns = []turn{
		{calls: []string{`grep {"pattern":"one"}`}}, {calls: []string{`grep {"pattern":"ONE"}`}},
		{calls: []string{`grep {"pattern":"fresh"}`}}, {calls: []string{`grep {"pattern":"fresh"}`}}, {text: "done"},
	}
	if end := r.wait(r.start("x").RunID); end.Status != report.Done {
		t.Fatalf("ended %s: %s", end.Status, end.Error)
	}
	got := r.outputs()
	if len(got) != 4 || !strings.HasPrefix(got[0], "ok: ") || got[1] != "substituted: "+strings.TrimPrefix(got[0], "ok: ") || strings.HasPrefix(got[3], "substituted") {
		t.Errorf("results %q", got)
	}
}

func TestADedupScriptThatCannotRunStopsTheStart(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.config.Behavior.DedupTools = []manifest.DedupTool{{Tool: "grep", Path: filepath.Join(r.dir, "ws", "dedup.risor"), Text: []byte("func dedup(input) { return nil }")}}
	_, err := r.svc.Start(context.Background(), StartParams{Prompt: "x"})
	var cannot *CannotStart
	if !errors.As(err, &cannot) || len(cannot.Findings) != 1 || cannot.Findings[0].Code != check.CodeMissingFunction {
		t.Errorf("error %v", err)
	}
}
