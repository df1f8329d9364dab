package bridge

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"agent-ls/hooks/check"
)

// minimalEdits turns one text into another with edits that touch no more than
// they change, so that cursors and marks of the user stay where they are. No
// edit starts or ends inside a character or between CR and LF: an editor has
// no position there.
func minimalEdits(before, after string) []check.Edit {
	var out []check.Edit
	for _, e := range udiff.Lines(before, after) {
		start, end, text := trimmed(before, e.Start, e.End, e.New)
		out = append(out, check.Edit{Span: check.Span{Start: start, End: end}, NewText: text})
	}
	return out
}

// trimmed takes what an edit leaves as it is off both its ends.
func trimmed(before string, start, end int, text string) (int, int, string) {
	old := before[start:end]
	n := 0
	for n < len(old) && n < len(text) && old[n] == text[n] {
		n++
	}
	for n > 0 && !(boundary(old, n) && boundary(text, n)) {
		n--
	}
	old, text, start = old[n:], text[n:], start+n
	n = 0
	for n < len(old) && n < len(text) && old[len(old)-1-n] == text[len(text)-1-n] {
		n++
	}
	for n > 0 && !(boundary(old, len(old)-n) && boundary(text, len(text)-n)) {
		n--
	}
	return start, end - n, text[:len(text)-n]
}

// boundary says whether a text may be cut at i.
func boundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	return utf8.RuneStart(s[i]) && !(s[i-1] == '\r' && s[i] == '\n')
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
