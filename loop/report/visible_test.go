package report

import "testing"

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\ttext\nnext", "plain\ttext\nnext"},
		{"naïve 日本 👩‍💻", "naïve 日本 👩‍💻"},
		{"\x1b[2Jgone", `\u{001b}[2Jgone`},
		{"a\u202eb", `a\u{202e}b`},
		{"zero\u200bwidth", `zero\u{200b}width`},
		{"cr\rback", `cr\u{000d}back`},
		{"bad\xffbyte", `bad\xffbyte`},
		{"\u2066iso\u2069", `\u{2066}iso\u{2069}`},
		{"�", "�"},
	} {
		if got := Visible(c.in); got != c.want {
			t.Errorf("Visible(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
