package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop/journal"
	"agent-ls/loop/redact"
	"agent-ls/loop/report"
	"agent-ls/loop/sandbox"
)

// Export is a session to be read outside of this program. The secrets in it
// that redaction finds are masked.
type Export struct {
	Version   int              `json:"version"`
	Session   report.Session   `json:"session"`
	Parent    string           `json:"parent,omitempty"` // the session that it was forked from
	Events    []report.Event   `json:"events"`
	Decisions []hooks.Decision `json:"decisions"`
	Head      string           `json:"head"` // of the chain, see Audit
}

// exportVersion is that of the form of an export.
const exportVersion = 1

// Format is a form of an export.
type Format string

const (
	Markdown Format = "markdown"
	JSON     Format = "json"
)

// Export writes a session out. What the rules of package redact find is
// masked, and then what hooks on tracing:redact of the present default agent
// leave is what comes out; if such a hook breaks, nothing does.
func (s *Service) Export(ctx context.Context, sessionID string, format Format) ([]byte, error) {
	if format != Markdown && format != JSON {
		return nil, fmt.Errorf("unknown format %q; there are markdown and json", format)
	}
	x, err := s.exported(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	masked, err := s.masked(ctx, x)
	if err != nil {
		return nil, err
	}
	if format == JSON {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(masked)
		return out.Bytes(), err
	}
	text, err := json.Marshal(masked)
	if err != nil {
		return nil, err
	}
	var y Export
	if err := json.Unmarshal(text, &y); err != nil {
		return nil, fmt.Errorf("a hook on tracing:redact left something that is no session: %w", err)
	}
	return markdown(&y), nil
}

// exported reads the session. Paths are those that people use.
func (s *Service) exported(ctx context.Context, sessionID string) (*Export, error) {
	row, err := s.opt.Journal.Session(ctx, sessionID)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, fmt.Errorf("session %s: %w", sessionID, ErrUnknownID)
	}
	if err != nil {
		return nil, err
	}
	x := &Export{Version: exportVersion, Session: s.sessionOf(row), Parent: row.ForkedFrom, Decisions: []hooks.Decision{}}
	if x.Events, _, err = s.opt.Journal.Events(ctx, sessionID, 0, 0); err != nil {
		return nil, err
	}
	for i := range x.Events {
		if e := &x.Events[i]; e.Path != "" {
			e.URI = s.shortPath(e.Path)
		}
	}
	err = s.opt.Journal.History(ctx, sessionID, func(p journal.Past) error {
		for _, d := range p.Decisions {
			if at := d.Hook.At; at != nil {
				short := *at
				short.Path = s.shortPath(at.Path)
				d.Hook.At = &short
			}
			x.Decisions = append(x.Decisions, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	v, err := s.opt.Journal.Verify(ctx, sessionID)
	x.Head = v.Head
	return x, err
}

// redaction are the rules for what leaves this program.
func redaction() *redact.Rules { return redact.New(os.Environ(), sandbox.Secret) }

// masked is the export as plain data without its secrets.
func (s *Service) masked(ctx context.Context, x *Export) (any, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("encode the session: %w", err)
	}
	var plain map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // what is a number stays the one that it was
	if err := dec.Decode(&plain); err != nil {
		return nil, fmt.Errorf("read the session: %w", err)
	}
	rules := redaction()
	masked := rules.Value(plain).(map[string]any)
	fire, err := s.redactHooks(ctx, x)
	if err != nil || fire == nil {
		return masked, err
	}
	events, _ := plain["events"].([]any)
	left, _ := masked["events"].([]any)
	for i := range events {
		if left[i], err = fire(events[i], left[i]); err != nil {
			return nil, err
		}
	}
	return masked, nil
}

// redactHooks loads the hooks on tracing:redact as they are now; nil when
// there is none.
func (s *Service) redactHooks(ctx context.Context, x *Export) (func(payload, redacted any) (any, error), error) {
	const event = "tracing:redact"
	cfg, _ := s.opt.Manifest(ctx)
	if cfg == nil || len(cfg.Agents) == 0 || s.opt.Hooks == nil {
		return nil, nil
	}
	var mine []hooks.Declaration
	for _, d := range cfg.Agents[0].Hooks {
		if d.Event == event {
			mine = append(mine, d)
		}
	}
	if len(mine) == 0 {
		return nil, nil
	}
	set, found, err := s.opt.Hooks.Load(ctx, mine, cfg.HookLimits)
	if err != nil {
		return nil, fmt.Errorf("load the hooks on %s: %w", event, err)
	}
	if broken := errorsOf(found); len(broken) > 0 {
		return nil, &CannotStart{Findings: broken}
	}
	fields := map[string]any{
		"run_id": "", "session_id": x.Session.SessionID, "agent": cfg.Agents[0].Name, "stage": "", "stage_index": int64(0), "turn": int64(0),
		"depth": int64(0), "parent_run_id": nil, "parent_call_id": nil, "loop_count": int64(0), "kind": "export",
	}
	n := int64(0)
	fire := func(payload, redacted any) (any, error) {
		fields["payload"], fields["redacted"], fields["loop_count"] = contract.Plain(payload), contract.Plain(redacted), n
		n++
		out := set.Fire(ctx, hooks.Firing{Event: event, At: s.now(), Fields: fields})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case out.Failure != nil:
			return nil, errors.New(s.failureText(event, out.Failure))
		case out.Action == contract.Modify:
			return out.Value, nil
		}
		return redacted, nil
	}
	return fire, nil
}

// markdown is the session as a document for people.
func markdown(x *Export) []byte {
	m := &document{}
	m.line("# %s", inline(x.Session.Title))
	m.line("")
	m.line("Session `%s`, %s, %s, %d turns, %d tokens in and %d out.", x.Session.SessionID, x.Session.StartedAt.UTC().Format(time.RFC3339),
		x.Session.Status, x.Session.Turns, x.Session.Usage.Input, x.Session.Usage.Output)
	if x.Parent != "" {
		m.line("Forked from session `%s`.", x.Parent)
	}
	next := 0
	for _, e := range x.Events {
		for next < len(x.Decisions) && x.Decisions[next].At.Before(e.At) {
			m.decision(&x.Decisions[next])
			next++
		}
		m.event(&e)
	}
	for ; next < len(x.Decisions); next++ {
		m.decision(&x.Decisions[next])
	}
	return m.out.Bytes()
}

// document is Markdown in the making.
type document struct{ out bytes.Buffer }

func (m *document) line(format string, args ...any) {
	fmt.Fprintf(&m.out, format, args...)
	m.out.WriteByte('\n')
}

// inline is a text within a line that Markdown takes for nothing else.
func inline(text string) string {
	text = report.Visible(strings.Join(strings.Fields(text), " "))
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune("\\`*_{}[]<>#|!", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// fenced is a block that its text cannot end.
func (m *document) fenced(kind, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.line("\n%s%s\n%s\n%s", fence, kind, strings.TrimRight(report.Visible(text), "\n"), fence)
}

// quoted is a text of the model or a person, none of which becomes markup of
// the document's own.
func (m *document) quoted(text string) {
	m.line("")
	for line := range strings.Lines(strings.TrimRight(report.Visible(text), "\n")) {
		m.line("> %s", strings.TrimRight(line, "\n"))
	}
}

func (m *document) event(e *report.Event) {
	switch e.Type {
	case report.RunStarted:
		m.line("\n## Prompt")
		m.quoted(e.Prompt)
		m.line("\nAgent %s, model %s, mode %s, sandbox: %s.", inline(e.Agent), inline(e.Model), e.Mode, inline(e.Sandbox))
	case report.StageEntered:
		m.line("\n### Stage %s", inline(e.Stage))
	case report.Message:
		m.line("\n**Agent**")
		m.quoted(e.Text)
	case report.ToolStarted:
		m.line("\n**%s** %s", inline(e.Tool), inline(e.Title))
		m.fenced("json", string(e.Arguments))
	case report.ToolFinished:
		m.line("\nResult: %s", e.Outcome)
		if e.Output != nil {
			m.fenced("", *e.Output)
		}
	case report.FileChanged:
		m.line("\nChanged %s", inline(e.URI))
		m.fenced("diff", e.Diff)
	case report.ApprovalRequested:
		m.line("\nA person was asked.")
	case report.ApprovalWithdrawn:
		m.line("\nThe question was withdrawn (%s).", inline(e.By))
	case report.Retrying:
		m.line("\nThe model was asked again: %s", inline(e.Because))
	case report.Notice:
		m.line("\n%s: %s", inline(e.Level), inline(e.Text))
	case report.RunFinished:
		m.line("\nThe run ended: %s (%s).", e.Status, e.StopReason)
		if len(e.Structured) > 0 {
			m.line("\nOutput:")
			m.fenced("json", string(e.Structured))
		}
		if e.Error != "" {
			m.quoted(e.Error)
		}
	}
}

func (m *document) decision(d *hooks.Decision) {
	where := d.Hook.Command + d.Hook.Go
	if at := d.Hook.At; at != nil {
		where = fmt.Sprintf("%s:%d:%d", at.Path, at.Start.Line, at.Start.Column)
	}
	text := fmt.Sprintf("\nHook %s on %s: %s", inline(where), inline(d.Event), d.Action)
	if d.Reason != "" {
		text += ": " + inline(d.Reason)
	}
	if d.Error != nil {
		text += ": " + inline(d.Error.Message)
	}
	m.line("%s", text)
}
