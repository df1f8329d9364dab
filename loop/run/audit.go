package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/journal"
)

// Audit is who decided what in a session, call by call, in the order in which
// it happened, with what its chain is worth.
type Audit struct {
	SessionID string     `json:"sessionId"`
	Runs      []AuditRun `json:"runs"`
	Chain     AuditChain `json:"chain"`
	// Children are the sessions of the sub-agents that these runs began.
	Children []Audit `json:"children,omitempty"`
}

// Holds says that the chains of the session and of its sub-agents hold.
func (a *Audit) Holds() bool {
	for i := range a.Children {
		if !a.Children[i].Holds() {
			return false
		}
	}
	return a.Chain.Holds
}

// AuditChain is what a look at the session's chain came to.
type AuditChain struct {
	Holds  bool            `json:"holds"`
	Steps  int             `json:"steps"`           // that the chain covers
	Older  int             `json:"older,omitempty"` // from before there was a chain, at the beginning
	Head   string          `json:"head"`            // the newest link, hexadecimal
	Breaks []journal.Break `json:"breaks,omitempty"`
	// Noted are the heads that were asked about, and whether the chain still
	// has them.
	Noted map[string]bool `json:"noted,omitempty"`
}

// AuditRun is one run of the session.
type AuditRun struct {
	RunID       string         `json:"runId"`
	ParentRunID string         `json:"parentRunId,omitempty"`
	At          time.Time      `json:"at"`
	Prompt      string         `json:"prompt"`
	Agent       string         `json:"agent"`
	Model       string         `json:"model"`
	Mode        loop.Mode      `json:"mode"`
	Steps       []AuditStep    `json:"steps,omitempty"` // what was decided about no single call
	Calls       []AuditCall    `json:"calls"`
	Status      loop.RunStatus `json:"status"` // "active" while it goes on, or was cut off
	Stop        loop.Stop      `json:"stopReason,omitempty"`
}

// AuditCall is one call and who said what about it.
type AuditCall struct {
	CallID    string           `json:"callId"`
	At        time.Time        `json:"at"`
	Turn      int              `json:"turn"`
	Tool      string           `json:"tool"`
	Arguments json.RawMessage  `json:"arguments"` // as the model wrote them
	Steps     []AuditStep      `json:"steps"`
	Outcome   loop.CallOutcome `json:"outcome,omitempty"` // "" when the run has not got that far
}

// AuditStep is what one layer, hook or person said.
type AuditStep struct {
	At      time.Time  `json:"at"`
	Layer   loop.Layer `json:"layer"`            // schema, hook, builtin, rule, taint, approval; "set" for agent/set
	Source  string     `json:"source,omitempty"` // the rule, the place in the hook, who answered
	Outcome string     `json:"outcome"`          // allow, ask, deny, or a hook's action
	Because string     `json:"because,omitempty"`
	Grant   string     `json:"grant,omitempty"` // the rule that an answer granted with it
}

// LayerSet is where the user chose a mode or a model.
const LayerSet loop.Layer = "set"

// Audit tells who decided what in a session; a run's id stands for its
// session, of which only that run is told. noted are heads of the chain that
// were written down before: the chain must still have them to hold.
func (s *Service) Audit(ctx context.Context, id string, noted ...string) (Audit, error) {
	session, only := id, ""
	if _, err := s.opt.Journal.Session(ctx, id); errors.Is(err, journal.ErrNotFound) {
		row, err := s.opt.Journal.SessionOf(ctx, id)
		if errors.Is(err, journal.ErrNotFound) {
			return Audit{}, fmt.Errorf("session %s: %w", id, ErrUnknownID)
		}
		if err != nil {
			return Audit{}, err
		}
		session, only = row.ID, id
	} else if err != nil {
		return Audit{}, err
	}
	v, err := s.opt.Journal.Verify(ctx, session, noted...)
	if err != nil {
		return Audit{}, err
	}
	a := auditor{svc: s, calls: map[string]place{}, out: Audit{SessionID: session, Runs: []AuditRun{}, Chain: chainOf(v, noted)}}
	if err := s.opt.Journal.History(ctx, session, func(p journal.Past) error { a.take(p); return nil }); err != nil {
		return Audit{}, err
	}
	if only != "" {
		kept := []AuditRun{}
		for _, r := range a.out.Runs {
			if r.RunID == only {
				kept = append(kept, r)
			}
		}
		a.out.Runs = kept
	}
	return a.out, s.auditChildren(ctx, &a.out)
}

