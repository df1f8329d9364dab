package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// confirm asks a person whether what a running call did to always-asked files
// may stay. The files are as they were before until somebody says yes, so
// that nothing is left behind if nobody ever does.
func (d *dispatched) confirm(ctx context.Context, why string, edits []loop.FileEdit) bool {
	r := d.run
	a := d.confirmation(why, edits)
	s, ok := r.tell(posted{
		event: loop.Event{Kind: loop.Asked, CallID: d.call.ID, ApprovalID: a.ID, Digest: a.Digest, Title: a.Title,
			Steps: []loop.GateStep{{Layer: loop.LayerBuiltin, Source: "protected", Fired: true, Outcome: loop.VerdictAsk, Because: why}}},
		ask: &a,
	})
	c, found := s.Call(d.call.ID)
	if !ok || !found || c.ConfirmID != a.ID {
		return false
	}
	since := d.run.svc.clock()
	answer, err := d.await(ctx, a, nil)
	d.asked += d.run.svc.clock().Sub(since)
	if err != nil {
		return false // withdrawn
	}
	verdict := loop.VerdictDeny
	if answer.Outcome == report.AllowOnce {
		verdict = loop.VerdictAllow
	}
	_, ok = r.tell(posted{event: loop.Event{
		Kind: loop.Resolved, CallID: d.call.ID, ApprovalID: a.ID, By: answer.By, Reason: answer.Feedback, Verdict: verdict,
		Steps: []loop.GateStep{{Layer: loop.LayerApproval, Source: answer.By, Fired: true, Outcome: verdict, Because: approvedBecause(a, answer)}},
	}})
	return ok && verdict == loop.VerdictAllow
}

// confirmation is what is shown. It is offered once, whole, or not at all.
func (d *dispatched) confirmation(why string, edits []loop.FileEdit) report.Approval {
	r := d.run
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d:%s\n", d.tool.Spec().Name, len(d.args), d.args)
	names := make([]string, 0, len(edits))
	shown := make([]report.Edit, 0, len(edits))
	for _, e := range edits {
		fmt.Fprintf(h, "%d:%s %t %t %d:", len(e.Path), e.Path, e.Before == nil, e.After == nil, len(e.Before))
		h.Write(e.Before)
		fmt.Fprintf(h, "%d:", len(e.After))
		h.Write(e.After)
		names = append(names, r.svc.shortPath(e.Path))
		shown = append(shown, report.Edit{Path: e.Path, Diff: tool.Diff(r.svc.shortPath(e.Path), e.Before, e.After), Hunks: []report.Hunk{}})
	}
	a := report.Approval{
		ID: newID("ask"), RunID: r.id, SessionID: r.session, CallID: d.call.ID, Stage: d.state.Stage, Tool: d.tool.Spec().Name, Arguments: d.args,
		Digest: hex.EncodeToString(h.Sum(nil)), Title: "keep what the command did to " + strings.Join(names, ", "), Risk: loop.Write,
		Why: []string{why}, Edits: shown, Hooks: r.trailOf(d.call.ID), ParentRunID: d.state.ParentRunID,
		Outcomes: []report.ApprovalOutcome{report.AllowOnce, report.DenyOnce},
	}
	if c := d.plan.Command; c != nil {
		a.Command = &report.Command{Line: c.Line, Cwd: c.Dir, Commands: commandNames(c.Line)}
	}
	return a
}

// alarm ends the run: always-asked files are not as they were, and nobody
// allowed that.
func (d *dispatched) alarm(what string) {
	d.run.post(posted{event: loop.Event{Kind: loop.Ended, Stop: loop.StopPolicy, Error: what}})
}
