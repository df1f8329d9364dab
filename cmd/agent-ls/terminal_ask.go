package main

import (
	"context"
	"io"
	"strconv"
	"strings"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

var _ run.Asker = (*terminal)(nil)

// Ask puts a question of the agent on the terminal and reads one line: the
// number or the label of an option, or anything else as the answer itself. An
// empty line is asked again, the end of input dismisses the question.
func (t *terminal) Ask(ctx context.Context, q report.Question) (report.Reply, error) {
	t.outMu.Lock()
	t.line("%s %s", t.bold("the agent asks:"), q.Header)
	for line := range strings.Lines(q.Prompt) {
		t.line("  %s", strings.TrimRight(line, "\r\n"))
	}
	for i, o := range q.Options {
		text := o.Label
		if o.Description != "" {
			text += ": " + o.Description
		}
		t.line("  %d. %s", i+1, text)
	}
	t.outMu.Unlock()
	if t.lines == nil {
		return report.Reply{}, run.ErrNoApprover
	}
	for {
		t.outMu.Lock()
		t.prompt("answer:")
		t.outMu.Unlock()
		line, err := t.lines.next(ctx)
		if err == io.EOF {
			return report.Reply{Dismissed: true, By: "end of input"}, nil
		}
		if err != nil {
			return report.Reply{}, err
		}
		if text, ok := replyFrom(line, q.Options); ok {
			return report.Reply{Text: text, By: "here"}, nil
		}
	}
}

// replyFrom reads a line as an answer; false asks again.
func replyFrom(line string, options []report.Option) (string, bool) {
	line = strings.TrimSpace(line)
	if line == "" {
		return "", false
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
		return options[n-1].Label, true
	}
	for _, o := range options {
		if strings.EqualFold(o.Label, line) {
			return o.Label, true
		}
	}
	return line, true
}
