package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"agent-ls/hooks/check"
	"agent-ls/hooks/syntax"
	"agent-ls/hooks/textfile"
)

// textOf reads the text that a finding's offsets count in.
type textOf func(path string) []byte

// readText reads it from disk; a file that is gone has no lines.
func readText(path string) []byte {
	text, err := textfile.Read(path, textfile.Max)
	if err != nil {
		return nil
	}
	return text
}

// place is where a finding starts, as people count: from 1, in characters.
func place(f check.Finding, text []byte) (line, column int) {
	p := syntax.NewLines(string(text)).Position(f.Span.Start)
	return p.Line, p.Column
}

// relative names a file as the user would from here.
func relative(path string) string {
	cwd, err := os.Getwd()
	if err != nil {
		return path
	}
	if resolved, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = resolved
	}
	rel, err := filepath.Rel(cwd, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// findingLine is the one-line form: file:line:col: severity: message [code].
func findingLine(f check.Finding, read textOf, name func(string) string) string {
	if !filepath.IsAbs(f.Path) { // it stands in no file: the environment, flags, what is missing
		where := ""
		if f.Path != "" {
			where = f.Path + ": "
		}
		return fmt.Sprintf("%s%s: %s [%s]", where, f.Severity, f.Message, f.Code)
	}
	line, column := place(f, read(f.Path))
	return fmt.Sprintf("%s:%d:%d: %s: %s [%s]", name(f.Path), line, column, f.Severity, f.Message, f.Code)
}

// printFindings writes one line for each finding.
func printFindings(w io.Writer, findings []check.Finding, read textOf) {
	for _, f := range findings {
		fmt.Fprintln(w, findingLine(f, read, relative))
	}
}

// codeFrame shows a finding under its line of source.
func codeFrame(t *terminal, f check.Finding, read textOf, name func(string) string) string {
	text := read(f.Path)
	line, column := place(f, text)
	source := sourceLine(text, line)
	width := utf8.RuneCount(text[f.Span.Start:min(f.Span.End, len(text))])
	if room := utf8.RuneCountInString(source) - column + 1; width > room {
		width = room
	}
	width = max(width, 1)
	indent := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, string([]rune(source)[:min(column-1, utf8.RuneCountInString(source))]))
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.bold(findingLine(f, read, name)))
	fmt.Fprintf(&b, "  %4d | %s\n", line, t.style("0", source))
	fmt.Fprintf(&b, "       | %s%s", indent, t.style("31", strings.Repeat("~", width)))
	for _, fix := range f.Fixes {
		fmt.Fprintf(&b, "\n       fix: %s", t.style("32", fix.Title))
	}
	return b.String()
}

// sourceLine is line number n of a text, without its end.
func sourceLine(text []byte, n int) string {
	normal := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text))
	lines := strings.Split(normal, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}
