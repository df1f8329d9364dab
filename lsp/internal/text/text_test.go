package text

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPositions(t *testing.T) {
	const astral = "a😀b" // 1, 4 and 1 bytes; 1, 2 and 1 units
	for _, tt := range []struct {
		name, text string
		enc        Encoding
		offset     int
		want       Position
	}{
		{"ascii", "ab\ncd", UTF16, 4, Position{1, 1}},
		{"utf-8 counts bytes", astral, UTF8, 5, Position{0, 5}},
		{"utf-16 counts surrogates", astral, UTF16, 5, Position{0, 3}},
		{"utf-32 counts runes", astral, UTF32, 5, Position{0, 2}},
		{"combining marks are their own", "e\u0301x", UTF16, 3, Position{0, 2}},
		{"crlf", "ab\r\ncd", UTF16, 4, Position{1, 0}},
		{"inside of crlf is the end of the line", "ab\r\ncd", UTF16, 3, Position{0, 2}},
		{"lone cr ends a line", "ab\rcd", UTF16, 3, Position{1, 0}},
		{"cr cr lf", "a\r\r\nb", UTF16, 4, Position{2, 0}},
		{"end without newline", "ab", UTF16, 2, Position{0, 2}},
		{"end with newline", "ab\n", UTF16, 3, Position{1, 0}},
		{"past the end", "ab", UTF16, 99, Position{0, 2}},
		{"before the start", "ab", UTF16, -1, Position{0, 0}},
		{"inside of a character", astral, UTF16, 3, Position{0, 1}},
		{"inside of a character, utf-8", astral, UTF8, 3, Position{0, 1}},
		{"stray continuation bytes stand for themselves", "a\x80\x80b", UTF8, 2, Position{0, 2}},
		{"empty", "", UTF16, 0, Position{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewSource(tt.text).OffsetPosition(tt.enc, tt.offset); got != tt.want {
				t.Errorf("OffsetPosition(%s, %d) = %v, want %v", tt.enc, tt.offset, got, tt.want)
			}
		})
	}
}

func TestOffsetsAreClamped(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		enc        Encoding
		pos        Position
		want       int
	}{
		{"column past the line", "ab\ncd", UTF16, Position{0, 99}, 2},
		{"column past a crlf line", "ab\r\ncd", UTF16, Position{0, 99}, 2},
		{"line past the end", "ab\ncd", UTF16, Position{99, 0}, 5},
		{"largest numbers", "ab", UTF16, Position{1<<32 - 1, 1<<32 - 1}, 2},
		{"between surrogates", "a😀b", UTF16, Position{0, 2}, 1},
		{"inside of utf-8", "a😀b", UTF8, Position{0, 3}, 1},
		{"after the astral one", "a😀b", UTF16, Position{0, 3}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := NewSource(tt.text).PositionOffset(tt.enc, tt.pos); got != tt.want {
				t.Errorf("PositionOffset(%s, %v) = %d, want %d", tt.enc, tt.pos, got, tt.want)
			}
		})
	}
}

func TestChangesAreMadeInSequence(t *testing.T) {
	at := func(l1, c1, l2, c2 uint32) *Range { return &Range{Position{l1, c1}, Position{l2, c2}} }
	for _, tt := range []struct {
		name, before string
		changes      []Change
		want         string
	}{
		{"each on the result of the one before", "abc", []Change{{at(0, 0, 0, 1), "xyz"}, {at(0, 3, 0, 4), "-"}}, "xyz-c"},
		{"then everything", "abc", []Change{{at(0, 0, 0, 1), "x"}, {nil, "new"}, {at(0, 3, 0, 3), "!"}}, "new!"},
		{"past the end appends", "abc", []Change{{at(9, 9, 9, 9), "d"}}, "abcd"},
		{"turned around", "abc", []Change{{at(0, 2, 0, 1), "-"}}, "a-c"},
		{"joins cr and lf", "a\rb", []Change{{at(1, 0, 1, 1), "\nc"}}, "a\r\nc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewSource(tt.before).Apply(UTF16, tt.changes)
			if got.Text() != tt.want {
				t.Errorf("Apply(%q) = %q, want %q", tt.before, got.Text(), tt.want)
			}
			if diff := cmp.Diff(NewSource(tt.want).lines, got.lines); diff != "" {
				t.Errorf("line starts differ (-indexed afresh +kept):\n%s", diff)
			}
		})
	}
}

// TestReplaceKeepsTheLineIndex compares the kept index with a fresh one over
// edits of every kind.
func TestReplaceKeepsTheLineIndex(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	pieces := []string{"", "\r", "\n", "\r\n", "a", "😀", "x\ny", "\r\r\n", "ab\rcd\n"}
	s := NewSource("one\r\ntwo\rthree\n")
	for range 5_000 {
		start := rng.Intn(len(s.text) + 1)
		end := start + rng.Intn(min(len(s.text)-start, 6)+1)
		before := s
		s = s.Replace(Span{start, end}, pieces[rng.Intn(len(pieces))])
		if fresh := NewSource(s.text).lines; !slices.Equal(fresh, s.lines) {
			t.Fatalf("Replace(%q, %d, %d) to %q: the line starts are %v, want %v", before.text, start, end, s.text, s.lines, fresh)
		}
		if len(s.text) > 80 {
			s = NewSource("start\r\n")
		}
	}
}

