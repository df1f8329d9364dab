package feature

import (
	"fmt"
	"strings"

	"agent-ls/hooks/check"
)

// Reference is the page that explains the codes of diagnostics, in Markdown. A
// code's heading is the code, so `#code` leads to it.
func Reference() string {
	var b strings.Builder
	b.WriteString("# What agent-ls says about scripts and settings\n\n")
	for _, r := range check.Codes() {
		about := "hook scripts"
		if r.Manifest {
			about = "settings files"
		}
		fmt.Fprintf(&b, "## %s\n\nSeverity: %s. In %s.\n\n%s\n\n", r.Code, r.Severity, about, r.Says)
		fmt.Fprintf(&b, "%s\n\n", r.Do)
	}
	return b.String()
}
