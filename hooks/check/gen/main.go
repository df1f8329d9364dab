// Command gen writes docs/diagnostics.md, the reference page of the findings,
// from the table of codes. Run it from the module's root:
// go run ./hooks/check/gen. Start at page.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"agent-ls/hooks/check"
)

func main() {
	path := filepath.Join("docs", "diagnostics.md")
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := os.WriteFile(path, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const head = `# Diagnostics

<!-- Generated from hooks/check by "go run ./hooks/check/gen". Do not edit. -->

What the editor underlines and ` + "`agent-ls check`" + ` prints, by its code. A finding of severity error in a script that a run uses
stops the run before the model is called. Every finding is about something that cannot work or does not do what it seems to:
what is not known for certain is not said.
`

// page renders the whole reference.
func page() []byte {
	var b bytes.Buffer
	b.WriteString(head)
	section(&b, "Scripts", func(r check.Rule) bool { return !r.Manifest && !r.Recorded })
	section(&b, "Scripts, from recorded runs", func(r check.Rule) bool { return r.Recorded })
	section(&b, "The manifest", func(r check.Rule) bool { return r.Manifest })
	return b.Bytes()
}

func section(b *bytes.Buffer, title string, in func(check.Rule) bool) {
	fmt.Fprintf(b, "\n## %s\n\n| code | severity | |\n| --- | --- | --- |\n", title)
	for _, r := range check.Codes() {
		if in(r) {
			fmt.Fprintf(b, "| [`%s`](#%s) | %s | %s |\n", r.Code, r.Code, r.Severity, r.Says)
		}
	}
	for _, r := range check.Codes() {
		if in(r) {
			fmt.Fprintf(b, "\n### %s\n\n%s\n\n%s\n", r.Code, r.Says, r.Do)
		}
	}
}
