package model

import (
	"encoding/json"
	"strings"

	"agent-ls/loop"
)

// outputForm is how a provider is asked for one JSON value. Providers take
// schemas of objects only: what is no object is asked for as a field of one.
type outputForm struct {
	name    string
	schema  map[string]any // values as they were written: the order of properties tells a model the order to think in
	wrapped bool
	strict  bool // the schema is one that OpenAI enforces to the letter
}

// wrappedIn is the field that holds an output which is no object.
const wrappedIn = "output"

// outputFormOf gives the form of the output that a request wants, nil where it
// wants none or the schema says nothing, such as true.
func outputFormOf(req *loop.ModelRequest) *outputForm {
	if req.Output == nil {
		return nil
	}
	var fields map[string]json.RawMessage
	var plain map[string]any
	if json.Unmarshal(req.Output.Schema, &fields) != nil || json.Unmarshal(req.Output.Schema, &plain) != nil || len(fields) == 0 {
		return nil
	}
	f := &outputForm{name: req.Output.Name, schema: map[string]any{}, strict: strict(plain), wrapped: plain["type"] != "object"}
	inner := map[string]any{}
	for key, value := range fields {
		switch {
		case key == "$schema":
		case !f.wrapped, key == "$defs", key == "definitions": // what is defined is referred to from the top
			f.schema[key] = value
		default:
			inner[key] = value
		}
	}
	if f.wrapped {
		f.schema["type"], f.schema["additionalProperties"] = "object", false
		f.schema["properties"], f.schema["required"] = map[string]any{wrappedIn: inner}, []any{wrappedIn}
	}
	return f
}

// text is the output without the field that it was asked for in. Anything else
// stays as it is; the run checks it.
func (f *outputForm) text(answer string) string {
	if f == nil || !f.wrapped {
		return answer
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(answer), &fields) != nil || len(fields) != 1 || fields[wrappedIn] == nil {
		return answer
	}
	return string(fields[wrappedIn])
}

// strict says whether the schema keeps to what OpenAI enforces to the letter:
// each object names all of its properties, wants them all and takes no others,
// and nothing stands in it that strict schemas do not know.
func strict(schema any) bool {
	switch s := schema.(type) {
	case []any:
		for _, e := range s {
			if !strict(e) {
				return false
			}
		}
	case map[string]any:
		for key, value := range s {
			switch key {
			case "allOf", "not", "if", "then", "else", "oneOf", "patternProperties", "dependentRequired", "dependentSchemas", "prefixItems", "unevaluatedProperties", "contains", "propertyNames":
				return false
			case "properties", "$defs", "definitions":
				named, ok := value.(map[string]any)
				if !ok {
					return false
				}
				for _, sub := range named {
					if !strict(sub) {
						return false
					}
				}
			case "items", "anyOf":
				if !strict(value) {
					return false
				}
			}
		}
		return !mayBeObject(s) || closed(s)
	case bool:
		return false
	}
	return true
}

func mayBeObject(s map[string]any) bool {
	if _, ok := s["properties"]; ok {
		return true
	}
	switch t := s["type"].(type) {
	case string:
		return t == "object"
	case []any:
		for _, e := range t {
			if e == "object" {
				return true
			}
		}
	}
	return false
}

func closed(s map[string]any) bool {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	if s["additionalProperties"] != false || len(required) != len(properties) {
		return false
	}
	for _, r := range required {
		name, _ := r.(string)
		if _, ok := properties[name]; !ok {
			return false
		}
	}
	return true
}

// outputTool gives the name of the tool that stands for the output, one that
// the request has not.
func (f *outputForm) outputTool(tools []loop.ToolSpec) string {
	name := f.name
	for i := 0; i < len(tools); i++ {
		if strings.EqualFold(tools[i].Name, name) {
			name, i = name+"_", -1
		}
	}
	return name
}
