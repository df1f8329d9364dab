package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	for name, tc := range map[string]struct{ a, b, want string }{
		"same":       {"a\n", "a\n", ""},
		"one line":   {"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"new":        {"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		"gone":       {"a\n", "", "@@ -1,1 +0,0 @@\n-a\n"},
		"no newline": {"a", "b", "@@ -1,1 +1,1 @@\n-a\n" + noNewline + "+b\n" + noNewline},
		"two places": {
			"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "x\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ny\n",
			"@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -9,4 +9,4 @@\n 9\n 10\n 11\n-12\n+y\n",
		},
	} {
		if d := cmp.Diff(tc.want, Unified(tc.a, tc.b)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}

// Texts that have nothing in common cost no more than a line for a line.
func TestBounded(t *testing.T) {
	a, b := strings.Repeat("a\n", 20_000), strings.Repeat("b\n", 20_000)
	if got := strings.Count(Unified(a, b), "\n"); got != 40_001 {
		t.Errorf("%d lines", got)
	}
}
