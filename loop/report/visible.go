package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text that cannot play tricks on whoever reads it: control
// characters (but for newline and tab), bidirectional overrides and invisible
// format characters become \u{…}, bytes that are no UTF-8 become \x… .
// Everything that a model, a tool or a file says goes through it before it is
// shown to a person.
func Visible(s string) string {
	clean := true
	for _, r := range s {
		if hidden(r) || r == utf8.RuneError {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case hidden(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func hidden(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	// Cf holds the bidirectional controls and the zero-width characters;
	// emoji need the joiner, which cannot reorder anything.
	return unicode.IsControl(r) || (unicode.Is(unicode.Cf, r) && r != '\u200d') || r == '\u2028' || r == '\u2029'
}
