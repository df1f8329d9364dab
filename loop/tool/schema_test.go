package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"agent-ls/loop"
)

// What a schema says holds, in the drafts that tools use, and every fault is
// told at its place.
func TestSchemas(t *testing.T) {
	for name, tt := range map[string]struct {
		schema, value string
		want          string // faults as path: message; "" = it fits
	}{
		"fits":               {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"x","b":1}`, ""},
		"missing":            {`{"type":"object","required":["a","b"]}`, `{}`, ": missing properties 'a', 'b'"},
		"two faults":         {`{"properties":{"a":{"type":"string"},"b":{"minimum":2}}}`, `{"a":[],"b":1}`, "/a: got array, want string; /b: minimum: got 1, want 2"},
		"none else below":    {`{"properties":{"a":{"properties":{"b":{}},"additionalProperties":false}}}`, `{"a":{"c":2}}`, "/a: additional property 'c' not allowed"},
		"in a list":          {`{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[1,2.5,3.0]}`, "/a/1: got number, want integer"},
		"none else":          {`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"c/d":2}`, `t has no parameter "c/d"; it takes a`},
		"others of a type":   {`{"additionalProperties":{"type":"boolean"}}`, `{"x~y":"no"}`, "/x~0y: got string, want boolean"},
		"one of":             {`{"properties":{"a":{"enum":["x","y",3]}}}`, `{"a":"z"}`, "/a: value must be one of 'x', 'y', 3"},
		"a number in enum":   {`{"properties":{"a":{"enum":[3]}}}`, `{"a":3.0}`, ""},
		"const":              {`{"properties":{"a":{"const":true}}}`, `{"a":false}`, "/a: value must be true"},
		"length":             {`{"properties":{"a":{"minLength":2,"pattern":"^x"}}}`, `{"a":"ö"}`, `/a: minLength: got 1, want 2; /a: it does not match the pattern "^x"`},
		"null":               {`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, ""},
		"not null":           {`{"required":["a"],"properties":{"a":{"type":["string","integer"]}}}`, `{"a":null}`, "/a: got null, want string or integer"},
		"any of":             {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"a":[]}`, "anyOf"},
		"by reference":       {`{"$defs":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/p"}}}`, `{"a":1}`, "want"},
		"recursive, fits":    {`{"properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, `{"next":{"next":{}}}`, ""},
		"recursive, not":     {`{"properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, `{"next":{"x":{}}}`, "additional"},
		"draft-07":           {`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/p"}}}`, `{"a":1}`, "want"},
		"an older draft":     {`{"$schema":"http://json-schema.org/draft-06/schema#","required":["a"]}`, `{}`, "missing property 'a'"},
		"2019-09":            {`{"$schema":"https://json-schema.org/draft/2019-09/schema","required":["a"]}`, `{}`, "missing property 'a'"},
		"a large number":     {`{"properties":{"a":{"maximum":10}}}`, `{"a":1e400}`, "maximum"},
		"nothing fits":       {`false`, `{}`, "not"},
		"everything fits":    {`true`, `{"a":1}`, ""},
		"unknown keywords":   {`{"nullable":true,"x-order":["a"],"format":"uri","type":"object"}`, `{}`, ""},
		"an outer reference": {`{"$ref":"http://127.0.0.1/x.json"}`, `{}`, "broken: \"http://127.0.0.1/x.json\": a schema cannot refer to other documents"},
		"a loop":             {`{"$ref":"#"}`, `{}`, `broken: $ref "#" comes back to itself`},
		"a longer loop":      {`{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{}`, "comes back to itself"},
		"nowhere":            {`{"$ref":"#/$defs/none"}`, `{}`, `broken: $ref "#/$defs/none" leads nowhere`},
		"dynamic":            {`{"$dynamicRef":"#x"}`, `{}`, "broken: $dynamicRef is not supported"},
		"no schema":          {`[1]`, `{}`, "broken"},
		"a bad type":         {`{"type":7}`, `{}`, "broken"},
		"a bad pattern":      {`{"pattern":"("}`, `{}`, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := CheckArguments(loop.ToolSpec{Name: "t", Schema: json.RawMessage(tt.schema)}, json.RawMessage(tt.value))
			got := ""
			if m, ok := err.(*Misfit); ok {
				var all []string
				for _, f := range m.Faults {
					all = append(all, f.Path+": "+f.Message)
				}
				got = strings.Join(all, "; ")
			}
			if tt.want == "" && err != nil || tt.want != "" && !strings.Contains(got, tt.want) {
				t.Errorf("faults %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}
