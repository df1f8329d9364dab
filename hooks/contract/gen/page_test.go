package main

import (
	"os"
	"path/filepath"
	"testing"
)

// docs/hooks.md is what the table says today.
// hooks/event is what the table says today.
func TestStructsAreFresh(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("..", "..", "event", "events_gen.go"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := structs()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("hooks/event/events_gen.go is stale; run: go run ./hooks/contract/gen")
	}
}

func TestPageIsFresh(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "hooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(page()) {
		t.Error("docs/hooks.md is stale; run: go run ./hooks/contract/gen")
	}
}
