package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"agent-ls/hooks/check"
	"agent-ls/hooks/contract"
)

// outputSchema reads the JSON schema of a run's output. One that cannot be
// used is a finding, and keeps the agent's runs from starting: nobody is to
// believe that an output was checked.
func (l *loader) outputSchema(one *layer, n *node) []byte {
	_, text, ok := l.textFile(one, n, "output schema")
	if !ok {
		return nil
	}
	if err := CheckOutputSchema(text); err != nil {
		l.out.add(one.finding(n.span, CodeWrongType, check.Error, fmt.Sprintf("agent.output: %s is no JSON schema: %v", n.text, err)))
		return nil
	}
	return text
}

// maxOutputSchema bounds the schema of a run's output, in bytes.
const maxOutputSchema = 64 << 10

// CheckOutputSchema says why a text is no JSON schema for the output of a run.
func CheckOutputSchema(text []byte) (err error) {
	defer func() {
		if what := recover(); what != nil { // of the library, over a schema that nobody thought of
			err = fmt.Errorf("it cannot be read: %v", what)
		}
	}()
	if len(text) > maxOutputSchema {
		return fmt.Errorf("it has %d bytes, more than %d", len(text), maxOutputSchema)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	if err := knownTypes(plain, ""); err != nil {
		return err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	_, err = schema.Resolve(nil)
	return err
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// knownTypes finds a type that does not exist, which the library takes for one
// that nothing has.
func knownTypes(schema any, at string) error {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	names, _ := s["type"].([]any)
	if one, ok := s["type"]; ok && names == nil {
		names = []any{one}
	}
	for _, n := range names {
		if name, _ := n.(string); !slices.Contains(schemaTypes, name) {
			return fmt.Errorf("%s/type: unknown type %v%s", at, n, contract.DidYouMean(name, schemaTypes))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		below := at + "/" + key
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			named, _ := s[key].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(named)) {
				if err := knownTypes(named[name], below+"/"+name); err != nil {
					return err
				}
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			list, _ := s[key].([]any)
			for i, e := range list {
				if err := knownTypes(e, fmt.Sprintf("%s/%d", below, i)); err != nil {
					return err
				}
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
			if err := knownTypes(s[key], below); err != nil {
				return err
			}
		}
	}
	return nil
}
