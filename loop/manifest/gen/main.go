// Command gen writes docs/manifest.md from the table of settings. Run it from
// the root of the repository.
package main

import (
	"log"
	"os"
	"path/filepath"

	"agent-ls/loop/manifest"
)

func main() {
	log.SetFlags(0)
	if err := os.WriteFile(filepath.Join("docs", "manifest.md"), []byte(page(manifest.Settings())), 0o644); err != nil {
		log.Fatal(err)
	}
}
