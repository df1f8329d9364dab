package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// sample are the values of fields that a case leaves out, where an empty one
// would be nothing that a run gives.
var sample = map[string]any{
	"run_id": "run-1", "session_id": "session-1", "agent": "agent", "stage": "stage", "turn": int64(1), "call_id": "call-1",
}

// ctx reads the fields that a case gives, checks them against the event, and
// fills in what it leaves out.
func (r *fixtureReader) ctx(e *contract.Event, m map[string]any, path string) map[string]any {
	given := r.table(m, path, "ctx")
	at := under(path, "ctx")
	given = r.fromJSON(e, m, path, given)
	known := fieldsOf(e)
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.Name
	}
	for _, name := range r.keysOf(given, at) {
		switch {
		case name == "state":
			r.add(check.CodeUnknownKey, r.toml.key(under(at, name)), "state is a key of the case, beside ctx")
		case name == "event":
			r.add(check.CodeUnknownKey, r.toml.key(under(at, name)), "event is a key of the case, beside ctx")
		case !slices.Contains(names, name):
			r.misspelt(check.CodeUnknownField, r.toml.key(under(at, name)), name, names, "%s has no ctx field %q", e.Name, name)
		}
	}
	ctx := map[string]any{}
	for _, f := range known {
		v, ok := given[f.Name]
		if !ok {
			ctx[f.Name] = blank(f)
			continue
		}
		ctx[f.Name] = r.filled(v, f.Type, under(at, f.Name), "ctx."+f.Name, 0)
	}
	return ctx
}

// fromJSON adds the fields that are given as JSON, for what TOML cannot say.
func (r *fixtureReader) fromJSON(e *contract.Event, m map[string]any, path string, ctx map[string]any) map[string]any {
	texts := r.table(m, path, "ctx_json")
	if len(texts) == 0 {
		return ctx
	}
	if ctx == nil {
		ctx = map[string]any{}
	}
	for name, v := range texts {
		at := under(under(path, "ctx_json"), name)
		s, ok := v.(string)
		if !ok {
			r.add(check.CodeWrongType, r.toml.place(at), "ctx_json.%s must be JSON in a string, not %s", name, tomlKind(v))
			continue
		}
		if _, twice := ctx[name]; twice {
			r.add(check.CodeWrongType, r.toml.key(at), "%s is in ctx already", name)
			continue
		}
		value, err := contract.ReadPlain([]byte(s))
		if err != nil {
			r.add(check.CodeWrongType, r.toml.place(at), "ctx_json.%s is no JSON: %v", name, err)
			continue
		}
		ctx[name] = value
		// What is wrong in it is shown where its text is.
		key := under(under(path, "ctx"), name)
		r.toml.keys[key], r.toml.values[key] = r.toml.key(at), r.toml.place(at)
	}
	return ctx
}

// fieldsOf are the ctx fields that a case can give.
func fieldsOf(e *contract.Event) []contract.Field {
	return slices.DeleteFunc(e.AllFields(), func(f contract.Field) bool { return f.Name == "event" || f.Name == "state" })
}

// blank is a field that a case leaves out.
func blank(f contract.Field) any {
	if v, ok := sample[f.Name]; ok && !f.Type.Nullable {
		return v
	}
	return blankOf(f.Type)
}

func blankOf(t contract.Type) any {
	if t.Nullable {
		return nil
	}
	switch t.Kind {
	case contract.Bool:
		return false
	case contract.Int:
		return int64(0)
	case contract.Float:
		return float64(0)
	case contract.String:
		if len(t.Values) > 0 {
			return t.Values[0]
		}
		return ""
	case contract.List:
		return []any{}
	case contract.Map:
		return map[string]any{}
	case contract.Object:
		m := make(map[string]any, len(t.Fields))
		for _, f := range t.Fields {
			m[f.Name] = blankOf(f.Type)
		}
		return m
	}
	return nil
}

// filled checks a value against its type and fills in the members that an
// object leaves out. What does not fit is a finding at its place.
func (r *fixtureReader) filled(v any, t contract.Type, path, label string, index int) any {
	if v == nil && (t.Nullable || t.Kind == contract.Any || t.Kind == contract.Nil) {
		return nil
	}
	switch t.Kind {
	case contract.List:
		list, ok := v.([]any)
		if !ok {
			break
		}
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = r.filled(item, *t.Elem, under(path, strconv.Itoa(i)), fmt.Sprintf("%s[%d]", label, i), i)
		}
		return out
	case contract.Map:
		m, ok := v.(map[string]any)
		if !ok {
			break
		}
		out := make(map[string]any, len(m))
		for key, item := range m {
			out[key] = r.filled(item, *t.Elem, under(path, key), label+"."+key, 0)
		}
		return out
	case contract.Object:
		if m, ok := v.(map[string]any); ok {
			return r.filledObject(m, t, path, label, index)
		}
	case contract.Float:
		if i, ok := v.(int64); ok {
			return float64(i)
		}
	case contract.String:
		if s, ok := v.(string); ok && len(t.Values) > 0 && !slices.Contains(t.Values, s) {
			r.misspelt(check.CodeWrongType, r.toml.place(path), s, t.Values, "%s is %q, which is none of %s", label, s, strings.Join(t.Values, ", "))
			return v
		}
	}
	if err := contract.Fits(v, &t, label); err != nil {
		r.add(check.CodeWrongType, r.toml.place(path), "%v", err)
	}
	return v
}

func (r *fixtureReader) filledObject(m map[string]any, t contract.Type, path, label string, index int) any {
	out := make(map[string]any, len(t.Fields))
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
		switch v, given := m[f.Name]; {
		case given:
			out[f.Name] = r.filled(v, f.Type, under(path, f.Name), label+"."+f.Name, 0)
		case f.Name == "id" && !f.Type.Nullable && f.Type.Kind == contract.String:
			out[f.Name] = fmt.Sprintf("call-%d", index+1) // the host gives each one of its own
		default:
			out[f.Name] = blankOf(f.Type)
		}
	}
	for _, key := range r.keysOf(m, path) {
		if !slices.Contains(names, key) {
			r.misspelt(check.CodeUnknownField, r.toml.key(under(path, key)), key, names, "%s has no field %q", label, key)
		}
	}
	return out
}
