package run

import (
	"context"
	"fmt"
	"sync"

	"agent-ls/hooks"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// ledger is what the built-in policies of a run count: tool_budgets,
// repeat_guard and dedup_tools. What they count is in the journal; this is the
// newest of it, ahead of the state that a call was dispatched with.
type ledger struct {
	behavior *manifest.Behavior
	keys     map[string]dedupKey // by tool

	mu      sync.Mutex                  // guards what follows
	counts  map[string]int              // calls that were let through, by tool
	counted map[string]bool             // by call id
	atWork  map[string]bool             // keys of calls that are under way
	replays map[string]*loop.ToolResult // by key
}

// dedupKey names the calls of a tool that are equal to this one; "" means that
// none is.
type dedupKey func(ctx context.Context, input map[string]any) (string, *hooks.Failure)

func newLedger(b *manifest.Behavior) *ledger {
	return &ledger{
		behavior: b, counts: map[string]int{}, counted: map[string]bool{},
		atWork: map[string]bool{}, replays: map[string]*loop.ToolResult{},
	}
}

// begin takes over what a run that goes on has counted so far.
func (g *ledger) begin(s *loop.State) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, n := range s.ToolCounts {
		g.counts[name] = n
	}
	for key, r := range s.Replays {
		g.replays[key] = r
	}
	for _, c := range s.Batch {
		if c.Counted {
			g.counted[c.ID] = true
		}
	}
}

// countFields are the counts as hooks see them.
func (g *ledger) countFields() map[string]any {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make(map[string]any, len(g.counts))
	for name, n := range g.counts {
		out[name] = int64(n)
	}
	return out
}

// count lets a call through and says which of its tool it is in the run. A
// call counts once.
func (g *ledger) count(c loop.Call) (n int, again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counted[c.ID] {
		return g.counts[c.Tool], true
	}
	g.counted[c.ID] = true
	g.counts[c.Tool]++
	return g.counts[c.Tool], false
}

// giveBack is told of a call that did not run after all.
func (g *ledger) giveBack(c loop.Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counted[c.ID] && !c.Counted {
		delete(g.counted, c.ID)
		g.counts[c.Tool]--
	}
}

// builtin is what the built-in policies say of a call that its tool can do: a
// result answers it. Those that look at files are part of the plan.
func (d *dispatched) builtin(ctx context.Context, alone bool) *loop.ToolResult {
	if r := d.repeated(); r != nil {
		return r
	}
	if r := d.overBudget(); r != nil {
		return r
	}
	return d.replayed(ctx, alone)
}

// overBudget holds the call against behavior.tool_budgets.
func (d *dispatched) overBudget() *loop.ToolResult {
	g := d.run.ledger
	n, again := g.count(d.call)
	budget, limited := g.behavior.ToolBudgets[d.call.Tool]
	if !limited || n <= budget.Max || again {
		return nil
	}
	d.hear("tool-budget:exceeded", func() map[string]any {
		f := d.callFields()
		f["max"], f["count"], f["on_exceed"] = int64(budget.Max), int64(n), budget.OnExceed
		return f
	})
	if budget.OnExceed == "block" {
		g.giveBack(d.call)
		return refusal(loop.CallDenied, fmt.Sprintf("Blocked: %s may be called %d times in a run, and was (behavior.tool_budgets); go on with what you have", d.call.Tool, budget.Max))
	}
	text := fmt.Sprintf("%s was called more than %d times in this run: commit to what you have learnt and go on without it", d.call.Tool, budget.Max)
	d.run.post(posted{event: loop.Event{Kind: loop.Nudge, ID: "tool_budget:" + d.call.Tool, Text: &text}})
	return nil
}

// guarded are the tools whose repetition is watched unless others are named.
var guarded = map[string]bool{"shell": true, "read_file": true}

// repeated holds the call against behavior.repeat_guard.
func (d *dispatched) repeated() *loop.ToolResult {
	guard := d.run.ledger.behavior.RepeatGuard
	limit, own := guard.Tools[d.call.Tool]
	if !own {
		limit = guard.RepeatLimit
	}
	if !guard.Enabled || !own && !guarded[d.call.Tool] {
		return nil
	}
	n := d.state.Streak(d.call.ID)
	abort := limit.Abort > 0 && n >= limit.Abort
	if !abort && (limit.Block <= 0 || n < limit.Block) {
		return nil
	}
	action, threshold := "block", limit.Block
	if abort {
		action, threshold = "abort", limit.Abort
	}
	d.hear("repeat-guard:exceeded", func() map[string]any {
		f := d.callFields()
		f["count"], f["threshold"], f["action"] = int64(n), int64(threshold), action
		return f
	})
	if abort {
		why := fmt.Sprintf("%s was called %d times in a row with the same arguments (behavior.repeat_guard)", d.call.Tool, n)
		d.run.post(posted{event: loop.Event{Kind: loop.Ended, Stop: loop.StopPolicy, Error: why}})
		return refusal(loop.CallDenied, "it did not run: "+why)
	}
	return refusal(loop.CallDenied, fmt.Sprintf(
		"Blocked: this is call %d in a row of %s with the same arguments, and it will answer the same; do something else: other arguments, another tool, or say what stands in the way", n, d.call.Tool))
}

// replayed answers a call from an earlier one with the same key, where
// behavior.dedup_tools has a script for its tool.
func (d *dispatched) replayed(ctx context.Context, alone bool) *loop.ToolResult {
	g := d.run.ledger
	name := g.keys[d.call.Tool]
	if name == nil {
		return nil
	}
	if d.key == "" {
		key, failure := name(d.work, loop.ArgumentMap(d.args))
		if ctx.Err() != nil {
			return d.stopped(ctx)
		}
		if failure != nil {
			return refusal(loop.CallDenied, "it did not run: "+d.run.endRun("behavior.dedup_tools", hooks.Outcome{Failure: failure}))
		}
		if key == "" {
			return nil
		}
		d.key = callDigest(d.call.Tool, []byte(key))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	earlier := g.replays[d.key]
	switch {
	case earlier != nil:
		r := *earlier
		r.Outcome = loop.CallSubstituted
		r.Notes = []string{"an equal call was answered before in this run; this is its result again, the tool did not run (behavior.dedup_tools)"}
		return &r
	case g.atWork[d.key] && !alone:
		d.unsafe = true // an equal call is under way
	default:
		g.atWork[d.key] = true
	}
	return nil
}

// maxReplays bounds how many results a run keeps to be replayed.
const maxReplays = 256

// keep keeps a result for calls with the same key.
func (g *ledger) keep(key string, r *loop.ToolResult) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.atWork, key)
	if !r.IsError && r.Outcome == loop.CallOK && g.replays[key] == nil && len(g.replays) < maxReplays {
		g.replays[key] = r
	}
}
