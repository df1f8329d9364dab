package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"agent-ls/hooks"
	"agent-ls/loop/report"
)

// maxMessageLines bounds a message box. What is longer is put into a document,
// and the message names it: nobody is asked to allow what they cannot read.
const maxMessageLines = 40

// actionTitles are the protocol page's, in the order in which they are offered.
var actionTitles = []struct {
	outcome report.ApprovalOutcome
	title   string
}{
	{report.AllowOnce, "Allow once"},
	{report.AllowSession, "Allow for this session"},
	{report.AllowAlways, "Always allow"},
	{report.DenyOnce, "Deny"},
}

// askByMessage asks through window/showMessageRequest, which every editor has
// that speaks the protocol.
func (b *bridge) askByMessage(ctx context.Context, ap report.Approval) (report.Answer, error) {
	params := protocol.ShowMessageRequestParams{
		Type:    protocol.MessageTypeWarning,
		Message: b.approvalMessage(ctx, ap),
	}
	offered := map[string]report.ApprovalOutcome{}
	for _, a := range actionTitles {
		if a.outcome == report.DenyOnce || offers(ap, a.outcome) {
			params.Actions = append(params.Actions, protocol.MessageActionItem{Title: a.title})
			offered[a.title] = a.outcome
		}
	}
	var raw json.RawMessage
	if err := b.call(ctx, protocol.MethodWindowShowMessageRequest, &params, &raw); err != nil {
		return b.unanswered(ctx, err)
	}
	if isNull(raw) {
		return dismissed(), nil
	}
	var action struct {
		Title *string `json:"title"`
	}
	if err := json.Unmarshal(raw, &action); err != nil || action.Title == nil {
		return malformed("it is no message action"), nil
	}
	outcome, ok := offered[*action.Title]
	if !ok {
		return malformed("the action %q was not offered", *action.Title), nil
	}
	return report.Answer{Outcome: outcome, By: byHere}, nil
}

func offers(ap report.Approval, outcome report.ApprovalOutcome) bool {
	for _, o := range ap.Outcomes {
		if o == outcome {
			return true
		}
	}
	return false
}

// approvalMessage is the text of the message box. A long one is cut after its
// first lines; the whole is then shown as a document, or lies in a file that
// the message names.
func (b *bridge) approvalMessage(ctx context.Context, ap report.Approval) string {
	full := approvalText(b.wire.approval(ap))
	lines := strings.Split(full, "\n")
	if len(lines) <= maxMessageLines {
		return full
	}
	place := b.content.present(ctx, approvalURI(ap.ID), full)
	cut := strings.Join(lines[:maxMessageLines], "\n")
	return fmt.Sprintf("%s\n… %d more lines in %s", cut, len(lines)-maxMessageLines, place)
}

// approvalText says everything that a person needs to decide: what would run,
// what it would change, who asked, what hooks did to it, what a lasting grant
// would cover. Its parts were made visible before.
func approvalText(a Approval) string {
	var s strings.Builder
	fmt.Fprintf(&s, "The agent wants to %s: %s\n", riskVerb(a.Risk), a.Title)
	fmt.Fprintf(&s, "Tool: %s", a.Tool)
	if a.Stage != "" {
		fmt.Fprintf(&s, ", stage %s", a.Stage)
	}
	s.WriteString("\n")
	switch {
	case a.Command != nil:
		fmt.Fprintf(&s, "Command: %s\nIn: %s\n", a.Command.Line, show(a.Command.Cwd))
	case len(a.Edits) > 0:
		for _, e := range a.Edits {
			s.WriteString(strings.TrimRight(e.Diff, "\n") + "\n")
		}
	default:
		fmt.Fprintf(&s, "Arguments: %s\n", show(string(a.Arguments)))
	}
	for _, why := range a.Why {
		fmt.Fprintf(&s, "Asked by: %s\n", why)
	}
	for _, d := range a.Hooks {
		s.WriteString(hookLine(d) + "\n")
	}
	if a.Covers.Session != "" && offersWire(a, report.AllowSession) {
		fmt.Fprintf(&s, "“Allow for this session” covers: %s\n", a.Covers.Session)
	}
	if a.Covers.Always != "" && offersWire(a, report.AllowAlways) {
		fmt.Fprintf(&s, "“Always allow” covers: %s\n", a.Covers.Always)
	}
	return strings.TrimRight(s.String(), "\n")
}

func offersWire(a Approval, outcome report.ApprovalOutcome) bool {
	return offers(report.Approval{Outcomes: a.Outcomes}, outcome)
}

func riskVerb(r report.Risk) string {
	switch r {
	case "read":
		return "read"
	case "write":
		return "write"
	case "execute":
		return "run"
	case "network":
		return "reach the network"
	}
	return "do"
}

// hookLine is one decision in one line, with its place.
func hookLine(d Decision) string {
	var s strings.Builder
	fmt.Fprintf(&s, "Hook %s: %s", d.Event, d.Action)
	if d.Reason != "" {
		fmt.Fprintf(&s, ", %s", oneLine(d.Reason))
	}
	for _, c := range d.Changes {
		fmt.Fprintf(&s, "; %s: %s → %s", c.Path, show(string(c.Before)), show(string(c.After)))
	}
	switch {
	case d.Error != nil:
		fmt.Fprintf(&s, "; %s", oneLine(d.Error.Message))
	case d.Hook.URI != "" && d.Hook.Range != nil:
		fmt.Fprintf(&s, " (%s:%d)", baseName(d.Hook.URI), d.Hook.Range.Start.Line+1)
	case d.Hook.Command != "":
		fmt.Fprintf(&s, " (%s)", d.Hook.Command)
	}
	return s.String()
}

// decisionPlace is hookLine's place with its column, for lists.
func decisionPlace(d hooks.Decision) string {
	switch {
	case d.Error != nil && d.Error.At != nil:
		return fmt.Sprintf("%s:%d:%d", d.Error.At.Path, d.Error.At.Start.Line, d.Error.At.Start.Column)
	case d.Hook.At != nil:
		return fmt.Sprintf("%s:%d:%d", d.Hook.At.Path, d.Hook.At.Start.Line, d.Hook.At.Start.Column)
	case d.Hook.Command != "":
		return d.Hook.Command
	}
	return d.Hook.Go
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func baseName(uri string) string {
	if i := strings.LastIndexByte(uri, '/'); i >= 0 {
		return uri[i+1:]
	}
	return uri
}
