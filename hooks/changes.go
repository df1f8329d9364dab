package hooks

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"agent-ls/hooks/contract"
)

// changesOf lists what a modify changed in ctx, as JSON Pointers into it.
func changesOf(e *contract.Event, before, after map[string]any) []Change {
	var out []Change
	if e.ValueField != "" {
		return diff(out, "/"+escape(e.ValueField), before[e.ValueField], after[e.ValueField])
	}
	for _, k := range slices.Sorted(maps.Keys(after)) {
		out = diff(out, "/"+escape(k), before[k], after[k])
	}
	return out
}

// Differing gives the places, as JSON Pointers, at which two values of plain
// data are not the same; one that is the whole value is "".
func Differing(a, b any) []string {
	var at []string
	for _, c := range diff(nil, "", a, b) {
		at = append(at, c.Path)
	}
	return at
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// diff adds the differences of two values at a pointer.
func diff(out []Change, at string, before, after any) []Change {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			return diffMaps(out, at, b, a)
		}
	case []any:
		if a, ok := after.([]any); ok {
			return diffLists(out, at, b, a)
		}
	}
	if reflect.DeepEqual(before, after) {
		return out
	}
	return append(out, Change{Path: at, Before: raw(before), After: raw(after)})
}

func diffMaps(out []Change, at string, before, after map[string]any) []Change {
	keys := map[string]bool{}
	for k := range before {
		keys[k] = true
	}
	for k := range after {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		b, had := before[k]
		a, has := after[k]
		switch {
		case had && has:
			out = diff(out, at+"/"+escape(k), b, a)
		case had:
			out = append(out, Change{Path: at + "/" + escape(k), Before: raw(b)})
		default:
			out = append(out, Change{Path: at + "/" + escape(k), After: raw(a)})
		}
	}
	return out
}

// diffLists compares by index, or by id where every item has one, so that a
// call that was left out does not make all behind it look changed. Pointers
// are into the list as it was; what is new counts on from its end.
func diffLists(out []Change, at string, before, after []any) []Change {
	ids, mapped := byID(before), byID(after)
	if ids == nil || mapped == nil {
		for i := range max(len(before), len(after)) {
			p := at + "/" + strconv.Itoa(i)
			switch {
			case i >= len(after):
				out = append(out, Change{Path: p, Before: raw(before[i])})
			case i >= len(before):
				out = append(out, Change{Path: p, After: raw(after[i])})
			default:
				out = diff(out, p, before[i], after[i])
			}
		}
		return out
	}
	for i, b := range before {
		p := at + "/" + strconv.Itoa(i)
		if j, ok := mapped[idOf(b)]; ok {
			out = diff(out, p, b, after[j])
		} else {
			out = append(out, Change{Path: p, Before: raw(b)})
		}
	}
	next := len(before)
	for _, a := range after {
		if _, ok := ids[idOf(a)]; !ok {
			out = append(out, Change{Path: at + "/" + strconv.Itoa(next), After: raw(a)})
			next++
		}
	}
	return out
}

func idOf(v any) string {
	m, _ := v.(map[string]any)
	id, _ := m["id"].(string)
	return id
}

// byID indexes a list of things with different ids; nil when it is none.
func byID(list []any) map[string]int {
	ids := make(map[string]int, len(list))
	for i, v := range list {
		id := idOf(v)
		if _, twice := ids[id]; id == "" || twice {
			return nil
		}
		ids[id] = i
	}
	return ids
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil { // not plain data: an answer never is
		return json.RawMessage("null")
	}
	return b
}
