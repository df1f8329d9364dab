package tool

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-ls/loop"
)

func TestArgumentsAreReadAsWhatTheyMustMean(t *testing.T) {
	spec := loop.ToolSpec{Name: "t", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{
"path":{"type":"string"},"limit":{"type":"integer"},"rate":{"type":"number"},"all":{"type":"boolean"},
"edits":{"type":"array","items":{"type":"object","properties":{"all":{"type":"boolean"}}}},"env":{"type":"object"},
"either":{"type":["string","integer"]},"maybe":{"type":["integer","null"]}}}`)}
	tests := map[string]struct {
		args, want string
		paths      []string // of what was coerced
		fault      string   // the pointer of the first fault
	}{
		"what fits":               {`{"path":"a","limit":2}`, `{"path":"a","limit":2}`, nil, ""},
		"a number in quotes":      {`{"path":"a","limit":" 12 "}`, `{"limit":12,"path":"a"}`, []string{"/limit"}, ""},
		"a whole float":           {`{"path":"a","limit":5.0}`, `{"limit":5,"path":"a"}`, []string{"/limit"}, ""},
		"a half":                  {`{"path":"a","limit":5.5}`, "", nil, "/limit"},
		"a half in quotes":        {`{"path":"a","limit":"5.5"}`, "", nil, "/limit"},
		"an octal look":           {`{"path":"a","limit":"010"}`, "", nil, "/limit"},
		"words for a number":      {`{"path":"a","limit":"ten"}`, "", nil, "/limit"},
		"an empty text":           {`{"path":"a","limit":""}`, "", nil, "/limit"},
		"a rate in quotes":        {`{"path":"a","rate":"1.5e3"}`, `{"path":"a","rate":1.5e3}`, []string{"/rate"}, ""},
		"no number":               {`{"path":"a","rate":"NaN"}`, "", nil, "/rate"},
		"a truth in quotes":       {`{"path":"a","all":"true"}`, `{"all":true,"path":"a"}`, []string{"/all"}, ""},
		"a loud truth":            {`{"path":"a","all":"True"}`, "", nil, "/all"},
		"one is no truth":         {`{"path":"a","all":1}`, "", nil, "/all"},
		"text from a number":      {`{"path":12}`, `{"path":"12"}`, []string{"/path"}, ""},
		"text from a list":        {`{"path":["a"]}`, "", nil, "/path"},
		"a list as text":          {`{"path":"a","edits":"[{\"all\":\"false\"}]"}`, `{"edits":[{"all":false}],"path":"a"}`, []string{"/edits", "/edits/0/all"}, ""},
		"a list as broken text":   {`{"path":"a","edits":"[{"}`, "", nil, "/edits"},
		"a list as other text":    {`{"path":"a","edits":"{}"}`, "", nil, "/edits"},
		"an object as text":       {`{"path":"a","env":"{\"A\":1}"}`, `{"env":{"A":1},"path":"a"}`, []string{"/env"}, ""},
		"twice the same key":      {`{"path":"a","env":"{\"A\":1,\"A\":2}"}`, "", nil, "/env"},
		"null that may be absent": {`{"path":"a","limit":null}`, `{"path":"a"}`, []string{"/limit"}, ""},
		"null that is meant":      {`{"path":"a","maybe":null}`, `{"path":"a","maybe":null}`, nil, ""},
		"null that is needed":     {`{"path":null}`, "", nil, "/path"},
		"either stays":            {`{"path":"a","either":"1"}`, `{"path":"a","either":"1"}`, nil, ""},
		"an unknown key":          {`{"path":"a","lmit":1}`, "", nil, ""},
		"markup stays":            {`{"path":"<a>&","limit":"1"}`, `{"limit":1,"path":"<a>&"}`, []string{"/limit"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := CheckArguments(spec, json.RawMessage(tt.args))
			if tt.want == "" {
				var m *Misfit
				if !errors.As(err, &m) || len(m.Faults) == 0 || m.Faults[0].Path != tt.fault {
					t.Fatalf("CheckArguments = %s, %v %+v; want a fault at %q", c.Arguments, err, m, tt.fault)
				}
				return
			}
			var paths []string
			for _, k := range c.Coercions {
				paths = append(paths, k.Path)
			}
			if err != nil || string(c.Arguments) != tt.want || !cmp.Equal(paths, tt.paths) {
				t.Errorf("CheckArguments = %s, %v, coerced %v; want %s, %v", c.Arguments, err, paths, tt.want, tt.paths)
			}
		})
	}
}
