package tool

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"agent-ls/loop/report"
)

// change is one run of changed lines, in bytes of the text before.
type change struct {
	start, end int
	text       string
}

// maxDiff bounds the texts that are compared line by line; larger ones are
// one change from the first to the last line that differs.
const maxDiff = 8 << 20

// changes are the runs of lines that differ, in order, apart by at least one
// line that does not.
func changes(before, after string) []change {
	if before == after {
		return nil
	}
	if len(before)+len(after) > maxDiff {
		return []change{coarse(before, after)}
	}
	var out []change
	edits := udiff.Lines(before, after)
	udiff.SortEdits(edits)
	for _, e := range edits {
		c := wholeLines(before, change{e.Start, e.End, e.New})
		if n := len(out); n > 0 && c.start <= out[n-1].end {
			last := &out[n-1]
			if c.start < last.end { // an overlap after widening to whole lines
				return []change{coarse(before, after)}
			}
			last.end, last.text = c.end, last.text+c.text
			continue
		}
		out = append(out, c)
	}
	return out
}

// wholeLines widens a change to whole lines of the text before.
func wholeLines(before string, c change) change {
	if i := strings.LastIndexByte(before[:c.start], '\n') + 1; i < c.start {
		c.text = before[i:c.start] + c.text
		c.start = i
	}
	if c.end > c.start && before[c.end-1] != '\n' {
		to := len(before)
		if i := strings.IndexByte(before[c.end:], '\n'); i >= 0 {
			to = c.end + i + 1
		}
		c.text += before[c.end:to]
		c.end = to
	}
	return c
}

// coarse is one change that turns one text into the other.
func coarse(before, after string) change {
	start := 0
	for i := 0; i < len(before) && i < len(after) && before[i] == after[i]; i++ {
		if before[i] == '\n' {
			start = i + 1
		}
	}
	i, j := len(before), len(after)
	for i > start && j > start && before[i-1] == after[j-1] {
		i, j = i-1, j-1
	}
	// Back to a line end that both have.
	for i < len(before) && (i == 0 || before[i-1] != '\n' || j == 0 || after[j-1] != '\n') {
		i, j = i+1, j+1
	}
	return change{start, i, after[start:j]}
}

// Hunks are the parts of an edit that can be accepted by themselves, numbered
// from 1: each replaces whole lines of the text before.
func Hunks(before, after []byte) []report.Hunk {
	var out []report.Hunk
	c := cursor{text: before}
	for i, ch := range changes(string(before), string(after)) {
		start := c.move(ch.start)
		end := c.move(ch.end)
		out = append(out, report.Hunk{N: i + 1, Range: report.Range{Start: start, End: end}, NewText: ch.text})
	}
	return out
}

// cursor turns rising byte offsets into positions.
type cursor struct {
	text []byte
	at   int
	line int
	head int // offset of the line's start
}

// move goes on to an offset. CR LF, LF and a lone CR end a line, as in LSP.
func (c *cursor) move(to int) report.Point {
	for ; c.at < to; c.at++ {
		switch b := c.text[c.at]; {
		case b == '\n', b == '\r' && (c.at+1 >= len(c.text) || c.text[c.at+1] != '\n'):
			c.line, c.head = c.line+1, c.at+1
		}
	}
	p := report.Point{Line: c.line, Byte: to - c.head}
	for rest := c.text[c.head:to]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		p.Character += max(1, utf16.RuneLen(r))
		rest = rest[n:]
	}
	return p
}

// ApplyHunks is the text before with the accepted hunks only. Numbers that
// name no hunk count for nothing.
func ApplyHunks(before, after []byte, accepted []int) []byte {
	var out bytes.Buffer
	at := 0
	for i, ch := range changes(string(before), string(after)) {
		if !slices.Contains(accepted, i+1) {
			continue
		}
		out.Write(before[at:ch.start])
		out.WriteString(ch.text)
		at = ch.end
	}
	out.Write(before[at:])
	return out.Bytes()
}

// Diff is the change of one file as a unified diff; before is nil for a new
// file, after for a deleted one. It is empty when nothing differs.
func Diff(path string, before, after []byte) string {
	from, to := "a/"+path, "b/"+path
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	if why := binary(before) + binary(after); why != "" {
		if bytes.Equal(before, after) {
			return ""
		}
		return "Binary files " + from + " and " + to + " differ\n"
	}
	var edits []udiff.Edit
	for _, c := range changes(string(before), string(after)) {
		edits = append(edits, udiff.Edit{Start: c.start, End: c.end, New: c.text})
	}
	text, err := udiff.ToUnified(from, to, string(before), edits, 3)
	if err != nil { // the edits come from the very text: it cannot be
		return ""
	}
	return text
}
