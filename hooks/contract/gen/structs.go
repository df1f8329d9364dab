package main

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"

	"agent-ls/hooks/contract"
)

// structs renders the Go types of every event's ctx, for hooks that are
// written in Go.
func structs() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from hooks/contract by \"go run ./hooks/contract/gen\". DO NOT EDIT.\n\npackage event\n\n")
	b.WriteString("// Common is what every event has.\ntype Common struct {\n")
	members(&b, contract.Common())
	b.WriteString("}\n")
	for _, e := range contract.Events() {
		name := goName(e.Name)
		fmt.Fprintf(&b, "\n// %s is the ctx of %s. %s\ntype %s struct {\n\tCommon\n", name, e.Name, e.Doc, name)
		members(&b, e.Fields)
		fmt.Fprintf(&b, "}\n\n// EventName is %q.\nfunc (*%s) EventName() string { return %q }\n", e.Name, name, e.Name)
	}
	return format.Source(b.Bytes())
}

func members(b *bytes.Buffer, fields []contract.Field) {
	for _, f := range fields {
		fmt.Fprintf(b, "\t// %s\n\t%s %s `hook:%q`\n", f.Doc, goName(f.Name), goType(f.Type), f.Name)
	}
}

func goType(t contract.Type) string {
	plain := goPlainType(t)
	if t.Nullable && t.Kind != contract.List && t.Kind != contract.Map && t.Kind != contract.Any {
		return "*" + plain
	}
	return plain
}

func goPlainType(t contract.Type) string {
	switch t.Kind {
	case contract.Bool:
		return "bool"
	case contract.Int:
		return "int64"
	case contract.Float:
		return "float64"
	case contract.String:
		return "string"
	case contract.List:
		return "[]" + goType(*t.Elem)
	case contract.Map:
		return "map[string]" + goType(*t.Elem)
	case contract.Object:
		var b bytes.Buffer
		b.WriteString("struct {\n")
		members(&b, t.Fields)
		b.WriteString("}")
		return b.String()
	}
	return "any"
}

// initialisms are written in capitals, as Go names are.
var initialisms = map[string]string{"id": "ID", "mcp": "MCP", "url": "URL", "http": "HTTP", "ms": "MS", "oauth": "OAuth"}

func goName(name string) string {
	if name == "session_end" {
		return "SessionShutdown" // session:end is SessionEnd
	}
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == ':' || r == '-' || r == '_' }) {
		if s, ok := initialisms[word]; ok {
			b.WriteString(s)
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
