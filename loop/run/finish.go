package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

func (d *dispatched) record(e loop.FileEdit) journal.Edit {
	return journal.Edit{RunID: d.run.id, CallID: d.call.ID, Path: e.Path, Before: e.Before, After: e.After, Created: e.Created}
}

// changed is told by the tool of each file that it changed.
func (d *dispatched) changed(e loop.FileEdit) {
	d.mu.Lock()
	late := d.over
	if !late {
		d.edits = append(d.edits, e)
	}
	d.mu.Unlock()
	if late {
		// The call was given up. The change counts for undo all the same.
		if err := d.run.svc.opt.Journal.AddEdit(context.Background(), d.record(e)); err != nil {
			d.run.svc.log.Error("record a late edit", "path", e.Path, "error", err)
		}
	}
}

// output shows the tail of what a running tool prints.
func (d *dispatched) output(tail string) {
	d.mu.Lock()
	quiet := d.over || time.Since(d.shownAt) < showEvery
	if !quiet {
		d.shownAt = time.Now()
	}
	d.mu.Unlock()
	if quiet {
		return
	}
	e := d.run.transient(report.ToolOutput, d.state)
	e.CallID, e.Output = d.call.ID, &tail
	d.run.passing(e)
}

// finish posts the result of the call, behind those of the calls before it.
// ran says that its tool was at work on it.
func (d *dispatched) finish(ctx context.Context, result *loop.ToolResult, ran bool) {
	took := max(d.run.svc.clock().Sub(d.started)-d.asked, 0)
	d.leave() // others may run while this one waits for its turn to be shown
	for _, turn := range []<-chan struct{}{d.gated, d.before} {
		select {
		case <-turn:
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	d.over = true
	edits, label, todos := d.edits, d.label, d.todos
	d.mu.Unlock()
	final := *result
	final.CallID = d.call.ID
	if final.Outcome == "" {
		final.Outcome = loop.CallOK
		if final.IsError {
			final.Outcome = loop.CallError
		}
	}
	if ran {
		d.settle(&final, edits, took)
	}
	if errors.Is(context.Cause(ctx), errCallStopped) {
		d.cancelledAlone(ran)
	}
	final.Text = d.state.Clean(final.Text)
	final.Notes = append(d.notes(), final.Notes...)
	p := posted{event: loop.Event{Kind: loop.Finished, CallID: d.call.ID, Result: &final, DurationMs: took.Milliseconds(), Title: d.plan.Title, Steps: d.said(), Label: label}}
	if ran && d.key != "" {
		p.event.Key = d.key
		d.run.ledger.keep(d.key, &final)
	}
	for _, e := range edits {
		p.done = append(p.done, d.record(e))
		p.event.Changes = append(p.event.Changes, loop.FileChange{Path: e.Path, Diff: tool.Diff(d.run.svc.shortPath(e.Path), e.Before, e.After)})
	}
	p.event.Saw, p.event.Todos = d.saw(edits), todos
	d.addTracked(&p)
	d.run.post(p)
}

// saw are the digests of what the session knows of the files that the call
// was about, so that a process that resumes it knows the same.
func (d *dispatched) saw(edits []loop.FileEdit) map[string]string {
	tracker := d.run.gear.tracker
	if tracker == nil {
		return nil
	}
	var saw map[string]string
	add := func(path string) {
		if digest := tracker.Seen(path); digest != "" {
			if saw == nil {
				saw = map[string]string{}
			}
			saw[path] = digest
		}
	}
	for _, p := range d.plan.Paths {
		add(p.Path)
	}
	for _, e := range edits {
		add(e.Path)
	}
	return saw
}

// notes tell the model what ran instead of what it asked for.
func (d *dispatched) notes() []string {
	var who []string
	if d.call.Hooked {
		who = append(who, "a hook")
	}
	if d.call.Edited {
		who = append(who, "the user")
	}
	if len(who) == 0 {
		return nil
	}
	changed := pointers(d.call.Wanted.Arguments, d.call.Arguments)
	if name := tool.Canonical(d.call.Wanted.Name); name != d.call.Tool {
		changed = append(changed, fmt.Sprintf("the tool (%s became %s)", name, d.call.Tool))
	}
	if len(changed) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s changed this call before it ran: %s. What ran is %s %s", strings.Join(who, " and "), strings.Join(changed, ", "), d.call.Tool, d.call.Arguments)}
}

// pointers names the fields in which two argument objects differ.
func pointers(before, after json.RawMessage) []string {
	x, errX := contract.ReadPlain(before)
	y, errY := contract.ReadPlain(after)
	if errX != nil || errY != nil {
		return []string{"/"}
	}
	var out []string
	differ("", x, y, &out)
	return out
}

// firstLine is a text's first line, for the record.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
