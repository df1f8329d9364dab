package text

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Change is one content change of a client: of a range, or of everything.
type Change struct {
	Range *Range // nil replaces the whole text
	Text  string
}

// Apply makes changes in sequence, each on the result of the one before, as
// the protocol says. Ranges outside the text are clamped.
func (s *Source) Apply(enc Encoding, changes []Change) *Source {
	for _, c := range changes {
		if c.Range == nil {
			s = NewSource(c.Text)
			continue
		}
		s = s.Replace(s.RangeSpan(enc, *c.Range), c.Text)
	}
	return s
}

// Replace returns the source with a span replaced. Only the lines around the
// change are looked at again. A span outside the text is clamped.
func (s *Source) Replace(span Span, with string) *Source {
	span.Start = min(max(span.Start, 0), len(s.text))
	span.End = min(max(span.End, span.Start), len(s.text))

	var b strings.Builder
	b.Grow(len(s.text) - (span.End - span.Start) + len(with))
	b.WriteString(s.text[:span.Start])
	b.WriteString(with)
	b.WriteString(s.text[span.End:])
	text := b.String()

	// A line end may be joined or split at either side (CR before LF), so one
	// byte more is looked at on both.
	from := max(span.Start-1, 0)
	to := min(span.Start+len(with)+1, len(text))
	oldTo := span.End + 1
	shift := len(text) - len(s.text)

	keep := sort.SearchInts(s.lines, from+1) // starts at or before from
	lines := make([]int, keep, len(s.lines)+strings.Count(with, "\n")+2)
	copy(lines, s.lines[:keep])
	lines = appendLineStarts(lines, text, from, to)
	for _, start := range s.lines[sort.SearchInts(s.lines, oldTo+1):] {
		lines = append(lines, start+shift)
	}
	return &Source{text: text, lines: lines}
}

// Edit replaces a span of a text.
type Edit struct {
	Span    Span
	NewText string
}

// ApplyEdits makes edits that all speak of the text before. It fails when
// they overlap or lie outside.
func ApplyEdits(text string, edits []Edit) (string, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.Span.Start < at || e.Span.End < e.Span.Start || e.Span.End > len(text) {
			return "", fmt.Errorf("the edit of bytes %d to %d overlaps another one or lies outside of the text", e.Span.Start, e.Span.End)
		}
		b.WriteString(text[at:e.Span.Start])
		b.WriteString(e.NewText)
		at = e.Span.End
	}
	b.WriteString(text[at:])
	return b.String(), nil
}
