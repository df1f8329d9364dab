package run

import (
	"fmt"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/tool"
	"agent-ls/loop/tool/toolname"
	"agent-ls/loop/trust"
)

// untrusted are the command hooks of the run that do not run, since nobody
// trusts them as they are. Those that are required keep a run from starting.
func (p *pinned) untrusted() []manifest.CommandHook {
	var list []manifest.CommandHook
	for _, c := range p.Config.Commands {
		if !c.Trusted {
			list = append(list, c)
		}
	}
	return list
}

// waitsForTrust says why a command hook does not run, and what to do.
func waitsForTrust(c *manifest.CommandHook) string {
	why := "it waits for your trust"
	if c.State == trust.Changed {
		why = "it changed since you trusted it"
	}
	return fmt.Sprintf("it would run %q, and does not run: %s (agent-ls hooks trust %s)", c.Command, why, c.ID)
}

// tellUntrusted says at the start of a run that a person began which hooks do
// not run: a guard that is left out in silence would seem to guard.
func (r *activeRun) tellUntrusted() {
	if r.pin == nil || r.parent != nil {
		return
	}
	list := r.pin.untrusted()
	if len(list) == 0 {
		return
	}
	r.busy.Add(1)
	go func() {
		defer r.busy.Done()
		defer r.recovered()
		for i := range list {
			r.note(loop.Note{Level: "warning", Text: fmt.Sprintf("the hook %s of %s: %s", list[i].ID, list[i].Event, waitsForTrust(&list[i]))})
		}
	}()
}

// leftOut are the steps of the command hooks that would see the call and do
// not, since nobody trusts them.
func (x *explainer) leftOut(call *loop.Call) {
	names := toolname.Spellings(tool.Canonical(call.Tool))
	list := x.run.pin.untrusted()
	for i := range list {
		c := &list[i]
		if c.Event == "pre_tool" && fits(c.Matcher, names) {
			x.say(loop.GateStep{Layer: loop.LayerHook, Source: c.Event + " " + c.ID, Outcome: loop.VerdictAllow, Because: waitsForTrust(c)})
		}
	}
}

// fits says whether a hook's matcher names a tool by one of its spellings.
func fits(matcher string, names []string) bool {
	if m := strings.TrimSpace(matcher); m == "" || m == "*" {
		return true
	}
	for want := range strings.SplitSeq(matcher, ",") {
		want = strings.TrimSpace(want)
		for _, name := range names {
			if want == "*" || want == name {
				return true
			}
		}
	}
	return false
}
