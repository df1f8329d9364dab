package glob

import (
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a.go", true},
		{"*.go", "b/a.go", false},
		{"**/*.go", "a.go", true},
		{"**/*.go", "b/c/a.go", true},
		{"docs/**", "docs/a/b", true},
		{"docs/**", "doc/a", false},
		{"{a,b}/?.t[a-z]t", "b/x.txt", true},
		{".env*", ".env.local", true},
	} {
		got, err := Match(tc.pattern, tc.path)
		if err != nil || got != tc.want {
			t.Errorf("Match(%q, %q) = %v, %v, want %v", tc.pattern, tc.path, got, err, tc.want)
		}
	}
}

func TestMatchRefuses(t *testing.T) {
	for _, p := range []string{"[", "{a", strings.Repeat("a", MaxPattern+1), strings.Repeat("{a,a}", 40), strings.Repeat("**/a/", 40)} {
		if _, err := Match(p, "a"); err == nil {
			t.Errorf("Match(%.20q) gives no error", p)
		}
	}
}

// Patterns that are within bounds are matched at once, whatever they say.
func TestMatchIsBounded(t *testing.T) {
	for _, p := range []string{
		strings.Repeat("{a,a}", 11) + "b", strings.Repeat("**/a/", 32) + "b", strings.Repeat("*a", 1000) + "b",
		strings.Repeat("{*a,*a}", 11) + "b", strings.Repeat("{**/a,**/a}/", 11) + "b", "{" + strings.Repeat("a,", 1500) + "a}b",
	} {
		for _, path := range []string{strings.Repeat("a", 2000), strings.Repeat("a/", 1000)} {
			start := time.Now()
			if ok, err := Match(p, path); ok || err != nil {
				t.Errorf("Match(%.20q, …) = %v, %v", p, ok, err)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("Match(%.20q, %.20q) took %v", p, path, d)
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/*.go", "a/b.go")
	f.Add("{a,b{c,d}}*", "abc")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		start := time.Now()
		Match(pattern, path)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("Match(%q, %q) took %v", pattern, path, d)
		}
	})
}
