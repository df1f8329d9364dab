package lsptest

import (
	"regexp"
	"strings"
	"testing"
)

// Span is a range of bytes.
type Span struct{ Start, End int }

var markers = regexp.MustCompile(`⟦(\w+)(?::([^⟧]*))?⟧`)

// Mark takes markers out of a text and says where they stood: ⟦name⟧ marks a
// place, ⟦name:text⟧ a range.
func Mark(t testing.TB, marked string) (text string, at map[string]Span) {
	t.Helper()
	at = map[string]Span{}
	var b strings.Builder
	last := 0
	for _, m := range markers.FindAllStringSubmatchIndex(marked, -1) {
		b.WriteString(marked[last:m[0]])
		name := marked[m[2]:m[3]]
		if _, twice := at[name]; twice {
			t.Fatalf("the marker %q stands twice", name)
		}
		start := b.Len()
		if m[4] >= 0 {
			b.WriteString(marked[m[4]:m[5]])
		}
		at[name] = Span{start, b.Len()}
		last = m[1]
	}
	b.WriteString(marked[last:])
	return b.String(), at
}
