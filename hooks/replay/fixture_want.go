package replay

import (
	"slices"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// want reads what a case wants, which must be something that the event's hooks
// can come to.
func (r *fixtureReader) want(e *contract.Event, m map[string]any, path string) Want {
	at := under(path, "want")
	w := Want{Given: map[string]bool{}, spans: map[string]check.Span{}}
	v, given := m["want"]
	if !given {
		r.add(check.CodeWrongType, r.toml.key(path), "the case checks nothing: give it a want, such as want = \"allow\"")
		return w
	}
	table, isTable := v.(map[string]any)
	if action, ok := v.(string); ok {
		table, isTable = map[string]any{"action": action}, true
		r.toml.keys[under(at, "action")], r.toml.values[under(at, "action")] = r.toml.key(at), r.toml.place(at)
	}
	if !isTable {
		r.add(check.CodeWrongType, r.toml.place(at), "want must be an action or a table, not %s", tomlKind(v))
		return w
	}
	if len(table) == 0 {
		r.add(check.CodeWrongType, r.toml.key(at), "the case checks nothing: its want is empty")
		return w
	}
	r.known(table, at, wantKeys, "want")
	for _, key := range r.keysOf(table, at) {
		w.Given[key], w.spans[key] = true, r.toml.key(under(at, key))
	}
	r.wantAction(e, &w, table, at)
	w.Reason, _ = r.text(table, at, "reason")
	w.Error, _ = r.text(table, at, "error")
	w.Printed, _ = r.text(table, at, "printed")
	r.wantValue(e, &w, table, at)
	if v, given := table["is_error"]; given {
		var ok bool
		if w.IsError, ok = v.(bool); !ok {
			r.add(check.CodeWrongType, r.toml.place(under(at, "is_error")), "want.is_error must be true or false, not %s", tomlKind(v))
		}
	}
	if v, given := table["calls"]; given {
		r.wantCalls(&w, v, under(at, "calls"))
	}
	w.State = r.table(table, at, "state")
	r.possible(e, &w, at)
	return w
}

func (r *fixtureReader) wantAction(e *contract.Event, w *Want, table map[string]any, at string) {
	name, ok := r.text(table, at, "action")
	if !ok {
		if w.Given["error"] {
			w.Action = contract.Failed
		}
		return
	}
	place := r.toml.place(under(at, "action"))
	action, err := contract.ParseAction(name)
	if err != nil {
		var known []string
		for _, a := range append(slices.Clone(e.Actions), contract.Failed) {
			known = append(known, a.String())
		}
		r.misspelt(check.CodeUnknownAction, place, name, known, "there is no action %q", name)
		return
	}
	if action != contract.Failed && !e.Honours(action) {
		r.add(check.CodeActionNotHonoured, place, "%s does not honour %s; it honours %s", e.Name, name, e.Honoured())
		return
	}
	w.Action = action
}

func (r *fixtureReader) wantValue(e *contract.Event, w *Want, table map[string]any, at string) {
	v, given := table["value"]
	where := under(at, "value")
	if text, ok := r.text(table, at, "value_json"); ok {
		where = under(at, "value_json")
		if given {
			r.add(check.CodeWrongType, r.toml.key(where), "want has a value already")
		}
		value, err := contract.ReadPlain([]byte(text))
		if err != nil {
			r.add(check.CodeWrongType, r.toml.place(where), "want.value_json is no JSON: %v", err)
			return
		}
		w.Value, given = value, true
		w.Given["value"], w.spans["value"] = true, w.spans["value_json"]
	} else if given {
		value, wrong, bad := plain(v, where)
		if wrong != "" {
			r.add(check.CodeWrongType, r.toml.place(bad), "want.%s %s", dotted(at, bad), wrong)
			return
		}
		w.Value = value
	}
	if given && w.Action == contract.Modify && e.Value != nil {
		if err := contract.Fits(w.Value, e.Value, "want.value"); err != nil {
			r.add(check.CodeWrongType, r.toml.place(where), "%v", err)
		}
	}
}

func (r *fixtureReader) wantCalls(w *Want, v any, at string) {
	list, ok := v.([]any)
	if !ok {
		r.add(check.CodeWrongType, r.toml.place(at), "want.calls must be a list of ids, not %s", tomlKind(v))
		return
	}
	w.Calls = []string{}
	for _, item := range list {
		id, ok := item.(string)
		if !ok {
			r.add(check.CodeWrongType, r.toml.place(at), "want.calls must be a list of ids, not of %s", tomlKind(item))
			return
		}
		w.Calls = append(w.Calls, id)
	}
}

// possible says of what is wanted that no decision with that action has it.
func (r *fixtureReader) possible(e *contract.Event, w *Want, at string) {
	complain := func(key, why string) {
		if w.Given[key] {
			r.add(check.CodeWrongType, w.spans[key], "want.%s: %s", key, why)
		}
	}
	if w.Action == contract.NoAction {
		return
	}
	if w.Action != contract.Modify && w.Action != contract.Substitute {
		complain("value", "only modify and substitute have a value")
	}
	if w.Action != contract.Substitute {
		complain("is_error", "only substitute has it")
	}
	if w.Action != contract.Deny || e.PerCall {
		complain("calls", "only deny on a batch of calls has them")
	}
	if w.Action == contract.Failed {
		complain("reason", "a broken script gives none; want.error is what its message has in it")
		complain("state", "a broken script gives none")
	} else {
		complain("error", "only a broken script has one; its action is \"error\"")
	}
}
