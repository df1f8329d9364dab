package run

import (
	"strings"
	"testing"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// The tasks of a session are shown when they change, and outlive the process.
func TestTodosOutliveTheProcess(t *testing.T) {
	r := newRig(t)
	r.realTools()
	r.config.Policy = manifest.Policy{Default: "ask"}
	r.model.turns = []turn{
		{calls: []string{`todowrite {"todos":[{"content":"look","status":"in_progress"}]}`, `todoread {}`}},
		{calls: []string{`todowrite {"todos":[{"content":"look","status":"completed"},{"content":"write","status":"pending"}]}`}}, {text: "done"},
		{text: "I leave it"}, // it is reminded once of the open one, and insists
	}
	s := r.start("x")
	if end := r.wait(s.RunID); end.Status != report.Done || *end.Output != "I leave it" {
		t.Fatalf("ended %s: %s", end.Status, end.Error)
	}
	asked := r.model.requests()
	if said := lastText(asked[len(asked)-1]); !strings.Contains(said, "1 of the 2 tasks on your list are still open:\n- write (pending)\n") {
		t.Errorf("the model is told %q", said)
	}
	var shown []string
	for _, e := range r.screen.all() {
		if e.Type == report.TodosChanged {
			shown = append(shown, string(e.Todos))
		}
	}
	want := `[{"content":"look","status":"in_progress"}] [{"content":"look","status":"completed"},{"content":"write","status":"pending"}]`
	if got := strings.Join(shown, " "); got != want {
		t.Errorf("shown %s, want %s", got, want)
	}
	if got := r.outputs(); got[1] != "ok: [>] look\n1 of 1 open" {
		t.Errorf("results %q", got)
	}
	r.close()
	r.open()
	r.realTools()
	r.model.turns = []turn{{calls: []string{`todoread {}`}}, {text: "done"}}
	r.wait(r.startIn(s.SessionID, "go on").RunID)
	if got := r.outputs(); got[len(got)-1] != "ok: [x] look\n[ ] write\n1 of 2 open" {
		t.Errorf("in another process: %q", got[len(got)-1])
	}
}