func FuzzPositions(f *testing.F) {
	for _, seed := range []string{"", "a", "a\r\nb", "\r", "😀\r😀", "e\u0301\n", "\xff\x80a\n", "\n\r\n\r"} {
		f.Add(seed, 1, uint32(1), uint32(1))
	}
	f.Fuzz(func(t *testing.T, text string, offset int, line, char uint32) {
		s := NewSource(text)
		for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
			p := s.OffsetPosition(enc, offset)
			back := s.PositionOffset(enc, p)
			if back < 0 || back > len(text) {
				t.Fatalf("PositionOffset(%v) = %d, outside of the text", p, back)
			}
			if again := s.OffsetPosition(enc, back); again != p {
				t.Fatalf("%s: %d is %v, which is %d, which is %v", enc, offset, p, back, again)
			}
			at := s.PositionOffset(enc, Position{line, char})
			if at < 0 || at > len(text) || (utf8.ValidString(text) && !utf8.ValidString(text[:at])) {
				t.Fatalf("%s: {%d %d} is %d, outside or inside of a character", enc, line, char, at)
			}
		}
		if n := s.Lines(); n != 1+strings.Count(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n") {
			t.Fatalf("%q has %d lines", text, n)
		}
	})
}

func FuzzApply(f *testing.F) {
	f.Add("a\r\nb", uint32(0), uint32(1), uint32(1), uint32(0), "\n")
	f.Add("😀", uint32(0), uint32(1), uint32(9), uint32(9), "\r")
	f.Fuzz(func(t *testing.T, text string, l1, c1, l2, c2 uint32, with string) {
		s := NewSource(text).Apply(UTF16, []Change{{&Range{Position{l1, c1}, Position{l2, c2}}, with}})
		if diff := cmp.Diff(NewSource(s.Text()).lines, s.lines); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPaths(t *testing.T) {
	for _, tt := range []struct {
		uri           string
		unix, windows string
	}{
		{"file:///home/a", "/home/a", `\home\a`},
		{"file:///home/a%20b/c%25d%5B1%5D%3Ae", "/home/a b/c%d[1]:e", `\home\a b\c%d[1]:e`},
		{"file:///c%3A/x/y.toml", "/c:/x/y.toml", `C:\x\y.toml`},
		{"file:///C:/x", "/C:/x", `C:\x`},
		{"file://localhost/a", "/a", `\a`},
		{"file://server/share/a", "", `\\server\share\a`},
		{"FILE:///a", "/a", `\a`},
		{"file:/a/b", "/a/b", `\a\b`},
		{"file:////x", "/x", `\x`},
		{"file:///a/../b", "/b", ""},
		{"file:///bad%zz%2", "/bad%zz%2", ""},
		{"file:///%00", "", ""},
		{"file:rel", "", ""},
		{"file://", "", ""},
		{"file:", "", ""},
		{"", "", ""},
		{"untitled:Untitled-1", "", ""},
		{"untitled:/a/b", "", ""},
		{"vscode-notebook-cell:/a#b", "", ""},
		{"/just/a/path", "", ""},
	} {
		if got := pathFor(tt.uri, false); got != tt.unix {
			t.Errorf("pathFor(%q, unix) = %q, want %q", tt.uri, got, tt.unix)
		}
		if tt.windows != "" {
			if got := pathFor(tt.uri, true); got != tt.windows {
				t.Errorf("pathFor(%q, windows) = %q, want %q", tt.uri, got, tt.windows)
			}
		}
	}
}

func TestFileURIs(t *testing.T) {
	for _, path := range []string{"/a", "/a b/c%d", "/ü/😀", "/x[1]/#y?z", "/a:b"} {
		if got := pathFor(fileURIFor(path, false), false); got != path {
			t.Errorf("the path of the URI of %q is %q", path, got)
		}
	}
	for _, path := range []string{`C:\a b\c`, `\\server\share\x`} {
		if got := pathFor(fileURIFor(path, true), true); got != path {
			t.Errorf("the path of the URI of %q is %q", path, got)
		}
	}
	if got, want := fileURIFor("/a b:c", false), "file:///a%20b%3Ac"; got != want {
		t.Errorf("fileURIFor = %q, want %q", got, want)
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"file:////x", "file:///c%3A", "untitled:x", "file://%", "file:///%", "file:///c:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		pathFor(uri, true)
		path := pathFor(uri, false)
		if path != "" && path[0] != '/' {
			t.Fatalf("Path(%q) = %q, which is not absolute", uri, path)
		}
		if path != "" && pathFor(fileURIFor(path, false), false) != path {
			t.Fatalf("the path of the URI of %q is another one", path)
		}
	})
}

func TestApplyEdits(t *testing.T) {
	got, err := ApplyEdits("hello world", []Edit{{Span{6, 11}, "there"}, {Span{0, 5}, "bye"}})
	if err != nil || got != "bye there" {
		t.Errorf("ApplyEdits = %q, %v", got, err)
	}
	if _, err := ApplyEdits("hello", []Edit{{Span{0, 3}, ""}, {Span{2, 4}, ""}}); err == nil {
		t.Error("overlapping edits were applied")
	}
}
