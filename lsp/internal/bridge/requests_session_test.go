package bridge

import (
	"fmt"
	"strings"
	"testing"

	"go.lsp.dev/jsonrpc2"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

func TestSessionRequests(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	var got []string
	api.set = func(id string, mode loop.Mode, model string) error {
		got = append(got, fmt.Sprint("set ", id, " ", mode, " ", model))
		return nil
	}
	api.fork = func(id string, at int64) (string, error) {
		got = append(got, fmt.Sprint("fork ", id, " ", at))
		return "s2", nil
	}
	api.delete = func(id string) error { got = append(got, "delete "+id); return nil }
	if !mustAsk[OK](t, x, "agent/set", `{"sessionId":"s1","mode":"plan","model":"m"}`).OK {
		t.Error("set is not ok")
	}
	if r := mustAsk[ForkResult](t, x, "agent/fork", `{"sessionId":"s1","atSeq":7}`); r.SessionID != "s2" {
		t.Errorf("fork %+v", r)
	}
	if !mustAsk[OK](t, x, "agent/deleteSession", `{"sessionId":"s1"}`).OK {
		t.Error("deleteSession is not ok")
	}
	if want := "set s1 plan m, fork s1 7, delete s1"; strings.Join(got, ", ") != want {
		t.Errorf("called %q, want %q", got, want)
	}
	for _, c := range [][2]string{
		{"agent/set", `{"sessionId":"s1"}`}, {"agent/set", `{"mode":"ask"}`}, {"agent/set", `{"sessionId":"s1","mode":"fast"}`},
		{"agent/fork", `{"sessionId":"s1","atSeq":-1}`}, {"agent/fork", `{}`}, {"agent/deleteSession", `{}`},
	} {
		if _, err := ask(t, x, c[0], c[1]); codeOf(err) != jsonrpc2.InvalidParams {
			t.Errorf("%s %s = %v", c[0], c[1], err)
		}
	}
	api.set = func(string, loop.Mode, string) error { return run.ErrUnknownModel }
	_, err := ask(t, x, "agent/set", `{"sessionId":"s1","model":"nope"}`)
	if codeOf(err) == jsonrpc2.InvalidParams || err == nil {
		t.Errorf("an unknown model: %v", err)
	}
	api.delete = func(string) error { return run.ErrSessionBusy }
	if _, err := ask(t, x, "agent/deleteSession", `{"sessionId":"s1"}`); codeOf(err) != CodeSessionBusy {
		t.Errorf("a busy session: %v", err)
	}
}

func TestDecisionsOfAnUnknownRun(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	api.decided = func(q run.DecisionQuery) ([]hooks.Decision, string, error) { return nil, "", run.ErrUnknownID }
	_, err := ask(t, x, "agent/decisions", `{"runId":"nope"}`)
	if codeOf(err) != CodeUnknownID || dataOf[UnknownIDData](t, err) != (UnknownIDData{ID: "nope", Kind: "run"}) {
		t.Errorf("decisions of an unknown run: %v", err)
	}
}

// An approval that another window shows is listed here too, so this editor
// hears how it ends.
func TestApprovalElsewhereIsTakenDown(t *testing.T) {
	f := newFakeHost(t)
	f.caps.Agent.Approvals = true
	_, x, api := newTestBridge(t, f)
	api.settled = make(chan run.Settled)
	api.pending = func() []report.Approval {
		return []report.Approval{{ID: "a1", RunID: "r9", SessionID: "s9", Risk: loop.Read, Elsewhere: true, Outcomes: []report.ApprovalOutcome{report.DenyOnce}}}
	}
	for range 2 { // listed twice, told once
		if got := mustAsk[PendingResult](t, x, "agent/pending", `{}`); len(got.Approvals) != 1 || !got.Approvals[0].Elsewhere {
			t.Fatalf("pending %+v", got)
		}
	}
	api.settled <- run.Settled{Outcome: report.AllowOnce, By: "elsewhere"}
	if got, want := string(f.wait("agent/approvalResolved", 1)), `{"id":"a1","outcome":"allowOnce","by":"elsewhere"}`; got != want {
		t.Errorf("resolved %s, want %s", got, want)
	}
}

// A script that changes under a run is said once: the run keeps the older text.
func TestARunThatKeepsAnOlderScriptIsSaid(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	var asked []string
	api.outdated = func(id string) []string { asked = append(asked, id); return []string{"/w/.agent-ls/hooks/guard.risor"} }
	x.ManifestChanged(f.root()) // nothing runs
	mustAsk[StartResult](t, x, "agent/start", `{"prompt":"fix it"}`)
	api.front.Event(report.Event{RunID: "r1", SessionID: "s1", Seq: 1, Type: report.RunStarted})
	x.ManifestChanged(f.root())
	if m := string(f.wait("window/showMessage", 1)); !strings.Contains(m, "keeps guard.risor as it was") || !strings.Contains(m, `"type":3`) {
		t.Errorf("said %s", m)
	}
	if len(asked) != 1 || asked[0] != "r1" {
		t.Errorf("asked about %v", asked)
	}
}
