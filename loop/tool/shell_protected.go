package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/sandbox"
)

// shownChanges bounds how many changes of protected files one result names.
const shownChanges = 10

// protected deals with always-asked files that a command changed. They are put
// back at once, so that nothing acts on them and a crash leaves none behind.
// Then a person is asked whether the changes may be made after all. The
// result's text says what became of them, since that is what the model and
// the person both read.
func (t *shellTool) protected(ctx context.Context, call loop.Invocation, changes sandbox.Changes, say func(string), r *loop.ToolResult) {
	list := t.changed(changes)
	t.Log.Warn("a command changed files that are always asked about", "changes", list)
	held := changes.Suspend()
	asked, yes := t.confirmed(ctx, call, held, list)
	if yes {
		failed := held.Accept()
		if len(failed) == 0 {
			r.Notes = append(r.Notes, "the user accepted that the command "+list)
			return
		}
		for i, f := range failed {
			failed[i] = t.show(f)
		}
		say("[the user accepted that the command " + list + "; not all of it could be kept, undone are: " + few(failed) + "]")
		r.IsError, r.Outcome = true, worse(r.Outcome)
		return
	}
	held.Refuse()
	note := "the command " + list + "; only a person may allow that, "
	switch {
	case !held.Whole():
		note += "and not all of it could be undone: "
	case asked:
		note += "and it was not allowed, so it was undone: "
	default:
		note += "so it was undone: "
	}
	note += few(t.undone(held.Undone))
	t.Log.Warn("protected files were put back", "did", few(t.undone(held.Undone)))
	say("[" + note + "]")
	r.IsError, r.Outcome = true, worse(r.Outcome)
	if !held.Whole() && call.Alarm != nil {
		call.Alarm(note)
	}
}

// worse is the outcome of a call that went well but for what was undone.
func worse(o loop.CallOutcome) loop.CallOutcome {
	if o == loop.CallOK {
		return loop.CallError
	}
	return o
}

// confirmed asks a person whether the changes may be made again, where all of
// them can be.
func (t *shellTool) confirmed(ctx context.Context, call loop.Invocation, held sandbox.Suspended, list string) (asked, yes bool) {
	offered, ok := held.Offered()
	if !ok || call.Confirm == nil || ctx.Err() != nil {
		return false, false
	}
	edits := make([]loop.FileEdit, 0, len(offered))
	for _, o := range offered {
		edits = append(edits, loop.FileEdit{Path: o.Path, Before: o.Before, After: o.After, Created: o.What == "created"})
	}
	return true, call.Confirm(ctx, "the command "+list+", which is always asked about; it was undone until you say that it may stay", edits)
}

// undone says what became of each change, but for what is in a folder that is
// named itself.
func (t *shellTool) undone(undone []sandbox.Undone) []string {
	var did []string
	for _, u := range undone {
		if u.Did == "put back" || u.Did == "moved back" {
			if slices.ContainsFunc(undone, func(o sandbox.Undone) bool { return o.Path == filepath.Dir(u.Path) && o.Did == u.Did }) {
				continue // with its folder
			}
		}
		name := t.show(u.Path)
		switch {
		case u.Aside != "":
			did = append(did, name+" put aside as "+t.show(u.Aside))
		case !u.OK:
			did = append(did, name+" left "+u.What)
		default:
			did = append(did, name+" "+u.Did)
		}
	}
	return did
}

// changed says what a command did to protected files, each folder once.
func (t *shellTool) changed(changes sandbox.Changes) string {
	type deed struct{ what, path string }
	done := map[deed]bool{}
	for _, c := range changes {
		done[deed{c.What, c.Path}] = true
	}
	var names []string
	for _, c := range changes {
		if !done[deed{c.What, filepath.Dir(c.Path)}] {
			names = append(names, c.What+" "+t.show(c.Path))
		}
	}
	return few(names)
}

// few joins some of the names, and says how many more there are.
func few(names []string) string {
	if more := len(names) - shownChanges; more > 0 {
		return strings.Join(names[:shownChanges], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
