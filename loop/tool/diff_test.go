package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

func TestHunks(t *testing.T) {
	for _, c := range []struct {
		before, after string
		want          []report.Hunk
	}{
		{"a\n", "a\n", nil},
		{"a\nb\nc\n", "a\nB\nc\n", []report.Hunk{{N: 1, Range: span(1, 0, 2, 0), NewText: "B\n"}}},
		{"a\nb\nc\nd\n", "A\nb\nc\nD\n", []report.Hunk{{N: 1, Range: span(0, 0, 1, 0), NewText: "A\n"}, {N: 2, Range: span(3, 0, 4, 0), NewText: "D\n"}}},
		{"", "x\n", []report.Hunk{{N: 1, Range: span(0, 0, 0, 0), NewText: "x\n"}}},
		{"a\r\nb\r\n", "a\r\nx\r\n", []report.Hunk{{N: 1, Range: span(1, 0, 2, 0), NewText: "x\r\n"}}},
		{"a\rb\nc\n", "a\rb\nx\n", []report.Hunk{{N: 1, Range: span(2, 0, 3, 0), NewText: "x\n"}}},
	} {
		got := Hunks([]byte(c.before), []byte(c.after))
		if g, w := asJSON(t, got), asJSON(t, c.want); g != w {
			t.Errorf("Hunks(%q, %q) = %s, want %s", c.before, c.after, g, w)
		}
	}
	end := Hunks([]byte("x 😀é"), []byte("y"))[0].Range.End
	if end.Line != 0 || end.Character != 5 || end.Byte != 8 {
		t.Errorf("the end of a last line without a line end is at %+v, want 0:5, byte 8", end)
	}
}

func span(l1, c1, l2, c2 int) report.Range {
	return report.Range{Start: report.Point{Line: l1, Character: c1}, End: report.Point{Line: l2, Character: c2}}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDiff(t *testing.T) {
	want := "--- a/f.go\n+++ b/f.go\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
	if got := Diff("f.go", []byte("a\nb\nc\n"), []byte("a\nB\nc\n")); got != want {
		t.Errorf("Diff = %s, want %s", got, want)
	}
	if got := Diff("f", nil, []byte("x\n")); !strings.HasPrefix(got, "--- /dev/null\n+++ b/f\n") {
		t.Errorf("Diff of a new file = %s", got)
	}
	if got := Diff("f", []byte("a"), []byte("a")); got != "" {
		t.Errorf("Diff of the same = %q", got)
	}
	if got := Diff("f", []byte("a\x00"), []byte("b")); !strings.Contains(got, "differ") {
		t.Errorf("Diff of binaries = %q", got)
	}
}

// FuzzHunks holds that all hunks together make the text after, none of them
// the text before, and the unified diff does not fail.
func FuzzHunks(f *testing.F) {
	for _, s := range [][2]string{{"a\nb\n", "a\nc\n"}, {"", "x"}, {"x", ""}, {"a\r\nb", "a\nb"}, {"a\n\n\nb", "a\nb\n\n"}, {"é\n", "e\n"}, {"1\n2\n3\n4", "1\n3\n2\n4\n"}, {"\xff", "\xfe\n"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		hunks := Hunks([]byte(before), []byte(after))
		all := make([]int, len(hunks))
		for i := range all {
			all[i] = i + 1
		}
		if got := string(ApplyHunks([]byte(before), []byte(after), all)); got != after {
			t.Fatalf("all hunks of %q → %q give %q", before, after, got)
		}
		if got := string(ApplyHunks([]byte(before), []byte(after), nil)); got != before {
			t.Fatalf("no hunk of %q → %q gives %q", before, after, got)
		}
		if before != after && len(hunks) == 0 {
			t.Fatalf("%q → %q has no hunk", before, after)
		}
		if d := Diff("f", []byte(before), []byte(after)); (d == "") != (before == after) {
			t.Fatalf("Diff(%q, %q) = %q", before, after, d)
		}
		big := coarse(before, after)
		if got := before[:big.start] + big.text + before[big.end:]; got != after {
			t.Fatalf("coarse(%q, %q) gives %q", before, after, got)
		}
	})
}

func TestValidateArguments(t *testing.T) {
	spec := loop.ToolSpec{Name: "t", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1},"edits":{"type":"array","items":{"type":"object"}}}}`)}
	for in, want := range map[string]string{
		`{"path": "a" }`:                         "",
		`{"path":"a","limit":2}`:                 "",
		`{"path":"a","edits":[{"x":1},{"x":2}]}`: "",
		``:                                       "path",
		`[]`:                                     "must be an object",
		`{"path":"a"} x`:                         "not valid JSON",
		`{"path":"a","path":"b"}`:                `"path" comes twice`,
		`{"path":"a","edits":[{"x":1,"x":2}]}`:   `"x" comes twice`,
		`{"path":"a","p\u0061th":"b"}`:           `"path" comes twice`,
		`{"paht":"a"}`:                           `did you mean "path"?`,
		`{"path":"a","wholly_other":1}`:          "it takes edits, limit, path",
		`{"path":[1]}`:                           "path",
		`{"path":"a","limit":"two"}`:             "limit",
		`{"path":"a","limit":0}`:                 "limit",
		`{"path":"a"`:                            "not valid JSON",
		strings.Repeat(`{"path":`, 100):          "nested deeper",
	} {
		out, err := ValidateArguments(spec, json.RawMessage(in))
		switch {
		case want == "" && err != nil:
			t.Errorf("ValidateArguments(%s): %v", in, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("ValidateArguments(%s) = %s, %v, want an error with %q", in, out, err, want)
		}
	}
}

func FuzzValidateArguments(f *testing.F) {
	spec := loop.ToolSpec{Name: "t", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string"}}}`)}
	for _, s := range []string{`{"path":"a"}`, `{"path":"a","path":1}`, `[[[`, `{"a":{"b":[{}]}}`, `{"":`, "\x00", `{"path":1e999}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, err := ValidateArguments(spec, json.RawMessage(in))
		if err == nil && !json.Valid(out) {
			t.Fatalf("ValidateArguments(%q) = %q", in, out)
		}
	})
}
