package bridge

import (
	"encoding/json"
	"testing"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/server"
)

var portQuestion = report.Question{
	ID: "q1", RunID: "r1", Header: "Port", Prompt: "Which?", FreeText: true,
	Options: []report.Option{{Label: "80"}, {Label: "8080", Description: "the usual"}},
}

func TestAskAsksTheEditor(t *testing.T) {
	for name, test := range map[string]struct {
		answer any
		want   report.Reply
	}{
		"an answer":   {map[string]any{"answer": "80"}, report.Reply{Text: "80", By: "here"}},
		"own words":   {map[string]any{"answer": "any"}, report.Reply{Text: "any", By: "here"}},
		"dismissed":   {map[string]any{"dismissed": true}, report.Reply{Dismissed: true, By: "here"}},
		"null":        {nil, report.Reply{Dismissed: true, By: "here"}},
		"something":   {map[string]any{"outcome": "yes"}, report.Reply{Dismissed: true, By: "here"}},
		"a number":    {map[string]any{"answer": 3}, report.Reply{Dismissed: true, By: "here"}},
		"only a text": {"80", report.Reply{Dismissed: true, By: "here"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeHost(t)
			f.caps.Agent = server.AgentCapabilities{Questions: true}
			f.answer(methodAsk, test.answer)
			_, _, api := newTestBridge(t, f)
			got, err := api.front.(run.Asker).Ask(t.Context(), portQuestion)
			if err != nil || got != test.want {
				t.Errorf("Ask = %+v, %v; want %+v", got, err, test.want)
			}
			sent := decodeJSON[Question](t, f.wait(methodAsk, 1))
			if sent.ID != "q1" || len(sent.Options) != 2 || sent.Options[1].Description != "the usual" || !sent.FreeText {
				t.Errorf("the editor was shown %+v", sent)
			}
		})
	}
}

func TestAPlainEditorIsAskedByAMessage(t *testing.T) {
	f := newFakeHost(t)
	f.answer("window/showMessageRequest", map[string]any{"title": "8080"})
	_, _, api := newTestBridge(t, f)
	got, err := api.front.(run.Asker).Ask(t.Context(), portQuestion)
	if err != nil || got != (report.Reply{Text: "8080", By: "here"}) {
		t.Errorf("Ask = %+v, %v", got, err)
	}
	f.answer("window/showMessageRequest", map[string]any{"title": dismissTitle})
	if got, err = api.front.(run.Asker).Ask(t.Context(), portQuestion); err != nil || !got.Dismissed {
		t.Errorf("Ask = %+v, %v; want it dismissed", got, err)
	}
}

func TestResolveAnswersAQuestion(t *testing.T) {
	f := newFakeHost(t)
	_, x, api := newTestBridge(t, f)
	var given []report.Answer
	api.asked = []report.Question{portQuestion}
	api.resolve = func(id string, a report.Answer) error {
		if id != "q1" {
			return run.ErrUnknownID
		}
		given = append(given, a)
		return nil
	}
	call := func(params string) error {
		_, err := x.Requests["agent/resolve"](t.Context(), json.RawMessage(params))
		return err
	}
	if err := call(`{"id":"q1","answer":"443"}`); err != nil || len(given) != 1 || given[0].Reply == nil || *given[0].Reply != "443" {
		t.Fatalf("resolve: %v, %+v", err, given)
	}
	if err := call(`{"id":"q1","outcome":"deny"}`); err != nil || given[1].Reply != nil {
		t.Errorf("dismiss: %v, %+v", err, given)
	}
	for _, bad := range []string{`{"id":"q1","answer":3}`, `{"id":"q1","outcome":"allowOnce"}`} {
		if err := call(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if _, err := x.Commands["agent.answer"](t.Context(), []json.RawMessage{[]byte(`"own words"`)}); err != nil || *given[len(given)-1].Reply != "own words" {
		t.Errorf("agent.answer: %v, %+v", err, given[len(given)-1])
	}
}