// auditChildren adds the sub-agents; a sub-agent's session is the child of one
// run, so that there is no way around in a circle.
func (s *Service) auditChildren(ctx context.Context, out *Audit) error {
	for _, r := range out.Runs {
		rows, err := s.opt.Journal.ChildrenOf(ctx, r.RunID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			child, err := s.Audit(ctx, row.ID)
			if err != nil {
				return err
			}
			out.Children = append(out.Children, child)
		}
	}
	return nil
}

func chainOf(v journal.Verified, noted []string) AuditChain {
	c := AuditChain{Holds: v.OK(), Steps: v.Steps, Older: v.Older, Head: v.Head, Breaks: v.Breaks}
	for _, n := range noted {
		if c.Noted == nil {
			c.Noted = map[string]bool{}
		}
		c.Noted[n] = false
	}
	for _, n := range v.Noted {
		c.Noted[n] = true
	}
	for _, there := range c.Noted {
		c.Holds = c.Holds && there
	}
	return c
}

// auditor reads a session's steps in their order.
type auditor struct {
	svc   *Service
	out   Audit
	calls map[string]place
	batch []string // calls of the newest answer
	told  map[string]bool
	state loop.State
}

// place is where a call is in the report.
type place struct{ run, call int }

func (a *auditor) run() *AuditRun {
	if n := len(a.out.Runs); n > 0 {
		return &a.out.Runs[n-1]
	}
	return nil
}

func (a *auditor) call(id string) *AuditCall {
	p, known := a.calls[id]
	if !known {
		return nil
	}
	return &a.out.Runs[p.run].Calls[p.call]
}

func (a *auditor) take(p journal.Past) {
	e := &p.Event
	next, commands := loop.Apply(a.state, p.Event)
	a.state = next
	defer a.ended(commands)
	switch e.Kind {
	case loop.Started:
		r := AuditRun{RunID: e.RunID, ParentRunID: e.ParentRunID, At: e.At, Prompt: promptText(e.Prompt), Calls: []AuditCall{}}
		if c := e.Course; c != nil {
			r.Agent, r.Model, r.Mode = c.Agent, c.Model, c.Mode
		}
		a.out.Runs = append(a.out.Runs, r)
	case loop.Set:
		if r := a.run(); r != nil {
			source := "the user"
			if e.ParentRunID != "" {
				source = "the run above"
			}
			r.Steps = append(r.Steps, AuditStep{At: e.At, Layer: LayerSet, Source: source, Outcome: string(loop.VerdictAllow), Because: choiceText(e)})
		}
	case loop.Answered:
		a.answered(p)
	}
	for _, d := range p.Decisions {
		a.decided(d)
	}
	if c := a.call(e.CallID); c != nil {
		a.called(c, e)
	}
}

// ended notes how calls and runs ended, those too that the core closed.
func (a *auditor) ended(commands []loop.Command) {
	for _, c := range commands {
		if call := a.call(c.CallID); c.Kind == loop.Tell && c.What == loop.TellCall && call != nil && c.Result != nil {
			call.Outcome = c.Result.Outcome
		}
	}
	if r := a.run(); r != nil {
		r.Status = a.state.Status
		if !a.state.Active() {
			r.Stop = a.state.Ending.Stop
		}
	}
}

func promptText(blocks []loop.Block) string {
	if len(blocks) == 0 {
		return ""
	}
	return blocks[0].Text
}

// answered adds the calls of an answer.
func (a *auditor) answered(p journal.Past) {
	r := a.run()
	if r == nil || p.Event.Answer == nil {
		return
	}
	a.batch, a.told = nil, map[string]bool{}
	for _, b := range p.Event.Answer.Blocks {
		if b.Kind != loop.CallBlock || b.Call == nil {
			continue
		}
		c := AuditCall{CallID: b.Call.ID, At: p.Event.At, Turn: p.Turn, Tool: b.Call.Name, Arguments: b.Call.Arguments, Steps: []AuditStep{}}
		for _, k := range p.Event.Checked {
			if k.ID != c.CallID {
				continue
			}
			if k.Tool != "" {
				c.Tool = k.Tool
			}
			if k.Invalid != "" {
				c.Steps = append(c.Steps, AuditStep{At: c.At, Layer: loop.LayerSchema, Outcome: string(loop.VerdictDeny), Because: k.Invalid})
				c.Outcome = loop.CallInvalid
			}
		}
		a.calls[c.CallID] = place{len(a.out.Runs) - 1, len(r.Calls)}
		a.batch = append(a.batch, c.CallID)
		r.Calls = append(r.Calls, c)
	}
}

