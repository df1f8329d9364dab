package run

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/tool"
	"agent-ls/loop/tracked"
)

// What commands change in files that git tracks can be undone. Commands that
// only look, and run beside others, are not watched: what changes meanwhile is
// not theirs. What is still running in the background when its call is over
// changes files that nobody looks at any more.

const (
	// shownChanges and shownBytes bound what is shown of a command's changes;
	// all of them are kept for an undo.
	shownChanges = 20
	shownBytes   = 32 << 10
)

// lookTracked looks at the tracked files before a command.
func (d *dispatched) lookTracked() *tracked.Before {
	if d.plan.Command == nil || d.plan.Effect != loop.Execute || d.plan.ConcurrencySafe {
		return nil
	}
	before, err := tracked.Look(d.run.svc.opt.Root)
	if err != nil {
		d.run.untracked.Do(func() {
			d.run.note(loop.Note{Level: "warning", Text: "what commands change in files that git tracks cannot be undone here: " + err.Error()})
		})
	}
	return before
}

// takeTracked notes what a command changed in them.
func (d *dispatched) takeTracked(ctx context.Context, before *tracked.Before) {
	changes, lost := before.Changes(ctx)
	if len(lost) > 0 {
		d.run.note(loop.Note{Level: "warning", Text: d.lostText(lost)})
	}
	edits := make([]journal.Edit, 0, len(changes))
	for _, c := range changes {
		edits = append(edits, journal.Edit{
			RunID: d.run.id, CallID: d.call.ID, Path: c.Path, Before: c.Before, After: c.After,
			Created: c.Created, Gone: c.Gone, Mode: uint32(c.Mode),
		})
	}
	d.mu.Lock()
	late := d.over
	if !late {
		d.byCommand = edits
	}
	d.mu.Unlock()
	for _, e := range edits {
		if !late {
			break
		}
		if err := d.run.svc.opt.Journal.AddEdit(context.Background(), e); err != nil {
			d.run.svc.log.Error("record a late edit", "path", e.Path, "error", err)
		}
	}
}

func (d *dispatched) lostText(lost []string) string {
	names := make([]string, 0, 4)
	for i, path := range lost {
		if i == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, d.run.svc.shortPath(path))
	}
	return fmt.Sprintf("%d files that git tracks were changed by this command in a way that an undo cannot put back: %s", len(lost), strings.Join(names, ", "))
}

// addTracked adds a command's changes to the event that ends its call.
func (d *dispatched) addTracked(p *posted) {
	d.mu.Lock()
	edits := d.byCommand
	d.mu.Unlock()
	for i, e := range edits {
		p.done = append(p.done, e)
		if i < shownChanges {
			p.event.Changes = append(p.event.Changes, loop.FileChange{Path: e.Path, Diff: shownDiff(d.run.svc.shortPath(e.Path), e.Before, e.After)})
		}
	}
}

func shownDiff(name string, before, after []byte) string {
	if len(before)+len(after) > shownBytes || !utf8.Valid(before) || !utf8.Valid(after) {
		return fmt.Sprintf("%s: %d bytes became %d\n", name, len(before), len(after))
	}
	return tool.Diff(name, before, after)
}
