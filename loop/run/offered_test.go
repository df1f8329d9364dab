package run

import (
	"slices"
	"testing"

	"agent-ls/loop/report"
)

// A tool that reaches out of the machine is offered only where a stage names
// it; all others come with "*".
func TestWhatAStageOffers(t *testing.T) {
	for named, tools := range map[bool][]string{false: {"*"}, true: {"*", "webfetch"}} {
		r := newRig(t)
		r.realTools()
		r.config.Agents[0].Stages[0].Tools = tools
		r.model.turns = []turn{{text: "done"}}
		if end := r.wait(r.start("x").RunID); end.Status != report.Done {
			t.Fatalf("ended %s: %s", end.Status, end.Error)
		}
		var offered []string
		for _, spec := range r.model.requests()[0].Tools {
			offered = append(offered, spec.Name)
		}
		for _, name := range []string{"read_file", "multi_edit", "todoread", "todowrite", "diagnostics", "definition", "references", "symbols", "rename"} {
			if !slices.Contains(offered, name) {
				t.Errorf("%v does not offer %s: %v", tools, name, offered)
			}
		}
		if slices.Contains(offered, "web_fetch") != named {
			t.Errorf("%v offers %v", tools, offered)
		}
	}
}
