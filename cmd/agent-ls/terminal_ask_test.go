package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

func TestTerminalAsks(t *testing.T) {
	q := report.Question{Header: "Port", Prompt: "Which one?", Options: []report.Option{{Label: "http"}, {Label: "https", Description: "safe"}}}
	for in, want := range map[string]report.Reply{
		"2\n":     {Text: "https", By: "here"},
		"HTTP\n":  {Text: "http", By: "here"},
		"\n 3 \n": {Text: "3", By: "here"},
		"neither": {Text: "neither", By: "here"},
		"":        {Dismissed: true, By: "end of input"},
		"\n   \n": {Dismissed: true, By: "end of input"},
	} {
		var out strings.Builder
		term := &terminal{out: &out, lines: newLineReader(strings.NewReader(in))}
		got, err := term.Ask(context.Background(), q)
		if err != nil || got != want {
			t.Errorf("Ask with %q = %+v, %v; want %+v", in, got, err, want)
		}
		if !strings.Contains(out.String(), "2. https: safe") {
			t.Errorf("shown:\n%s", out.String())
		}
	}
}

func TestTerminalWithoutAPersonSaysSo(t *testing.T) {
	term := newTerminal(t.TempDir(), os.Stderr)
	term.lines = nil
	if _, err := term.Ask(context.Background(), report.Question{}); !errors.Is(err, run.ErrNoApprover) {
		t.Errorf("Ask = %v, want no approver", err)
	}
}
