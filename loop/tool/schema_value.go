package tool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if len(bytes.TrimSpace(schema)) == 0 || string(bytes.TrimSpace(schema)) == "null" {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	if err := c.AddResource("answer.json", doc); err != nil {
		return fmt.Errorf("the schema is broken: %w", err)
	}
	compiled, err := c.Compile("answer.json")
	if err != nil {
		return fmt.Errorf("the schema is broken: %w", err)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("it does not fit the schema: %s", reason(err))
	}
	return nil
}
