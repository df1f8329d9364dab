package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Caps bound an answer. Zero means the default of the hook contract.
type Caps struct {
	Bytes int64 // of the whole answer, about as JSON; 4 MiB
	Depth int   // levels of lists and maps; 64
	Nodes int   // values of any kind; 262,144
}

// The defaults of Caps.
const (
	DefaultBytes = 4 << 20
	DefaultDepth = 64
	DefaultNodes = 1 << 18
)

// Verdict is an answer that the event honours.
type Verdict struct {
	Action   Action
	Reason   string
	Value    any // Modify, Substitute
	HasValue bool
	IsError  bool     // Substitute
	Calls    []string // Deny on a batch: the ids; empty means all of it
	State    map[string]any
	HasState bool
}

// The keys that a decision map may have.
const (
	keyAction  = "action"
	keyReason  = "reason"
	keyValue   = "value"
	keyIsError = "is_error"
	keyCalls   = "calls"
	keyState   = "state"
)

// Keys gives the keys that a decision map may have when its action is a, in
// the order of the contract. The checker and completion read it too.
func (e *Event) Keys(a Action) []string {
	keys := []string{keyAction, keyReason}
	if a == Modify || a == Substitute {
		keys = append(keys, keyValue)
	}
	if a == Substitute {
		keys = append(keys, keyIsError)
	}
	if a == Deny && !e.PerCall {
		keys = append(keys, keyCalls)
	}
	return append(keys, keyState)
}

// Honoured names the actions that the event honours: `allow, modify and cancel`.
func (e *Event) Honoured() string {
	names := make([]string, len(e.Actions))
	for i, a := range e.Actions {
		names[i] = a.String()
	}
	return enumerate(names, "and")
}

// Refusal is what `false` means on this event, NoAction where it means nothing.
func (e *Event) Refusal() Action {
	switch {
	case e.PerCall:
		return Deny
	case e.Stage:
		return Cancel
	}
	return NoAction
}

// Judge reads what a hook of this event returned, as plain data: nil, bool,
// int64, float64, string, []any or map[string]any. ctx is the one of the
// firing; it tells which calls and regions exist. An error means that the
// answer is malformed: the hook is broken, and a broken hook never allows.
func (e *Event) Judge(answer any, ctx map[string]any, caps Caps) (Verdict, error) {
	v, err := e.judge(answer, ctx, caps)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", e.Name, err)
	}
	return v, nil
}

func (e *Event) judge(got any, ctx map[string]any, caps Caps) (Verdict, error) {
	switch got := got.(type) {
	case nil:
		return Verdict{Action: Allow}, nil
	case bool:
		if got {
			return Verdict{Action: Allow}, nil
		}
		if r := e.Refusal(); r != NoAction {
			return Verdict{Action: r}, nil
		}
		return Verdict{}, fmt.Errorf("returned false, which refuses; this event cannot refuse, it honours %s", e.Honoured())
	case map[string]any:
		if err := measure(got, caps); err != nil {
			return Verdict{}, err
		}
		return e.judgeMap(got, ctx)
	case string:
		return Verdict{}, fmt.Errorf("returned the string %s, which is no decision; return {action: ...}, true, false or nil%s", quote(got), e.meant(got))
	default:
		return Verdict{}, fmt.Errorf("returned %s, which is no decision; return {action: ...}, true, false or nil", describe(got))
	}
}

// meant guesses at a bare action: `return "allow"`.
func (e *Event) meant(s string) string {
	if _, ok := answer(s); ok {
		return fmt.Sprintf(`; did you mean {action: %q}?`, s)
	}
	return ""
}

func (e *Event) judgeMap(m, ctx map[string]any) (Verdict, error) {
	action, err := e.action(m)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Action: action}
	if err := e.knownKeys(m, action); err != nil {
		return v, err
	}
	if reason, given := m[keyReason]; given {
		s, ok := reason.(string)
		if !ok {
			return v, fmt.Errorf("reason must be a string, not %s", describe(reason))
		}
		v.Reason = s
	}
	if state, given := m[keyState]; given {
		s, ok := state.(map[string]any)
		if !ok {
			return v, fmt.Errorf("state must be a map, not %s", describe(state))
		}
		v.State, v.HasState = s, true
	}
	if isError, given := m[keyIsError]; given {
		b, ok := isError.(bool)
		if !ok {
			return v, fmt.Errorf("is_error must be true or false, not %s", describe(isError))
		}
		v.IsError = b
	}
	if calls, given := m[keyCalls]; given {
		if v.Calls, err = judgeCalls(calls, ctx); err != nil {
			return v, err
		}
	}
	if action == Modify || action == Substitute {
		value, given := m[keyValue]
		if !given {
			return v, fmt.Errorf("action %q needs a value: %s", action, e.wants(action))
		}
		if action == Modify {
			if err := e.judgeValue(value, ctx); err != nil {
				return v, err
			}
		}
		v.Value, v.HasValue = value, true
	}
	return v, nil
}

func (e *Event) wants(a Action) string {
	if a == Modify {
		return e.ValueDoc
	}
	return "the result that the call is to have"
}

// action reads the action and holds it against what the event honours.
func (e *Event) action(m map[string]any) (Action, error) {
	given, ok := m[keyAction]
	if !ok {
		hint := ""
		if near := Nearest(keyAction, slices.Sorted(maps.Keys(m))); near != "" {
			hint = fmt.Sprintf("; is %s meant to be \"action\"?", quote(near))
		}
		return NoAction, fmt.Errorf("returned a map without an action%s", hint)
	}
	name, ok := given.(string)
	if !ok {
		return NoAction, fmt.Errorf("action must be a string, not %s", describe(given))
	}
	a, ok := answer(name)
	switch {
	case !ok:
		return NoAction, fmt.Errorf("unknown action %s%s", quote(name), DidYouMean(name, answerNames()))
	case e.Honours(a):
		return a, nil
	case a == Retry:
		return NoAction, fmt.Errorf(`action "retry" is not honoured: this event cannot retry, only %s can; it honours %s`, retriers(), e.Honoured())
	default:
		return NoAction, fmt.Errorf("action %q is not honoured; this event honours %s", name, e.Honoured())
	}
}

