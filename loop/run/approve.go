package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent-ls/hooks/contract"
	"agent-ls/hooks/shell"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// Settled is why the context of Frontend.Approve ends: the approval needs no
// answer any more.
type Settled struct {
	Outcome report.ApprovalOutcome // "" when it was withdrawn
	By      string                 // "here", "elsewhere", "cancel", "policy"
}

func (e *Settled) Error() string { return "the approval was settled: " + e.By }

// openAsk is an approval that this process shows.
type openAsk struct {
	approval report.Approval
	of       *question          // about the call that it would let run; nil when no rule and no grant can answer it
	answer   chan report.Answer // gets the answer that won, once
	take     func(*Settled)     // takes it down
}

// ask puts the call to a person. It returns as admit does.
func (d *dispatched) ask(ctx context.Context, j loop.Judgement, digest string) (bool, *loop.ToolResult) {
	approval, answer, ok := d.open(ctx, j, digest)
	if !ok {
		return false, nil
	}
	if answer == nil {
		since, q := d.run.svc.clock(), d.question()
		given, err := d.await(ctx, approval, &q)
		d.asked += d.run.svc.clock().Sub(since)
		if err != nil {
			if errors.Is(context.Cause(ctx), errCallStopped) {
				return false, d.stopped(ctx)
			}
			return false, nil // withdrawn; the core has given it a result
		}
		answer = &given
	}
	return d.answered(ctx, approval, *answer, digest)
}

// open journals the approval, or finds the one that a process that died had
// opened for exactly this. It is shown only behind that.
func (d *dispatched) open(ctx context.Context, j loop.Judgement, digest string) (report.Approval, *report.Answer, bool) {
	r := d.run
	var replaced []string
	if id := d.call.ApprovalID; id != "" && d.call.Phase == loop.CallWaiting {
		old, err := r.svc.opt.Journal.Approval(ctx, id)
		switch {
		case err == nil && old.State != "withdrawn" && old.Digest == digest:
			return old.Approval, old.Answer, true
		case err == nil && old.State == "open":
			replaced = []string{id}
		}
	}
	approval := d.approval(j, digest)
	s, ok := r.tell(posted{
		event: loop.Event{Kind: loop.Asked, CallID: d.call.ID, ApprovalID: approval.ID, Digest: digest, Title: d.plan.Title, Steps: d.said()},
		ask:   &approval, withdraw: replaced,
	})
	c, found := s.Call(d.call.ID)
	return approval, nil, ok && found && c.Phase == loop.CallWaiting && c.ApprovalID == approval.ID
}

// approval is what is shown.
func (d *dispatched) approval(j loop.Judgement, digest string) report.Approval {
	r := d.run
	a := report.Approval{
		ID: newID("ask"), RunID: r.id, SessionID: r.session, CallID: d.call.ID, Stage: d.state.Stage,
		Tool: d.tool.Spec().Name, Arguments: d.args, Digest: digest, Title: d.plan.Title, Risk: d.plan.Effect,
		Why: reasons(j, loop.VerdictAsk), Hooks: r.trailOf(d.call.ID), ParentRunID: d.state.ParentRunID,
		Outcomes: []report.ApprovalOutcome{report.AllowOnce},
	}
	if len(a.Why) == 0 {
		a.Why = []string{"calls like this one ask"}
	}
	if !j.MustAsk {
		a.Covers = report.Covers{Session: j.Session, Always: j.Always}
	}
	if a.Covers.Session != "" {
		a.Outcomes = append(a.Outcomes, report.AllowSession)
	}
	if a.Covers.Always != "" {
		a.Outcomes = append(a.Outcomes, report.AllowAlways)
	}
	a.Outcomes = append(a.Outcomes, report.DenyOnce)
	if c := d.plan.Command; c != nil {
		a.Command = &report.Command{Line: c.Line, Cwd: c.Dir, Commands: commandNames(c.Line)}
	}
	for _, e := range d.plan.Edits {
		a.Edits = append(a.Edits, report.Edit{
			Path: e.Path, Diff: tool.Diff(r.svc.shortPath(e.Path), e.Before, e.After), Hunks: tool.Hunks(e.Before, e.After),
		})
	}
	return a
}

