package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// CheckValue says what is wrong with a JSON text, as an answer to a schema:
// the text, the schema itself, or that one does not fit the other. A schema
// that is empty takes anything. Nothing is kept of either.
func CheckValue(schema, text json.RawMessage) error {
	if len(text) > maxArguments {
		return fmt.Errorf("it has %d bytes, more than %d", len(text), maxArguments)
	}
	if err := uniqueKeys(text); err != nil {
		return err
	}
	value, err := readJSON(text)
	if err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if len(bytes.TrimSpace(schema)) == 0 || string(bytes.TrimSpace(schema)) == "null" {
		return nil
	}
	compiled, err := compileSchema(schema)
	if err != nil {
		return fmt.Errorf("the schema is broken: %w", err)
	}
	if faults := compiled.check(value); len(faults) > 0 {
		return fmt.Errorf("it does not fit the schema: %s", wording(faults))
	}
	return nil
}

// CheckAnswerSchema says why a JSON text is no schema that answers can be
// checked against. One that is empty takes anything.
func CheckAnswerSchema(schema json.RawMessage) error {
	if len(bytes.TrimSpace(schema)) == 0 {
		return nil
	}
	_, err := compileSchema(schema)
	return err
}
