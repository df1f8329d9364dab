package run

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agent-ls/loop/report"
)

func TestUnknownToolsStopTheStart(t *testing.T) {
	r := newRig(t)
	r.real(nil)
	r.config.Agents[0].Stages[0].Tools = []string{"read_file", "bash", "gerp"}
	_, err := r.svc.Start(context.Background(), StartParams{Prompt: "x"})
	var cannot *CannotStart
	if !errors.As(err, &cannot) || len(cannot.Findings) != 1 || cannot.Findings[0].Code != "unknown-tool" || !strings.Contains(err.Error(), `unknown tool "gerp", did you mean "grep"?`) {
		t.Errorf("error %v", err)
	}
}

func TestAnAnswerThatWasCutIsSaidSo(t *testing.T) {
	r := newRig(t)
	r.model.turns = []turn{{text: "half an ans", stop: "max_tokens"}}
	r.wait(r.start("x").RunID)
	said := false
	for _, e := range r.screen.all() {
		said = said || e.Type == report.Notice && e.Level == "warning" && strings.Contains(e.Text, "max_tokens")
	}
	if !said {
		t.Errorf("nothing says so:\n%s", r.screen.text())
	}
}
