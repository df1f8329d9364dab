// Command gen writes docs/hooks.md, the reference page of the hook contract,
// and the Go types in hooks/event, from the table. Run it from the module's root: go run ./hooks/contract/gen.
// Start at page.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	path := filepath.Join("docs", "hooks.md")
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := os.WriteFile(path, page(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text, err := structs()
	if err == nil {
		err = os.WriteFile(filepath.Join("hooks", "event", "events_gen.go"), text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
