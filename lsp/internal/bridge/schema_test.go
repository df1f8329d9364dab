package bridge

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated files")

func docs(name string) string { return filepath.Join("..", "..", "..", "docs", name) }

func TestSchemaInDocsIsCurrent(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	path := docs("protocol.schema.json")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./lsp/internal/bridge -run Schema -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/protocol.schema.json is stale; go test ./lsp/internal/bridge -run Schema -update writes it (-want +got):\n%s", diff)
	}
}

// The reference page is written by hand: it must name every method, every
// field of every shape, every error and every type of event.
func TestReferenceNamesEverything(t *testing.T) {
	page, err := os.ReadFile(docs("protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	names := map[string]bool{}
	for _, m := range methods {
		names["`"+m.name+"`"] = true
	}
	for _, e := range errorTable {
		names[e.name] = true
	}
	for _, e := range eventTypes {
		names["`"+e+"`"] = true
	}
	for name := range newBridge(Options{}.filled(), newFakeHost(t).Host).commands() {
		names["`"+name+"`"] = true
	}
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range decodeJSON[struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}](t, schema).Defs {
		for field := range def.Properties {
			names[field] = true
		}
	}
	for name := range names {
		if strings.HasPrefix(name, "`") {
			if !strings.Contains(text, name) {
				t.Errorf("docs/protocol.md does not mention %s", name)
			}
			continue
		}
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text) {
			t.Errorf("docs/protocol.md does not mention the field or error %s", name)
		}
	}
}
