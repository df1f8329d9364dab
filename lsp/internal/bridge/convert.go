package bridge

import (
	"encoding/json"
	"strings"

	"agent-ls/hooks"
	"agent-ls/loop/report"
	"agent-ls/lsp/internal/text"
)

// wire turns what a run says into what crosses the connection: paths into the
// client's URIs, positions into its encoding, text into text that plays no
// tricks on whoever reads it. Arguments and hunks stay exact, since they come
// back as answers.
type wire struct {
	uri      func(path string) string
	encoding func() text.Encoding
	// source is the present text of a file, for the rare position that needs
	// it; nil when there is none.
	source func(path string) *text.Source
}

// position picks the column in the client's unit.
func (w *wire) position(p hooks.Position) Position {
	out := Position{Line: uint32(max(p.Line-1, 0))}
	switch w.encoding() {
	case text.UTF8:
		out.Character = uint32(max(p.Byte, 0))
	case text.UTF32:
		out.Character = uint32(max(p.Column-1, 0))
	default:
		out.Character = uint32(max(p.UTF16, 0))
	}
	return out
}

func (w *wire) span(l *hooks.Location) Range {
	r := Range{w.position(l.Start), w.position(l.End)}
	if r.End.Line < r.Start.Line || (r.End.Line == r.Start.Line && r.End.Character < r.Start.Character) {
		r.End = r.Start // a place without an extent
	}
	return r
}

// location converts a place; nil for one that names no file.
func (w *wire) location(l *hooks.Location) *Location {
	if l == nil || l.Path == "" {
		return nil
	}
	return &Location{URI: w.uri(l.Path), Range: w.span(l)}
}

func (w *wire) hookSource(s hooks.Source) HookSource {
	out := HookSource{Digest: s.Digest, Command: show(s.Command), Go: s.Go}
	if l := w.location(s.At); l != nil {
		out.URI, out.Range = l.URI, &l.Range
	}
	if s.Command != "" {
		out.ExitStatus = &s.ExitStatus
	}
	return out
}

func (w *wire) decision(d hooks.Decision) Decision {
	out := Decision{
		ID: d.ID, RunID: d.RunID, SessionID: d.SessionID, Seq: d.Seq, At: Time{d.At},
		Stage: d.Stage, Event: d.Event, Function: d.Function, HookID: d.HookID,
		Hook: w.hookSource(d.Hook), Action: d.Action, Reason: show(d.Reason), CallID: d.CallID,
		DurationUs: d.DurationUs, Operations: d.Operations, Printed: show(d.Printed),
	}
	for _, c := range d.Changes {
		out.Changes = append(out.Changes, Change{Path: c.Path, Before: orNull(c.Before), After: orNull(c.After)})
	}
	if f := d.Error; f != nil {
		out.Error = &Failure{Message: show(f.Message), Kind: string(f.Kind), Stack: showAll(f.Stack)}
		if l := w.location(f.At); l != nil {
			out.Error.URI, out.Error.Range = l.URI, &l.Range
		}
	}
	return out
}

func (w *wire) decisions(in []hooks.Decision) []Decision {
	out := make([]Decision, 0, len(in))
	for _, d := range in {
		out = append(out, w.decision(d))
	}
	return out
}

func (w *wire) approval(a report.Approval) Approval {
	out := Approval{
		ID: a.ID, Outcomes: append([]report.ApprovalOutcome{}, a.Outcomes...),
		RunID: a.RunID, SessionID: a.SessionID, CallID: a.CallID, Stage: a.Stage, Tool: a.Tool,
		Arguments: orNull(a.Arguments), Digest: a.Digest, Title: show(a.Title), Risk: a.Risk,
		Why: append([]string{}, showAll(a.Why)...), Hooks: w.decisions(a.Hooks),
		Covers:      Covers{Session: show(a.Covers.Session), Always: show(a.Covers.Always)},
		ParentRunID: a.ParentRunID, Elsewhere: a.Elsewhere,
	}
	if c := a.Command; c != nil {
		out.Command = &Command{Line: show(c.Line), Cwd: c.Cwd, Commands: append([]string{}, showAll(c.Commands)...)}
	}
	if a.ExpiresAt != nil {
		out.ExpiresAt = &Time{*a.ExpiresAt}
	}
	for _, e := range a.Edits {
		out.Edits = append(out.Edits, w.edit(e))
	}
	return out
}