// retriers names the events that honour retry.
func retriers() string {
	var names []string
	for _, e := range Events() {
		if e.Honours(Retry) {
			names = append(names, e.Name)
		}
	}
	return enumerate(names, "and")
}

func answerNames() []string {
	names := make([]string, 0, len(Answers()))
	for _, a := range Answers() {
		names = append(names, a.String())
	}
	return names
}

// knownKeys refuses a key that a decision with that action does not have.
func (e *Event) knownKeys(m map[string]any, a Action) error {
	keys := e.Keys(a)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(keys, k) {
			return fmt.Errorf("action %q takes no %s%s; it takes %s", a, quote(k), DidYouMean(k, keys), enumerate(keys, "and"))
		}
	}
	return nil
}

// judgeCalls reads the ids of a partial deny.
func judgeCalls(given any, ctx map[string]any) ([]string, error) {
	list, ok := given.([]any)
	if !ok {
		return nil, fmt.Errorf("calls must be a list of call ids, not %s", describe(given))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("calls is empty: name at least one call, or leave calls out to deny the whole batch")
	}
	ids := batch(ctx)
	calls := make([]string, 0, len(list))
	for i, entry := range list {
		id, ok := entry.(string)
		if !ok {
			return nil, fmt.Errorf("calls[%d] must be a call id, not %s", i, describe(entry))
		}
		if !slices.Contains(ids, id) {
			return nil, fmt.Errorf("calls[%d] is %s, which is no call of this batch; its calls are %s", i, quote(id), some(ids))
		}
		if !slices.Contains(calls, id) {
			calls = append(calls, id)
		}
	}
	return calls, nil
}

// batch gives the ids of the calls in ctx.
func batch(ctx map[string]any) []string {
	list, _ := ctx["tool_calls"].([]any)
	ids := make([]string, 0, len(list))
	for _, entry := range list {
		if call, ok := entry.(map[string]any); ok {
			if id, ok := call["id"].(string); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// judgeValue holds a modify value against its shape and against what exists.
func (e *Event) judgeValue(value any, ctx map[string]any) error {
	if err := fits(value, e.Value, keyValue); err != nil {
		return fmt.Errorf("%w; value is %s", err, e.ValueDoc)
	}
	switch e.ValueField {
	case "tool_calls":
		return judgeBatch(value, ctx)
	case "regions":
		return judgeRegions(value, ctx)
	case "tools", "catalog":
		return judgeSubset(value, ctx, e.ValueField)
	}
	return nil
}

// judgeBatch refuses calls that were not there: a hook cannot add any.
func judgeBatch(value any, ctx map[string]any) error {
	ids := batch(ctx)
	seen := map[string]bool{}
	for i, entry := range value.([]any) {
		id := entry.(map[string]any)["id"].(string)
		if !slices.Contains(ids, id) {
			return fmt.Errorf("value[%d].id is %s, which is no call of this batch: a hook cannot add calls; its calls are %s", i, quote(id), some(ids))
		}
		if seen[id] {
			return fmt.Errorf("value[%d].id is %s for the second time: a hook cannot add calls", i, quote(id))
		}
		seen[id] = true
	}
	return nil
}

// judgeSubset refuses what was not there: such a value can only leave some out.
func judgeSubset(value any, ctx map[string]any, field string) error {
	offered, _ := ctx[field].([]any)
	byName := make(map[string]any, len(offered))
	names := make([]string, 0, len(offered))
	for _, entry := range offered {
		m, _ := entry.(map[string]any)
		name, _ := m["name"].(string)
		byName[name] = entry
		names = append(names, name)
	}
	seen := map[string]bool{}
	for i, entry := range value.([]any) {
		name := entry.(map[string]any)["name"].(string)
		was, known := byName[name]
		switch {
		case !known:
			return fmt.Errorf("value[%d] is %s, which is not in ctx.%s: a hook can leave out and not add%s", i, quote(name), field, DidYouMean(name, names))
		case seen[name]:
			return fmt.Errorf("value[%d] is %s for the second time: a hook can leave out and not add", i, quote(name))
		case !reflect.DeepEqual(was, entry):
			return fmt.Errorf("value[%d], %s, is not as it is in ctx.%s: a hook can leave it out and not change it", i, quote(name), field)
		}
		seen[name] = true
	}
	return nil
}

func judgeRegions(value any, ctx map[string]any) error {
	regions, _ := ctx["regions"].(map[string]any)
	names := slices.Sorted(maps.Keys(regions))
	for _, name := range slices.Sorted(maps.Keys(value.(map[string]any))) {
		if _, known := regions[name]; !known {
			return fmt.Errorf("value names the region %s, which this stage does not have%s; its regions are %s", quote(name), DidYouMean(name, names), some(names))
		}
	}
	return nil
}

// enumerate joins names for a sentence: `a, b and c`.
func enumerate(names []string, last string) string {
	switch n := len(names); n {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " " + last + " " + names[n-1]
	}
}

// some names a few of many.
func some(names []string) string {
	quoted := make([]string, 0, 9)
	for i, n := range names {
		if i == 8 {
			quoted = append(quoted, fmt.Sprintf("%d more", len(names)-i))
			break
		}
		quoted = append(quoted, quote(n))
	}
	return enumerate(quoted, "and")
}
