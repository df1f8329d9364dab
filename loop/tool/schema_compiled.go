package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"agent-ls/hooks/contract"
	"agent-ls/loop"
)

// compiledSchema is a JSON schema that stands by itself. The library says
// whether a value fits; what does not is looked for here, since a model is
// helped by every fault at its place and not by the first one alone.
type compiledSchema struct {
	resolved *jsonschema.Resolved
	doc      map[string]any // nil for a schema that is true or false
}

// compileSchema reads a schema. One that refers to other documents, or that is
// not itself valid, is an error.
func compileSchema(text []byte) (s *compiledSchema, err error) {
	defer func() {
		if what := recover(); what != nil { // of the library, over a schema that nobody thought of
			s, err = nil, fmt.Errorf("it cannot be read: %v", what)
		}
	}()
	value, err := readJSON(text)
	if err != nil {
		return nil, err
	}
	doc, _ := value.(map[string]any)
	if version, ok := doc["$schema"].(string); ok && !strings.Contains(version, "draft-07") && !strings.Contains(version, "2020-12") {
		// The drafts between and before these differ in nothing that tools use.
		delete(doc, "$schema")
		if text, err = json.Marshal(doc); err != nil {
			return nil, err
		}
	}
	if err := checkRefs(value); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, err
	}
	doc, _ = contract.Plain(doc).(map[string]any)
	return &compiledSchema{resolved: resolved, doc: doc}, nil
}

// readJSON reads one JSON value and nothing behind it, with numbers as they
// are written.
func readJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind the value")
	}
	return v, nil
}

// check gives what is wrong with a value, nil if it fits.
func (s *compiledSchema) check(v any) (faults []loop.Fault) {
	v = contract.Plain(v)
	defer func() {
		if what := recover(); what != nil { // of the library; what could not be checked does not fit
			faults = []loop.Fault{{Message: fmt.Sprintf("it cannot be checked: %v", what)}}
		}
	}()
	err := s.resolved.Validate(v)
	if err == nil {
		return nil
	}
	f := faultFinder{}
	f.look(s.doc, v, "")
	if len(f.found) == 0 {
		f.add("", "%s", innermost(err))
	}
	return f.found
}

// innermost is the library's own complaint without the places that it wraps
// around it.
func innermost(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// faultFinder looks for faults along what schemas of tools are made of.
type faultFinder struct{ found []loop.Fault }

func (f *faultFinder) add(at, format string, args ...any) {
	if len(f.found) < maxFaults {
		f.found = append(f.found, loop.Fault{Path: at, Message: fmt.Sprintf(format, args...)})
	}
}

func (f *faultFinder) look(schema map[string]any, v any, at string) {
	if types := typesOf(schema); len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(v, t) }) {
		f.add(at, "got %s, want %s", typeOf(v), strings.Join(types, " or "))
		return
	}
	if options, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(options, func(o any) bool { return equalJSON(o, v) }) {
		f.add(at, "value must be one of %s", alternatives(options))
	}
	if want, ok := schema["const"]; ok && !equalJSON(want, v) {
		f.add(at, "value must be %s", alternatives([]any{want}))
	}
	switch v := v.(type) {
	case string:
		f.lookText(schema, v, at)
	case int64, float64:
		f.lookNumber(schema, asFloat(v), at)
	case []any:
		f.bound(schema, "minItems", "maxItems", float64(len(v)), at)
		if items, ok := schema["items"].(map[string]any); ok {
			for i, e := range v {
				f.look(items, e, at+"/"+strconv.Itoa(i))
			}
		}
	case map[string]any:
		f.lookObject(schema, v, at)
	}
}