func (w *wire) edit(e report.Edit) Edit {
	out := Edit{URI: w.editURI(e), Diff: showDiff(e.Diff), Hunks: []Hunk{}}
	var src *text.Source // read at most once, and only when needed
	for _, h := range e.Hunks {
		point := func(p report.Point) Position {
			pos := Position{Line: uint32(max(p.Line, 0)), Character: uint32(max(p.Character, 0))}
			if p.Character == 0 || w.encoding() == text.UTF16 {
				return pos
			}
			if src == nil {
				if src = w.source(e.Path); src == nil {
					return pos
				}
			}
			at := src.PositionOffset(text.UTF16, text.Position{Line: pos.Line, Character: pos.Character})
			conv := src.OffsetPosition(w.encoding(), at)
			return Position(conv)
		}
		out.Hunks = append(out.Hunks, Hunk{N: h.N, Range: Range{point(h.Range.Start), point(h.Range.End)}, NewText: h.NewText})
	}
	return out
}

func (w *wire) editURI(e report.Edit) string {
	if e.Path != "" {
		return w.uri(e.Path)
	}
	return e.URI
}

func (w *wire) event(e report.Event) Event {
	out := Event{plainEvent: plainEvent(e), At: Time{e.At}}
	if e.Path != "" {
		out.URI = w.uri(e.Path)
	}
	out.Text, out.Title, out.Error, out.Because = show(e.Text), show(e.Title), show(e.Error), show(e.Because)
	out.Prompt, out.Diff = show(e.Prompt), showDiff(e.Diff)
	if e.Output != nil {
		shown := show(*e.Output)
		out.Output = &shown
	}
	return out
}

func (w *wire) session(s report.Session) Session {
	return Session{
		SessionID: s.SessionID, Title: show(s.Title), StartedAt: Time{s.StartedAt},
		Status: s.Status, Turns: s.Turns, Usage: s.Usage,
	}
}

func question(q report.Question) Question {
	out := Question{ID: q.ID, RunID: q.RunID, Header: show(q.Header), Prompt: show(q.Prompt), Options: []Option{}, FreeText: q.FreeText, CallID: q.CallID, ParentRunID: q.ParentRunID, Elsewhere: q.Elsewhere}
	for _, o := range q.Options {
		out.Options = append(out.Options, Option{show(o.Label), show(o.Description)})
	}
	return out
}

// orNull makes absent JSON null, which a required field needs.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// show makes control and bidirectional characters visible. A CRLF is a line
// end and no trick.
func show(s string) string {
	if !strings.Contains(s, "\r\n") {
		return report.Visible(s)
	}
	lines := strings.Split(s, "\r\n")
	for i, line := range lines {
		lines[i] = report.Visible(line)
	}
	return strings.Join(lines, "\r\n")
}

func showAll(in []string) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = show(s)
	}
	return out
}

// showDiff is show for a unified diff. There CRs stay out of sight only when
// every line of content ends in one: a diff that changes line ends must show
// what it changes.
func showDiff(diff string) string {
	if !strings.Contains(diff, "\r") {
		return report.Visible(diff)
	}
	lines := strings.Split(diff, "\n")
	for i, line := range lines {
		if isDiffContent(lines, i) && !strings.HasSuffix(line, "\r") {
			return report.Visible(diff)
		}
	}
	for i, line := range lines {
		body, cr := strings.CutSuffix(line, "\r")
		if lines[i] = report.Visible(body); cr {
			lines[i] += "\r"
		}
	}
	return strings.Join(lines, "\n")
}

// isDiffContent says whether a line of a diff is a line of one of the texts,
// with a line end of its own.
func isDiffContent(lines []string, i int) bool {
	line := lines[i]
	if line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "@@") {
		return false
	}
	return strings.ContainsRune(" +-", rune(line[0])) && (i+1 >= len(lines) || !strings.HasPrefix(lines[i+1], `\`))
}
