package contract

// Schema is the JSON schema of the event: what a hook is given (ctx), and what
// it may answer (answer).
func (e *Event) Schema() map[string]any {
	ctx := objectSchema(e.AllFields())
	ctx["description"] = "what a hook of " + e.Name + " is given"
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   e.Name, "description": e.Doc + " Fires: " + e.Fires,
		"type":       "object",
		"properties": map[string]any{"ctx": ctx, "answer": e.answerSchema()},
	}
}

// answerSchema has one alternative for each action that the event honours.
func (e *Event) answerSchema() map[string]any {
	either := []any{map[string]any{"type": "null"}, map[string]any{"const": true}}
	if e.Refusal() != NoAction {
		either = append(either, map[string]any{"const": false, "description": "means " + e.Refusal().String()})
	}
	for _, a := range e.Actions {
		properties := map[string]any{}
		required := []any{keyAction}
		for _, key := range e.Keys(a) {
			switch key {
			case keyAction:
				properties[key] = map[string]any{"const": a.String()}
			case keyReason:
				properties[key] = map[string]any{"type": "string"}
			case keyIsError:
				properties[key] = map[string]any{"type": "boolean"}
			case keyCalls:
				properties[key] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": 1}
			case keyState:
				properties[key] = map[string]any{"type": "object"}
			case keyValue:
				required = append(required, key)
				properties[key] = map[string]any{"description": e.wants(a)}
				if a == Modify {
					value := typeSchema(*e.Value)
					value["description"] = e.ValueDoc
					properties[key] = value
				}
			}
		}
		either = append(either, map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	}
	return map[string]any{"description": "what it may answer", "anyOf": either}
}

func objectSchema(fields []Field) map[string]any {
	properties := map[string]any{}
	required := []any{}
	for _, f := range fields {
		s := typeSchema(f.Type)
		s["description"] = f.Doc
		properties[f.Name] = s
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

var schemaKinds = map[Kind]string{
	Nil: "null", Bool: "boolean", Int: "integer", Float: "number", String: "string", List: "array", Map: "object", Object: "object",
}

func typeSchema(t Type) map[string]any {
	s := map[string]any{}
	switch t.Kind {
	case List:
		s["items"] = typeSchema(*t.Elem)
	case Map:
		s["additionalProperties"] = typeSchema(*t.Elem)
	case Object:
		s = objectSchema(t.Fields)
	}
	if kind := schemaKinds[t.Kind]; kind != "" {
		s["type"] = kind
		if t.Nullable {
			s["type"] = []any{kind, "null"}
		}
	}
	if len(t.Values) > 0 {
		values := make([]any, 0, len(t.Values)+1)
		for _, v := range t.Values {
			values = append(values, v)
		}
		if t.Nullable {
			values = append(values, nil)
		}
		s["enum"] = values
	}
	return s
}
