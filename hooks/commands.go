package hooks

import (
	"context"

	"agent-ls/hooks/contract"
)

// Commands runs the command hooks of a session; hooks/command has the real
// one.
type Commands interface {
	// Has says whether a command is declared for the event.
	Has(event string) bool
	// Fire runs those that match and gives their rulings in declared order.
	Fire(ctx context.Context, e *contract.Event, f Firing, fields map[string]any) []Ruling
}

// Ruling is what one command hook came to.
type Ruling struct {
	Decision Decision
	Verdict  contract.Verdict
	Failure  *Failure // nil when it answered
	Required bool     // its failure closes the gate
	// Ask is set when the command wants a person to be asked, with its reason.
	Ask string
}

// rulings folds what commands decided, in declared order: deny beats rewrite
// beats continue, and of the rewrites of a call the first one wins. A command
// that failed decides nothing, but where it could have refused a call, no rule
// may allow that call.
func (f *fold) rulings(list []Ruling) (out Outcome, over bool) {
	rewritten := false
	for _, r := range list {
		d := r.Decision
		d.ID = newID()
		if r.Failure == nil && r.Verdict.Action == contract.Modify {
			switch {
			case f.event.PerCall && rewritten:
				d.Reason = "a rewrite by a hook before it counts"
			case f.event.Name == "user_prompt":
				r.Verdict.Value = joined(f.ctx["additional_context"], r.Verdict.Value)
				fallthrough
			default:
				d.Changes = f.modify(r.Verdict.Value)
				rewritten = true
			}
		}
		f.decisions = append(f.decisions, d)
		switch {
		case r.Failure != nil && r.Required:
			return f.broken(r.Failure), true
		case r.Failure != nil:
			if f.event.PerCall && f.unheard == "" {
				f.unheard = r.Failure.Message
			}
		case r.Ask != "":
			if f.unheard == "" {
				f.unheard = r.Ask
			}
		default:
			f.add(d.HookID, r.Verdict)
		}
	}
	return Outcome{}, false
}

// joined is what several commands add to a prompt.
func joined(before, more any) any {
	a, _ := before.(string)
	b, _ := more.(string)
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
