package bridge

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"agent-ls/loop/report"
)

// Schema returns the JSON schema of every shape of the agent/* methods, made
// from the types of wire.go. docs/protocol.schema.json holds it; a test says
// when that is stale. The keyword `methods` maps each method to its params and
// result.
func Schema() ([]byte, error) {
	s := schemas{defs: map[string]any{}}
	table := map[string]any{}
	for _, m := range methods {
		row := map[string]any{"from": "client", "kind": "request", "params": s.of(reflect.TypeOf(m.params))}
		if m.fromServer {
			row["from"] = "server"
		}
		if m.notification {
			row["kind"] = "notification"
		}
		if m.result != nil {
			row["result"] = s.of(reflect.TypeOf(m.result))
		}
		table[m.name] = row
	}
	faults := map[string]any{}
	for _, e := range errorTable {
		row := map[string]any{"code": e.code}
		if e.data != nil {
			row["data"] = s.of(reflect.TypeOf(e.data))
		}
		faults[e.name] = row
	}
	s.of(reflect.TypeOf(ServerAgent{}))
	out, err := json.MarshalIndent(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "agent-ls: the agent/* methods of its language server",
		"description": "Generated from the server's own types. docs/protocol.md explains them.",
		"version":     protocolVersion,
		"methods":     table,
		"errors":      faults,
		"$defs":       s.defs,
	}, "", "  ")
	return append(out, '\n'), err
}

// schemas collects the definitions of named types.
type schemas struct{ defs map[string]any }

var (
	timeType = reflect.TypeFor[Time]()
	goTime   = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// of returns the schema of a type: a reference for a struct.
func (s schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == timeType || t == goTime:
		return map[string]any{"type": "string", "format": "date-time"}
	case t == rawType:
		return map[string]any{} // any JSON
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Uint32:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		return s.reference(t)
	}
	panic("schema: no rule for " + t.String()) // a type that is not meant for the wire
}

func (s schemas) reference(t reflect.Type) map[string]any {
	name := t.Name()
	ref := map[string]any{"$ref": "#/$defs/" + name}
	if _, known := s.defs[name]; known {
		return ref
	}
	properties, required := map[string]any{}, []string{}
	s.defs[name] = nil // taken, for types that hold themselves
	for _, f := range wireFields(t) {
		properties[f.name] = s.field(t, f)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	def := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		def["required"] = required
	}
	s.defs[name] = def
	return ref
}

func (s schemas) field(owner reflect.Type, f wireField) map[string]any {
	out := s.of(f.Type)
	if f.Type.Kind() == reflect.Pointer && !f.optional { // a member that is there and may be null
		out = map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	}
	enum := f.Tag.Get("enum")
	if owner == reflect.TypeFor[Event]() && f.name == "type" {
		enum = strings.Join(eventTypes, ",") + ",*"
	}
	if enum != "" {
		values := strings.Split(enum, ",")
		target := out
		if items, ok := out["items"].(map[string]any); ok {
			target = items
		}
		if values[len(values)-1] == "*" { // may grow: a client ignores what it does not know
			target["examples"] = values[:len(values)-1]
		} else {
			target["enum"] = values
		}
	}
	if doc := f.Tag.Get("doc"); doc != "" {
		out["description"] = doc
	}
	return out
}

// wireField is a member of an object.
type wireField struct {
	reflect.StructField
	name     string
	optional bool
}

// wireFields are the members that encoding/json writes: those of embedded
// structs too, unless one further out has the same name.
func wireFields(t reflect.Type) []wireField {
	var own, embedded []wireField
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if f.Anonymous && tag == "" {
			embedded = append(embedded, wireFields(f.Type)...)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" || name == "" || !f.IsExported() {
			continue
		}
		own = append(own, wireField{f, name, strings.Contains(options, "omitempty")})
	}
	for _, e := range embedded {
		shadowed := false
		for _, o := range own {
			shadowed = shadowed || o.name == e.name
		}
		if !shadowed {
			own = append(own, e)
		}
	}
	return own
}

// eventTypes are the known values of Event.type.
var eventTypes = func() []string {
	var out []string
	for _, t := range []report.EventType{
		report.RunStarted, report.StageEntered, report.StageLeft, report.Message, report.ToolStarted,
		report.ToolFinished, report.ApprovalRequested, report.ApprovalWithdrawn, report.FileChanged,
		report.TodosChanged, report.UsageReported, report.Retrying, report.Notice, report.RunFinished,
		report.AgentSpawned, report.QuestionAsked, report.QuestionClosed, report.TextDelta, report.ThinkingDelta, report.ToolOutput,
	} {
		out = append(out, string(t))
	}
	return out
}()

// errorTable names the errors of their own that requests answer with.
var errorTable = []struct {
	name string
	code int
	data any
}{
	{"cannotStart", int(CodeCannotStart), CannotStartData{}},
	{"alreadyResolved", int(CodeAlreadyResolved), AlreadyResolvedData{}},
	{"sessionBusy", int(CodeSessionBusy), SessionBusyData{}},
	{"unknownId", int(CodeUnknownID), UnknownIDData{}},
	{"notTrusted", int(CodeNotTrusted), NotTrustedData{}},
	{"requestFailed", int(codeRequestFailed), RefusedData{}},
}
