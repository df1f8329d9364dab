package main

import (
	"os"
	"path/filepath"
	"testing"
)

// docs/hooks.md is what the table says today.
func TestPageIsFresh(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "hooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(page()) {
		t.Error("docs/hooks.md is stale; run: go run ./hooks/contract/gen")
	}
}
