package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agent-ls/loop"
)

// Checked are arguments that fit a tool's schema.
type Checked struct {
	Arguments json.RawMessage
	// Coercions are what was read as another type than it was written in.
	Coercions []loop.Coercion
}

// Misfit is why arguments do not fit a tool's schema.
type Misfit struct {
	Message string
	Faults  []loop.Fault // at least one
}

func (m *Misfit) Error() string { return m.Message }

// maxFaults bounds how many faults of one call are told.
const maxFaults = 20

// CheckArguments holds a call's arguments against the tool's schema. What is
// of another type and can mean one thing only is read as the right one: a
// number or a truth value in quotes, a list or an object as JSON text, a
// number where text is wanted, and null for what may be left out. What does
// not fit is a *Misfit.
func CheckArguments(spec loop.ToolSpec, args json.RawMessage) (Checked, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	object, err := readObject(spec, args)
	if err != nil {
		return Checked{}, misfit(err)
	}
	schema, err := schemaOf(spec)
	if err != nil {
		return Checked{}, misfit(err)
	}
	if err := unknownKeys(spec, schema, object); err != nil {
		return Checked{}, misfit(err)
	}
	var out Checked
	if sketch := sketchOf(spec.Schema); sketch != nil {
		sketch.coerce(object, "", &out.Coercions)
	}
	if faults := schema.check(object); len(faults) > 0 {
		return Checked{}, &Misfit{Message: fmt.Sprintf("the arguments of %s do not fit: %s", spec.Name, wording(faults)), Faults: faults}
	}
	if len(out.Coercions) == 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, args); err != nil {
			return Checked{}, misfit(err)
		}
		out.Arguments = compact.Bytes()
		return out, nil
	}
	var fresh bytes.Buffer
	e := json.NewEncoder(&fresh)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return Checked{}, misfit(err)
	}
	out.Arguments = bytes.TrimSpace(fresh.Bytes())
	return out, nil
}

func misfit(err error) *Misfit {
	var m *Misfit
	if errors.As(err, &m) {
		return m
	}
	return &Misfit{Message: err.Error(), Faults: []loop.Fault{{Message: err.Error()}}}
}

// readObject reads arguments as what they must be.
func readObject(spec loop.ToolSpec, args json.RawMessage) (map[string]any, error) {
	if len(args) > maxArguments {
		return nil, fmt.Errorf("the arguments of %s have %d bytes, more than %d", spec.Name, len(args), maxArguments)
	}
	if err := uniqueKeys(args); err != nil {
		return nil, fmt.Errorf("the arguments of %s: %w", spec.Name, err)
	}
	value, err := readJSON(args)
	if err != nil {
		return nil, fmt.Errorf("the arguments of %s are not valid JSON: %w", spec.Name, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the arguments of %s must be an object", spec.Name)
	}
	return object, nil
}

func escapePointer(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
}

// sketch is what coercion needs of a schema: types along plain properties and
// items. Where a schema is more than that, nothing is coerced.
type sketch struct {
	types      []string
	properties map[string]*sketch
	required   []string
	items      *sketch
}

var sketches sync.Map // schema text → *sketch

func sketchOf(schema json.RawMessage) *sketch {
	if s, ok := sketches.Load(string(schema)); ok {
		return s.(*sketch)
	}
	var v any
	var s *sketch
	if json.Unmarshal(schema, &v) == nil {
		s = newSketch(v, 0)
	}
	sketches.Store(string(schema), s)
	return s
}

func newSketch(v any, depth int) *sketch {
	m, ok := v.(map[string]any)
	if !ok || depth > maxNesting {
		return nil
	}
	s := &sketch{}
	switch t := m["type"].(type) {
	case string:
		s.types = []string{t}
	case []any:
		for _, e := range t {
			if name, ok := e.(string); ok {
				s.types = append(s.types, name)
			}
		}
	}
	if p, ok := m["properties"].(map[string]any); ok {
		s.properties = map[string]*sketch{}
		for name, sub := range p {
			s.properties[name] = newSketch(sub, depth+1)
		}
	}
	if r, ok := m["required"].([]any); ok {
		for _, e := range r {
			if name, ok := e.(string); ok {
				s.required = append(s.required, name)
			}
		}
	}
	s.items = newSketch(m["items"], depth+1)
	return s
}

// coerce changes an object in place.
func (s *sketch) coerce(object map[string]any, at string, did *[]loop.Coercion) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		sub, known := s.properties[name]
		if !known || sub == nil {
			continue
		}
		path := at + "/" + escapePointer(name)
		before := object[name]
		if before == nil && len(sub.types) > 0 && !slices.Contains(sub.types, "null") && !slices.Contains(s.required, name) {
			delete(object, name)
			*did = append(*did, loop.Coercion{Path: path})
			continue
		}
		object[name] = sub.value(before, path, did)
	}
}

// value gives the value as the schema's type, if it can mean only that.
func (s *sketch) value(v any, at string, did *[]loop.Coercion) any {
	if len(s.types) == 1 {
		if fresh, ok := read(v, s.types[0]); ok {
			*did = append(*did, loop.Coercion{Path: at, Before: v, After: fresh})
			v = fresh
		}
	}
	switch v := v.(type) {
	case map[string]any:
		s.coerce(v, at, did)
	case []any:
		if s.items == nil {
			break
		}
		for i := range v {
			v[i] = s.items.value(v[i], at+"/"+strconv.Itoa(i), did)
		}
	}
	return v
}

// read reads a value as a type that it is not written in.
func read(v any, as string) (any, bool) {
	switch v := v.(type) {
	case string:
		return readText(v, as)
	case json.Number:
		switch as {
		case "string":
			return v.String(), true
		case "integer": // 5.0 is five, but not for everybody who reads it
			if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") && f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
				return json.Number(strconv.FormatInt(int64(f), 10)), true
			}
		}
	case bool:
		if as == "string" {
			return strconv.FormatBool(v), true
		}
	}
	return nil, false
}

func readText(text, as string) (any, bool) {
	trimmed := strings.TrimSpace(text)
	switch as {
	case "integer":
		if n, err := strconv.ParseInt(trimmed, 10, 64); err == nil && strconv.FormatInt(n, 10) == trimmed {
			return json.Number(trimmed), true
		}
	case "number":
		if v, err := readJSON([]byte(trimmed)); err == nil {
			if n, ok := v.(json.Number); ok {
				return n, true
			}
		}
	case "boolean":
		switch trimmed {
		case "true", "false":
			return trimmed == "true", true
		}
	case "array", "object":
		if uniqueKeys(json.RawMessage(trimmed)) != nil {
			return nil, false
		}
		v, err := readJSON([]byte(trimmed))
		if err != nil {
			return nil, false
		}
		_, isList := v.([]any)
		_, isMap := v.(map[string]any)
		if as == "array" && isList || as == "object" && isMap {
			return v, true
		}
	}
	return nil, false
}