// decided adds what a hook said: to its call, to each call of the batch that
// it saw, or to the run.
func (a *auditor) decided(d hooks.Decision) {
	step := AuditStep{At: d.At, Layer: loop.LayerHook, Source: a.sourceOf(d), Outcome: d.Action, Because: d.Reason}
	if d.Error != nil && step.Because == "" {
		step.Because = d.Error.Message
	}
	if len(d.Changes) > 0 {
		paths := make([]string, len(d.Changes))
		for i, c := range d.Changes {
			paths[i] = c.Path
		}
		step.Because = strings.TrimPrefix(step.Because+"; changed "+strings.Join(paths, ", "), "; ")
	}
	if c := a.call(d.CallID); c != nil {
		c.Steps = append(c.Steps, step)
		return
	}
	if d.Event == loop.OnToolCall {
		for _, id := range a.batch {
			if c := a.call(id); c != nil && c.Outcome == "" {
				c.Steps = append(c.Steps, step)
			}
		}
		return
	}
	if r := a.run(); r != nil {
		step.Source = d.Event + ": " + step.Source
		r.Steps = append(r.Steps, step)
	}
}

func (a *auditor) sourceOf(d hooks.Decision) string {
	switch {
	case d.Hook.At != nil:
		return fmt.Sprintf("%s:%d:%d", a.svc.shortPath(d.Hook.At.Path), d.Hook.At.Start.Line, d.Hook.At.Start.Column)
	case d.Hook.Command != "":
		return fmt.Sprintf("%s (exit status %d)", d.Hook.Command, d.Hook.ExitStatus)
	case d.Hook.Go != "":
		return d.Hook.Go
	}
	return d.HookID
}

// called adds what an event says about its call.
func (a *auditor) called(c *AuditCall, e *loop.Event) {
	for _, g := range e.Steps {
		if !g.Fired || e.Kind == loop.Resolved { // how it was answered is told below
			continue
		}
		c.Steps = append(c.Steps, AuditStep{At: e.At, Layer: g.Layer, Source: g.Source, Outcome: string(g.Outcome), Because: g.Because})
		a.told[c.CallID] = true
	}
	switch e.Kind {
	case loop.Asked:
		c.Steps = append(c.Steps, AuditStep{At: e.At, Layer: loop.LayerApproval, Source: e.ApprovalID, Outcome: string(loop.VerdictAsk), Because: "a person is asked; what is shown has the digest " + e.Digest})
	case loop.Resolved:
		step := AuditStep{At: e.At, Layer: loop.LayerApproval, Source: answeredBy(e.By), Outcome: string(e.Verdict), Because: e.Reason, Grant: e.Grant}
		if e.Always != "" {
			step.Grant = e.Always
		}
		switch {
		case len(e.Arguments) > 0:
			step.Because = strings.TrimPrefix(step.Because+"; with other arguments: "+string(e.Arguments), "; ")
		case e.Hunks != nil:
			step.Because = strings.TrimPrefix(fmt.Sprintf("%s; only hunks %v", step.Because, e.Hunks), "; ")
		}
		c.Steps = append(c.Steps, step)
		a.told[c.CallID] = true
	case loop.Finished:
		if e.Result == nil {
			return
		}
		refused := e.Result.Outcome == loop.CallDenied || e.Result.Outcome == loop.CallInvalid
		if refused && !a.told[c.CallID] {
			layer := loop.LayerBuiltin
			if e.Result.Outcome == loop.CallInvalid {
				layer = loop.LayerSchema
			}
			c.Steps = append(c.Steps, AuditStep{At: e.At, Layer: layer, Outcome: string(loop.VerdictDeny), Because: e.Result.Text})
		}
		c.Outcome = e.Result.Outcome
	}
}

// answeredBy says in words who answered an approval.
func answeredBy(by string) string {
	switch by {
	case "here", "":
		return "the user"
	case "elsewhere":
		return "the user, in another window"
	case "dismissed":
		return "the user, who dismissed it"
	case "policy":
		return "a grant that came meanwhile"
	}
	return by
}
