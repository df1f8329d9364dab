package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"agent-ls/loop"
	"agent-ls/loop/tool/toolname"
)

const (
	maxArguments = 4 << 20 // bytes
	maxNesting   = 64
)

// compiled keeps schemas, which are few and never change.
var compiled sync.Map // string → *compiledSchema

// ValidateArguments checks a call's arguments against the tool's schema and
// returns them without insignificant space. Duplicate keys are refused, since
// readers differ about which one counts; so are unknown ones, with the
// nearest known. What CheckArguments can read safely is read.
func ValidateArguments(spec loop.ToolSpec, args json.RawMessage) (json.RawMessage, error) {
	c, err := CheckArguments(spec, args)
	return c.Arguments, err
}

// CheckSchema says what is wrong with a tool's schema, if it cannot be used.
func CheckSchema(spec loop.ToolSpec) error {
	_, err := schemaOf(spec)
	return err
}

func schemaOf(spec loop.ToolSpec) (*compiledSchema, error) {
	text := string(spec.Schema)
	if text == "" {
		text = `{"type":"object"}`
	}
	if s, ok := compiled.Load(text); ok {
		return s.(*compiledSchema), nil
	}
	s, err := compileSchema([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is broken: %w", spec.Name, err)
	}
	compiled.Store(text, s)
	return s, nil
}

// unknownKeys names a key that the schema's properties do not have.
func unknownKeys(spec loop.ToolSpec, schema *compiledSchema, object map[string]any) error {
	properties, _ := schema.doc["properties"].(map[string]any)
	if len(properties) == 0 || schema.doc["additionalProperties"] != false {
		return nil
	}
	known := make([]string, 0, len(properties))
	for k := range properties {
		known = append(known, k)
	}
	slices.Sort(known)
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if slices.Contains(known, k) {
			continue
		}
		if n := toolname.Closest(k, known); n != "" {
			return fmt.Errorf("%s has no parameter %q; did you mean %q?", spec.Name, k, n)
		}
		return fmt.Errorf("%s has no parameter %q; it takes %s", spec.Name, k, strings.Join(known, ", "))
	}
	return nil
}

// uniqueKeys reads a JSON text through and refuses a key that comes twice in
// one object, and nesting without end.
func uniqueKeys(text json.RawMessage) error {
	type level struct {
		keys  map[string]bool // nil in a list
		value bool            // the next token is a key's value
	}
	var stack []level
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("not valid JSON: %w", err)
		}
		if delim, ok := t.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			if n := len(stack); n > 0 {
				stack[n-1].value = false
			}
			continue
		}
		if n := len(stack); n > 0 && stack[n-1].keys != nil && !stack[n-1].value {
			key := t.(string) // the decoder lets nothing else be a key
			if stack[n-1].keys[key] {
				return fmt.Errorf("the key %q comes twice", key)
			}
			stack[n-1].keys[key] = true
			stack[n-1].value = true
			continue
		}
		switch t {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		default:
			if n := len(stack); n > 0 {
				stack[n-1].value = false
			}
		}
		if len(stack) > maxNesting {
			return fmt.Errorf("nested deeper than %d levels", maxNesting)
		}
	}
	return nil
}
