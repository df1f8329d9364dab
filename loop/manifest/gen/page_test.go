package main

import (
	"os"
	"testing"

	"agent-ls/loop/manifest"
)

func TestPageIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("../../../docs/manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page(manifest.Settings()) {
		t.Error(`docs/manifest.md is stale: run "go run ./loop/manifest/gen"`)
	}
}
