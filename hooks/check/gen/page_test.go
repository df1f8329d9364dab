package main

import (
	"os"
	"path/filepath"
	"testing"
)

// docs/diagnostics.md is what the table says today.
func TestPageIsFresh(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "diagnostics.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(page()) {
		t.Error("docs/diagnostics.md is stale; run: go run ./hooks/check/gen")
	}
}
