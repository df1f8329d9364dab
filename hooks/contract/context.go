package contract

import (
	"fmt"
	"maps"
	"slices"
)

// Context makes the ctx of one firing from what the caller knows: every field
// of the event is there afterwards, what was left out as nil where the type
// allows it, else as the type's empty value. A field that the event does not
// have is an error, so that nothing reaches a script that the contract does
// not document. The result is a new map; the values in it are shared.
func (e *Event) Context(fields, state map[string]any) (map[string]any, error) {
	ctx := make(map[string]any, len(e.Fields)+len(common))
	for _, own := range [][]Field{common, e.Fields} {
		for _, f := range own {
			v, given := fields[f.Name]
			if !given || v == nil {
				v = zero(f.Type)
			}
			ctx[f.Name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, known := ctx[name]; !known {
			return nil, fmt.Errorf("%s has no ctx field %q%s", e.Name, name, DidYouMean(name, fieldNames(e.AllFields())))
		}
	}
	ctx["event"] = e.Name
	if state != nil {
		ctx["state"] = state
	}
	return ctx, nil
}

// Merges says whether a modify value names what it replaces and leaves the
// rest as it is, so that two of them hold both: regions, or an object with
// members that may be left out.
func (e *Event) Merges() bool {
	switch {
	case e.Value == nil:
		return false
	case e.ValueField == "":
		return true
	case e.Value.Kind == Map:
		return e.ValueField == "regions"
	}
	return e.Value.Kind == Object && slices.ContainsFunc(e.Value.Fields, func(f Field) bool { return f.Optional })
}

// Apply gives the ctx that the next hook sees after a modify with that value.
// The value must have passed Judge. ctx itself is not changed.
func (e *Event) Apply(ctx map[string]any, value any) map[string]any {
	next := maps.Clone(ctx)
	if next == nil {
		next = map[string]any{}
	}
	changes, isMap := value.(map[string]any)
	switch {
	case e.ValueField == "":
		maps.Copy(next, changes)
	case isMap && e.Merges():
		merged := map[string]any{}
		if before, ok := next[e.ValueField].(map[string]any); ok {
			maps.Copy(merged, before)
		}
		maps.Copy(merged, changes)
		next[e.ValueField] = merged
	default:
		next[e.ValueField] = value
	}
	return next
}

func fieldNames(fields []Field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

func zero(t Type) any {
	if t.Nullable {
		return nil
	}
	switch t.Kind {
	case Bool:
		return false
	case Int:
		return int64(0)
	case Float:
		return float64(0)
	case String:
		return ""
	case List:
		return []any{}
	case Map:
		return map[string]any{}
	case Object:
		m := make(map[string]any, len(t.Fields))
		for _, f := range t.Fields {
			m[f.Name] = zero(f.Type)
		}
		return m
	default:
		return nil
	}
}