// commandNames are the simple commands of a line, each with the variables that
// are set for it; "?" stands for what cannot be known. What only sets
// variables, as a loop does for each turn, is listed as that, and what only
// opens files by its redirects.
func commandNames(line string) []string {
	var out []string
	for _, c := range shell.Commands(line) {
		var parts []string
		for _, a := range c.Assigns {
			op := "="
			if a.Append {
				op = "+="
			}
			parts = append(parts, a.Name+op+wordText(a.Value))
		}
		if !c.Name.Known || c.Name.Text != "" {
			for _, w := range c.Words() {
				parts = append(parts, wordText(w))
			}
		} else if len(parts) == 0 {
			for _, r := range c.Redirects {
				parts = append(parts, r.Op+" "+wordText(r.Target))
			}
		}
		if text := strings.Join(parts, " "); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func wordText(w shell.Word) string {
	if w.Known {
		return w.Text
	}
	return "?"
}

// await shows the approval and waits for the first answer, wherever it comes
// from. There is no limit of time: no answer yet is no answer.
func (d *dispatched) await(ctx context.Context, a report.Approval, of *question) (report.Answer, error) {
	s := d.run.svc
	show, takeDown := context.WithCancelCause(ctx)
	defer takeDown(nil)
	ask := &openAsk{approval: a, of: of, answer: make(chan report.Answer, 1), take: func(e *Settled) { takeDown(e) }}
	s.asksMu.Lock()
	s.asks[a.ID] = ask
	s.asksMu.Unlock()
	defer func() {
		s.asksMu.Lock()
		delete(s.asks, a.ID)
		s.asksMu.Unlock()
	}()
	d.run.busy.Go(func() { s.show(show, a) })
	select {
	case answer := <-ask.answer:
		<-show.Done() // whoever gave the answer takes it down, and says why
		return answer, nil
	case <-show.Done():
		select {
		case answer := <-ask.answer:
			return answer, nil
		default:
			return report.Answer{}, context.Cause(show)
		}
	}
}

// show asks the front end. What it says counts only if nobody was faster.
func (s *Service) show(ctx context.Context, a report.Approval) {
	answer, err := report.Answer{}, ErrNoApprover
	if s.opt.Frontend != nil {
		answer, err = s.opt.Frontend.Approve(ctx, a)
	}
	if ctx.Err() != nil {
		return
	}
	switch {
	case errors.Is(err, ErrNoApprover):
		// What wraps it says why nobody can be asked here.
		why := strings.TrimSuffix(err.Error(), ErrNoApprover.Error())
		answer = report.Answer{Outcome: report.DenyOnce, By: "no approver", Feedback: strings.TrimRight(why, ": ")}
	case err != nil:
		answer = report.Answer{Outcome: report.DenyOnce, By: "no approver", Feedback: err.Error()}
	case answer.By == "":
		answer.By = "here"
	}
	if err := s.settle(context.WithoutCancel(ctx), a, answer); err != nil && !errors.Is(err, ErrAlreadyResolved) {
		s.log.Error("record an answer", "approval", a.ID, "error", err)
		s.deliver(a.ID, report.Answer{Outcome: report.DenyOnce, By: "no approver", Feedback: err.Error()}, "here")
	}
}

// settle records the answer to an approval, unless one was recorded before,
// and hands it to the call that waits, if it waits here.
func (s *Service) settle(ctx context.Context, a report.Approval, answer report.Answer) error {
	answer = honoured(a, answer)
	switch err := s.opt.Journal.Answer(ctx, a.ID, answer); {
	case errors.Is(err, journal.ErrSettled):
		return ErrAlreadyResolved
	case errors.Is(err, journal.ErrNotFound):
		return ErrUnknownID
	case err != nil:
		return err
	}
	s.deliver(a.ID, answer, answer.By)
	return nil
}

func (s *Service) deliver(id string, answer report.Answer, by string) {
	s.asksMu.Lock()
	ask := s.asks[id]
	delete(s.asks, id)
	s.asksMu.Unlock()
	if ask != nil {
		ask.answer <- answer
		ask.take(&Settled{Outcome: answer.Outcome, By: by})
	}
}

// withdraw takes down an approval that is no longer wanted.
func (s *Service) withdraw(id string) {
	s.asksMu.Lock()
	ask := s.asks[id]
	delete(s.asks, id)
	s.asksMu.Unlock()
	if ask != nil {
		ask.take(&Settled{By: "cancel"})
	}
}

// takeAnswers looks for answers that another process wrote.
func (s *Service) takeAnswers(ctx context.Context) {
	s.asksMu.Lock()
	ids := make([]string, 0, len(s.asks))
	for id := range s.asks {
		ids = append(ids, id)
	}
	s.asksMu.Unlock()
	for _, id := range ids {
		p, err := s.opt.Journal.Approval(ctx, id)
		if err != nil {
			s.log.Error("look for an answer", "approval", id, "error", err)
			continue
		}
		if p.Answer != nil {
			s.deliver(id, *p.Answer, "elsewhere")
		}
	}
}

// honoured is the answer as it counts: an outcome that was not offered, hunks
// that do not exist and everything else that is malformed is a denial.
func honoured(a report.Approval, answer report.Answer) report.Answer {
	deny := func(why string) report.Answer {
		return report.Answer{Outcome: report.DenyOnce, By: answer.By, Feedback: why}
	}
	if !slices.Contains(a.Outcomes, answer.Outcome) {
		return deny(fmt.Sprintf("the answer %q was not offered, so it counts as a denial", answer.Outcome))
	}
	if answer.Outcome == report.DenyOnce {
		answer.Arguments, answer.Hunks = nil, nil
		return answer
	}
	if len(answer.Arguments) > 0 {
		v, err := contract.ReadPlain(answer.Arguments)
		if _, isMap := v.(map[string]any); err != nil || !isMap {
			return deny("the edited arguments are no JSON object, so the answer counts as a denial")
		}
		if sameJSON(answer.Arguments, a.Arguments) {
			answer.Arguments = nil
		}
	}
	return honouredHunks(a, answer, deny)
}

func honouredHunks(a report.Approval, answer report.Answer, deny func(string) report.Answer) report.Answer {
	if answer.Hunks == nil {
		return answer
	}
	if len(answer.Arguments) > 0 {
		return deny("edited arguments and single hunks cannot go together, so the answer counts as a denial")
	}
	if len(a.Edits) != 1 {
		return deny("this call has no hunks to choose from, so the answer counts as a denial")
	}
	if len(answer.Hunks) == 0 {
		return deny("no hunk was accepted")
	}
	slices.Sort(answer.Hunks)
	answer.Hunks = slices.Compact(answer.Hunks)
	for _, n := range answer.Hunks {
		if !slices.ContainsFunc(a.Edits[0].Hunks, func(h report.Hunk) bool { return h.N == n }) {
			return deny(fmt.Sprintf("there is no hunk %d, so the answer counts as a denial", n))
		}
	}
	if len(answer.Hunks) == len(a.Edits[0].Hunks) {
		answer.Hunks = nil
	}
	return answer
}

// answered acts on the answer that won.
func (d *dispatched) answered(ctx context.Context, a report.Approval, answer report.Answer, digest string) (bool, *loop.ToolResult) {
	r := d.run
	answer = d.fitting(answer)
	e := loop.Event{
		Kind: loop.Resolved, CallID: d.call.ID, ApprovalID: a.ID, By: answer.By, Reason: answer.Feedback,
		Verdict: loop.VerdictAllow, Arguments: answer.Arguments, Hunks: answer.Hunks,
	}
	step := loop.GateStep{Layer: loop.LayerApproval, Source: answer.By, Fired: true, Outcome: loop.VerdictAllow, Because: approvedBecause(a, answer)}
	switch answer.Outcome {
	case report.AllowSession:
		e.Grant = a.Covers.Session
	case report.AllowAlways:
		e.Always = a.Covers.Always
		r.svc.grantAlways(r, a.Covers.Always)
	case report.AllowOnce:
	default:
		e.Verdict = loop.VerdictDeny
		step.Outcome = loop.VerdictDeny
	}
	e.Steps = []loop.GateStep{step}
	s, ok := r.tell(posted{event: e})
	if e.Grant != "" || answer.Outcome == report.AllowAlways {
		r.svc.settleCovered(context.WithoutCancel(ctx))
	}
	c, found := s.Call(d.call.ID)
	if !ok || !found || c.Phase == loop.CallDone {
		return false, nil
	}
	switch {
	case e.Verdict == loop.VerdictDeny:
		return false, d.deniedBy(ctx, answer)
	case len(answer.Arguments) > 0:
		return false, nil // dispatched again, from the schema on
	}
	d.call.Hunks = answer.Hunks
	// The person answered what was shown. If the world has moved since, that
	// answer is for something else.
	if early := d.prepare(ctx); early != nil {
		return false, early
	}
	if d.digest() != digest {
		return false, refusal(loop.CallError, "what this call would do changed while the approval was open, so it did not run; read the file again and repeat the call")
	}
	return true, nil
}

// approvedBecause says what was answered, for the record.
func approvedBecause(a report.Approval, answer report.Answer) string {
	var text string
	switch answer.Outcome {
	case report.AllowOnce:
		text = "allowed this once"
	case report.AllowSession:
		text = "allowed for the session: " + a.Covers.Session
	case report.AllowAlways:
		text = "allowed for this workspace from now on: " + a.Covers.Always
	default:
		text = "denied"
	}
	switch {
	case len(answer.Arguments) > 0:
		text += ", with other arguments"
	case answer.Hunks != nil:
		text += ", in part"
	}
	if answer.Feedback != "" {
		text += ": " + answer.Feedback
	}
	return text
}

// fitting is the answer with its edited arguments as the tool's schema has
// them. Nobody behind the approval sees arguments that do not fit: such an
// answer is a denial.
func (d *dispatched) fitting(answer report.Answer) report.Answer {
	if answer.Outcome == report.DenyOnce || len(answer.Arguments) == 0 {
		return answer
	}
	args, err := tool.ValidateArguments(d.tool.Spec(), answer.Arguments)
	if err != nil {
		return report.Answer{Outcome: report.DenyOnce, By: answer.By, Feedback: "the edited arguments count as a denial: " + err.Error()}
	}
	answer.Arguments = args
	return answer
}

// deniedBy is the result of a denied call.
func (d *dispatched) deniedBy(ctx context.Context, answer report.Answer) *loop.ToolResult {
	text := "denied by the user"
	switch answer.By {
	case "no approver":
		text = "denied: no approver, nobody could be asked"
	case "dismissed":
		text = "denied: the request was dismissed"
	}
	if answer.Feedback != "" {
		text += ": " + answer.Feedback
	}
	for _, e := range d.plan.Edits {
		if e.Before == nil {
			text += fmt.Sprintf("\n%s was not created", d.run.svc.shortPath(e.Path))
			continue
		}
		now, err := d.run.svc.files().Read(ctx, e.Path)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(now.Bytes)
		text += fmt.Sprintf("\n%s is as it was (sha256 %s)", d.run.svc.shortPath(e.Path), hex.EncodeToString(sum[:]))
	}
	return refusal(loop.CallDenied, text)
}

// grantAlways writes the rule for this workspace to the user's file.
func (s *Service) grantAlways(r *activeRun, rule string) {
	if err := policy.AppendAlways(s.opt.StateDir, s.opt.Root, rule); err != nil {
		r.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the rule %s holds until this program ends, it could not be written: %v", rule, err)})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = append(s.always, policy.Grant{Rule: rule, Always: true})
}

// settleCovered answers the open approvals that a new grant covers.
func (s *Service) settleCovered(ctx context.Context) {
	s.asksMu.Lock()
	asks := make([]*openAsk, 0, len(s.asks))
	for _, a := range s.asks {
		asks = append(asks, a)
	}
	s.asksMu.Unlock()
	for _, a := range asks {
		if a.of == nil || a.of.judge(a.of.run.grants()).Verdict != loop.VerdictAllow {
			continue
		}
		err := s.settle(ctx, a.approval, report.Answer{Outcome: report.AllowOnce, By: "policy"})
		if err != nil && !errors.Is(err, ErrAlreadyResolved) {
			s.log.Error("settle a covered approval", "approval", a.approval.ID, "error", err)
		}
	}
}

// grants are those that hold for a call of this run now.
func (r *activeRun) grants() []policy.Grant {
	r.svc.mu.Lock()
	all := slices.Clone(r.svc.always)
	r.svc.mu.Unlock()
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	return append(all, r.granted...)
}

// keepGrants copies the session's grants from the state for those beside the
// loop.
func (r *activeRun) keepGrants() {
	granted := make([]policy.Grant, len(r.state.Grants))
	for i, rule := range r.state.Grants {
		granted[i] = policy.Grant{Rule: rule}
	}
	r.callsMu.Lock()
	defer r.callsMu.Unlock()
	r.granted = granted
}