func (f *faultFinder) lookObject(schema, v map[string]any, at string) {
	var missing []string
	if required, ok := schema["required"].([]any); ok {
		for _, r := range required {
			if name, ok := r.(string); ok {
				if _, there := v[name]; !there {
					missing = append(missing, "'"+name+"'")
				}
			}
		}
	}
	switch len(missing) {
	case 0:
	case 1:
		f.add(at, "missing property %s", missing[0])
	default:
		f.add(at, "missing properties %s", strings.Join(missing, ", "))
	}
	f.bound(schema, "minProperties", "maxProperties", float64(len(v)), at)
	properties, _ := schema["properties"].(map[string]any)
	_, patterns := schema["patternProperties"]
	for _, name := range slices.Sorted(maps.Keys(v)) {
		below := at + "/" + escapePointer(name)
		if sub, known := properties[name]; known {
			if s, ok := sub.(map[string]any); ok {
				f.look(s, v[name], below)
			}
			continue
		}
		switch rest := schema["additionalProperties"].(type) {
		case bool:
			if !rest && !patterns {
				f.add(at, "additional property '%s' not allowed", name)
			}
		case map[string]any:
			if !patterns {
				f.look(rest, v[name], below)
			}
		}
	}
}

func (f *faultFinder) lookText(schema map[string]any, v, at string) {
	f.bound(schema, "minLength", "maxLength", float64(utf8.RuneCountInString(v)), at)
	if pattern, ok := schema["pattern"].(string); ok {
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(v) {
			f.add(at, "it does not match the pattern %q", pattern)
		}
	}
}

func (f *faultFinder) lookNumber(schema map[string]any, v float64, at string) {
	f.bound(schema, "minimum", "maximum", v, at)
	if least, ok := number(schema["exclusiveMinimum"]); ok && v <= least {
		f.add(at, "exclusiveMinimum: got %v, want more than %v", v, least)
	}
	if most, ok := number(schema["exclusiveMaximum"]); ok && v >= most {
		f.add(at, "exclusiveMaximum: got %v, want less than %v", v, most)
	}
	if step, ok := number(schema["multipleOf"]); ok && step > 0 {
		if _, rest := math.Modf(v / step); rest != 0 {
			f.add(at, "got %v, want a multiple of %v", v, step)
		}
	}
}

// bound holds a size against the two keywords for it.
func (f *faultFinder) bound(schema map[string]any, least, most string, got float64, at string) {
	if n, ok := number(schema[least]); ok && got < n {
		f.add(at, "%s: got %v, want %v", least, got, n)
	}
	if n, ok := number(schema[most]); ok && got > n {
		f.add(at, "%s: got %v, want %v", most, got, n)
	}
}

func typesOf(schema map[string]any) []string {
	switch t := schema["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var types []string
		for _, e := range t {
			if name, ok := e.(string); ok {
				types = append(types, name)
			}
		}
		return types
	}
	return nil
}

func isType(v any, name string) bool {
	if f, ok := v.(float64); ok && name == "integer" {
		return f == math.Trunc(f)
	}
	_, whole := v.(int64)
	return typeOf(v) == name || whole && name == "integer"
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case int64, float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func number(v any) (float64, bool) {
	switch v.(type) {
	case int64, float64:
		return asFloat(v), true
	}
	return 0, false
}

func asFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}

func equalJSON(a, b any) bool {
	if x, ok := number(a); ok {
		y, also := number(b)
		return also && x == y
	}
	return reflect.DeepEqual(a, b)
}

// maxOptions bounds how many of the values that are allowed are named.
const maxOptions = 30

func alternatives(options []any) string {
	var text []string
	for i, o := range options {
		if i == maxOptions {
			text = append(text, "…")
			break
		}
		if s, ok := o.(string); ok {
			text = append(text, "'"+s+"'")
			continue
		}
		b, _ := json.Marshal(o)
		text = append(text, string(b))
	}
	return strings.Join(text, ", ")
}

// wording is the first fault, in one line.
func wording(faults []loop.Fault) string {
	f := faults[0]
	if f.Path == "" {
		return f.Message
	}
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(f.Path[1:], "/", "."), "~1", "/"), "~0", "~") + ": " + f.Message
}
