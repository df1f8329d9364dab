package manifest

import (
	"path/filepath"
	"testing"
)

// What a keystroke in a manifest costs.
func BenchmarkCheck(b *testing.B) {
	s := workspace(b, everything)
	path := filepath.Join(s.Root, ".agent-ls", "agent.toml")
	text, err := s.read(path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Check(path, text, s)
	}
}
