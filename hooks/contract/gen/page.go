package main

import (
	"bytes"
	"fmt"
	"strings"

	"agent-ls/hooks/contract"
)

const head = `# Hook reference

<!-- Generated from hooks/contract by "go run ./hooks/contract/gen". Do not edit. -->

Contract version %d. A script handles an event with a function of one parameter, ` + "`ctx`" + `, that is named as below.
` + "`ctx`" + ` is a copy: what counts is what the function returns.

| return | means |
| --- | --- |
| ` + "`nil`, `true`, `{action: \"allow\"}`, `hook.allow()`" + ` | go on unchanged |
| ` + "`{action: \"modify\", value: V}`, `hook.modify(V)`" + ` | go on with V |
| ` + "`{action: \"deny\", reason: S}`, `hook.deny(S)`" + ` | the calls do not run; the model is told the reason; the run goes on |
| ` + "`{action: \"substitute\", value: V, is_error: B}`, `hook.substitute(V)`" + ` | the call does not run; V is its result |
| ` + "`{action: \"cancel\", reason: S}`, `hook.cancel(S)`" + ` | the run ends |
| ` + "`{action: \"retry\", reason: S}`, `hook.retry(S)`" + ` | the model is asked again, with the reason as a reminder |
| ` + "`false`" + ` | refuses without a reason: cancel on stage points, deny on per-call events |

A decision may also have ` + "`state: {...}`" + `: the next firing of the same hook in the run finds it in ` + "`ctx.state`" + `.
Anything else that is returned is malformed. A hook that returns something malformed, or throws, ends the run: it never allows.
`

// page renders the whole reference.
func page() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, head, contract.Version)
	b.WriteString("\n## Every `ctx` has\n\n")
	fields(&b, contract.Common())
	for _, f := range contract.Families() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", f.Title, f.Doc)
		for _, e := range f.Events {
			event(&b, e)
		}
	}
	library(&b)
	return b.Bytes()
}

func event(b *bytes.Buffer, e *contract.Event) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n\n", e.Name, e.Doc)
	fmt.Fprintf(b, "- Fires: %s\n", lowerFirst(e.Fires))
	if e.Function != "" && e.Function != e.Name {
		fmt.Fprintf(b, "- Function: `%s`\n", e.Function)
	}
	fmt.Fprintf(b, "- Class: %s; since contract version %d\n", e.Class, e.Since)
	fmt.Fprintf(b, "- Honours: %s\n", e.Honoured())
	if r := e.Refusal(); r != contract.NoAction {
		fmt.Fprintf(b, "- `false` means %s\n", r)
	}
	if e.Value != nil {
		fmt.Fprintf(b, "- `modify` takes `%s`: %s\n", e.Value, e.ValueDoc)
	}
	if len(e.Fields) > 0 {
		b.WriteString("\n")
		fields(b, e.Fields)
	}
	if e.Example != "" {
		language := "risor"
		if e.Function == "" {
			language = "sh"
		}
		fmt.Fprintf(b, "\n```%s\n%s```\n", language, e.Example)
	}
}

func fields(b *bytes.Buffer, list []contract.Field) {
	b.WriteString("| field | type | |\n| --- | --- | --- |\n")
	for _, f := range list {
		row(b, "ctx."+f.Name, f)
	}
}

func row(b *bytes.Buffer, path string, f contract.Field) {
	fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", path, cell(f.Type.String()), cell(f.Doc))
	inner := &f.Type
	if inner.Kind == contract.List {
		inner, path = inner.Elem, path+"[i]"
	}
	if inner.Kind == contract.Object {
		for _, g := range inner.Fields {
			row(b, path+"."+g.Name, g)
		}
	}
}

func library(b *bytes.Buffer) {
	lib := contract.Library()
	b.WriteString("\n## What scripts have\n\nRisor's language, and these. `name?` is an optional argument.\n\n### Functions\n\n")
	functions(b, "", lib.Functions)
	for _, m := range lib.Modules {
		fmt.Fprintf(b, "\n### Module `%s`\n\n%s.\n\n", m.Name, sentence(m.Doc))
		if m.Call != nil {
			functions(b, "", []contract.Function{*m.Call})
		} else {
			functionHead(b)
		}
		functionRows(b, m.Name+".", m.Functions)
		for _, c := range m.Constants {
			fmt.Fprintf(b, "| `%s.%s` %s | %s |\n", m.Name, c.Name, c.Value, c.Doc)
		}
		for i := range m.Functions {
			functionExample(b, m.Name, &m.Functions[i])
		}
	}
	for _, m := range lib.Methods {
		fmt.Fprintf(b, "\n### Methods of `%s`\n\n", m.Name)
		functions(b, ".", m.Functions)
	}
	b.WriteString("\n### Not there\n\n| name | why |\n| --- | --- |\n")
	for _, a := range lib.Absent {
		fmt.Fprintf(b, "| `%s` | %s |\n", a.Name, a.Why)
	}
}

func functionHead(b *bytes.Buffer) { b.WriteString("| | |\n| --- | --- |\n") }

func functions(b *bytes.Buffer, prefix string, list []contract.Function) {
	functionHead(b)
	functionRows(b, prefix, list)
}

func functionRows(b *bytes.Buffer, prefix string, list []contract.Function) {
	for i := range list {
		fmt.Fprintf(b, "| `%s%s` | %s |\n", prefix, cell(list[i].Signature()), cell(list[i].Doc))
	}
}

func functionExample(b *bytes.Buffer, module string, f *contract.Function) {
	if f.Example == "" {
		return
	}
	fmt.Fprintf(b, "\n`%s.%s` gives a map:\n\n| field | type | |\n| --- | --- | --- |\n", module, f.Name)
	for _, field := range f.Shape.Fields {
		row(b, field.Name, field)
	}
	fmt.Fprintf(b, "\n```risor\n%s```\n", f.Example)
}

// cell keeps a text inside its table cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
