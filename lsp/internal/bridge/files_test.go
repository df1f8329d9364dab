package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/lsp/internal/server"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// setting is one file, open or not, in an editor with some capabilities.
type setting struct {
	*fakeHost
	files *Files
	path  string
}

func newSetting(t *testing.T, disk string, edit, save bool) *setting {
	f := newFakeHost(t)
	f.caps.ApplyEdit, f.caps.VersionedEdits, f.caps.Agent.Save = edit, edit, save
	b, _, _ := newTestBridge(t, f)
	s := &setting{fakeHost: f, files: b.files, path: filepath.Join(f.root(), "a.txt")}
	writeFile(t, s.path, disk)
	f.on(methodSave, func(_ context.Context, raw json.RawMessage) (any, error) {
		writeFile(t, s.path, f.textOf(s.path))
		return SaveResult{Saved: decodeJSON[SaveParams](t, raw).URIs}, nil
	})
	return s
}

func (s *setting) read(t *testing.T) loop.FileText {
	t.Helper()
	got, err := s.files.Read(t.Context(), s.path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReadsWhatTheUserSees(t *testing.T) {
	s := newSetting(t, "disk\n", true, true)
	if got := s.read(t); string(got.Bytes) != "disk\n" || got.Open {
		t.Errorf("not open: %+v", got)
	}
	s.open(s.path, "disk\n")
	if got := s.read(t); string(got.Bytes) != "disk\n" || !got.Open || got.Unsaved {
		t.Errorf("open: %+v", got)
	}
	s.typed(s.path, "typed\n")
	if got := s.read(t); string(got.Bytes) != "typed\n" || !got.Unsaved {
		t.Errorf("typed: %+v", got)
	}
	if open := s.files.Open(); !open[s.path] {
		t.Errorf("Open = %v, want it unsaved", open)
	}
}

func TestWriteOfAFileThatIsNotOpen(t *testing.T) {
	s := newSetting(t, "one\n", true, true)
	if err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("two\n")); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, s.path); got != "two\n" {
		t.Errorf("on disk: %q", got)
	}
	if err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("three\n")); !errors.Is(err, loop.ErrFileChanged) {
		t.Errorf("over another text: %v", err)
	}
}

func TestCleanDocumentIsEditedAndSaved(t *testing.T) {
	s := newSetting(t, "one\ntwo\n", true, true)
	s.open(s.path, "one\ntwo\n")
	if err := s.files.Write(t.Context(), s.path, []byte("one\ntwo\n"), []byte("one\n2\n")); err != nil {
		t.Fatal(err)
	}
	if doc, disk := s.textOf(s.path), readFile(t, s.path); doc != "one\n2\n" || disk != doc {
		t.Errorf("document %q, disk %q", doc, disk)
	}
	if n := len(s.got(methodSave)); n != 1 {
		t.Errorf("%d saves", n)
	}
}

func TestUnsavedDocumentIsEditedAndNotSaved(t *testing.T) {
	s := newSetting(t, "one\n", true, true)
	s.open(s.path, "one\n")
	s.typed(s.path, "one\nmine\n")
	if err := s.files.Write(t.Context(), s.path, []byte("one\nmine\n"), []byte("1\nmine\n")); err != nil {
		t.Fatal(err)
	}
	if doc, disk := s.textOf(s.path), readFile(t, s.path); doc != "1\nmine\n" || disk != "one\n" {
		t.Errorf("document %q, disk %q", doc, disk)
	}
	if n := len(s.got(methodSave)); n != 0 {
		t.Errorf("it was saved, with what the user had not")
	}
	if !s.files.Open()[s.path] {
		t.Error("Open does not name it as unsaved")
	}
}

// Without agent/save a clean document's file is written on disk, and until the
// editor has read it again, the agent sees the file.
func TestCleanDocumentWithoutSaveIsWrittenOnDisk(t *testing.T) {
	s := newSetting(t, "one\n", true, false)
	s.apply = func(server.DocumentEdit) error { t.Error("workspace/applyEdit was used"); return nil }
	s.open(s.path, "one\n")
	if err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("two\n")); err != nil {
		t.Fatal(err)
	}
	if disk := readFile(t, s.path); disk != "two\n" {
		t.Errorf("disk %q", disk)
	}
	if got := s.read(t); string(got.Bytes) != "two\n" || got.Unsaved {
		t.Errorf("before the editor reads it again: %+v", got)
	}
	if err := s.files.Write(t.Context(), s.path, []byte("two\n"), []byte("three\n")); err != nil {
		t.Fatalf("a second write: %v", err)
	}
	s.typed(s.path, "three\n") // the editor reads it again
	if got := s.read(t); string(got.Bytes) != "three\n" || got.Unsaved {
		t.Errorf("after it: %+v", got)
	}
	s.typed(s.path, "mine\n")
	if got := s.read(t); string(got.Bytes) != "mine\n" || !got.Unsaved {
		t.Errorf("after typing: %+v", got)
	}
}

// The user types while the file was written for a document that the editor has
// not read again: what is typed is what counts, and nothing goes over it.
func TestTypingAfterAWriteOnDiskIsNotOverwritten(t *testing.T) {
	s := newSetting(t, "one\n", false, false)
	s.open(s.path, "one\n")
	if err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("two\n")); err != nil {
		t.Fatal(err)
	}
	s.typed(s.path, "one more\n")
	if err := s.files.Write(t.Context(), s.path, []byte("two\n"), []byte("three\n")); !errors.Is(err, loop.ErrFileChanged) {
		t.Errorf("Write = %v, want a conflict", err)
	}
	if err := s.files.Write(t.Context(), s.path, []byte("one more\n"), []byte("three\n")); !errors.Is(err, loop.ErrFileChanged) {
		t.Errorf("Write of a dirty document without applyEdit = %v, want a conflict", err)
	}
	if doc, disk := s.textOf(s.path), readFile(t, s.path); doc != "one more\n" || disk != "two\n" {
		t.Errorf("document %q, disk %q", doc, disk)
	}
}

func TestVersionThatMoved(t *testing.T) {
	t.Run("with the same text it is sent again", func(t *testing.T) {
		s := newSetting(t, "one\n", true, true)
		s.open(s.path, "one\n")
		moved := 0
		s.apply = func(server.DocumentEdit) error {
			if moved++; moved == 1 {
				s.typed(s.path, "one\n")
			}
			return nil
		}
		if err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("two\n")); err != nil {
			t.Fatal(err)
		}
		if got := s.textOf(s.path); got != "two\n" {
			t.Errorf("document %q", got)
		}
	})
	t.Run("with another text it is a conflict", func(t *testing.T) {
		s := newSetting(t, "one\n", true, true)
		s.open(s.path, "one\n")
		s.apply = func(server.DocumentEdit) error { s.typed(s.path, "one and mine\n"); return nil }
		err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("two\n"))
		if !errors.Is(err, loop.ErrFileChanged) {
			t.Errorf("Write = %v", err)
		}
		if doc, disk := s.textOf(s.path), readFile(t, s.path); doc != "one and mine\n" || disk != "one\n" {
			t.Errorf("document %q, disk %q", doc, disk)
		}
	})
	t.Run("that never rests it is a conflict", func(t *testing.T) {
		s := newSetting(t, "one\n", true, true)
		s.open(s.path, "one\n")
		s.apply = func(server.DocumentEdit) error { s.typed(s.path, "one\n"); return nil }
		if err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("two\n")); !errors.Is(err, loop.ErrFileChanged) {
			t.Errorf("Write = %v", err)
		}
	})
}

func TestRefusedEditLeavesTheBytes(t *testing.T) {
	s := newSetting(t, "one\n", true, true)
	s.open(s.path, "one\n")
	s.apply = func(server.DocumentEdit) error { return server.ErrEditRefused }
	if err := s.files.Write(t.Context(), s.path, []byte("one\n"), []byte("two\n")); !errors.Is(err, server.ErrEditRefused) {
		t.Errorf("Write = %v", err)
	}
	if doc, disk := s.textOf(s.path), readFile(t, s.path); doc != "one\n" || disk != "one\n" {
		t.Errorf("document %q, disk %q", doc, disk)
	}
}

// Editors keep byte order marks, CRLF and a missing final newline to
// themselves; a file that is written for them keeps its own.
func TestWriteOnDiskKeepsTheFilesLayout(t *testing.T) {
	for _, test := range []struct{ disk, doc, after, want string }{
		{"\ufeffone\n", "one\n", "two\n", "\ufefftwo\n"},
		{"one\r\ntwo\r\n", "one\ntwo\n", "one\n2\n", "one\r\n2\r\n"},
		{"one\r\ntwo\r\n", "one\r\ntwo\r\n", "one\r\n2\r\n", "one\r\n2\r\n"},
		{"one", "one\n", "two\n", "two"},
		{"one\r\ntwo", "one\ntwo\n", "1\ntwo\n", "1\r\ntwo"},
		{"", "", "new\n", "new\n"},
	} {
		s := newSetting(t, test.disk, false, false)
		s.open(s.path, test.doc)
		if got := s.read(t); got.Unsaved {
			t.Errorf("%q in the editor, %q on disk: unsaved", test.doc, test.disk)
		}
		if err := s.files.Write(t.Context(), s.path, []byte(test.doc), []byte(test.after)); err != nil {
			t.Errorf("%q: %v", test.disk, err)
			continue
		}
		if got := readFile(t, s.path); got != test.want {
			t.Errorf("%q with %q = %q, want %q", test.disk, test.after, got, test.want)
		}
	}
}

// A newline that the user typed at the end is the user's, not the editor's.
func TestTypedFinalNewlineIsUnsaved(t *testing.T) {
	s := newSetting(t, "one", true, true)
	s.open(s.path, "one")
	s.typed(s.path, "one\n")
	if got := s.read(t); !got.Unsaved {
		t.Errorf("%+v", got)
	}
}

func TestNewDocumentWithoutAFile(t *testing.T) {
	s := newSetting(t, "", true, false)
	if err := os.Remove(s.path); err != nil {
		t.Fatal(err)
	}
	s.open(s.path, "")
	if err := s.files.Write(t.Context(), s.path, []byte{}, []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, s.path); got != "new\n" {
		t.Errorf("disk %q", got)
	}
}

// Writes of one file take turns; each sees the one before.
func TestWritesOfOneFileTakeTurns(t *testing.T) {
	s := newSetting(t, "0\n", true, true)
	s.open(s.path, "0\n")
	const n = 20
	results := make(chan error, n)
	for range n {
		go func() { results <- s.files.Write(context.Background(), s.path, []byte("0\n"), []byte("1\n")) }()
	}
	won := 0
	for range n {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, loop.ErrFileChanged) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d writes won, want 1", won)
	}
}

func FuzzMinimalEdits(f *testing.F) {
	for _, seed := range [][2]string{
		{"a\nb\nc\n", "a\nB\nc\n"}, {"", "x"}, {"x", ""}, {"a\r\nb\r\n", "a\nb\n"}, {"a\nb", "a\r\nb"},
		{"zażółć\n", "zazolc\n"}, {"😀a\n", "😁a\n"}, {"a\rb\r\nc", "a\r\nb\rc"}, {"same", "same"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		if !utf8.ValidString(before) || !utf8.ValidString(after) {
			return // documents are valid
		}
		edits := minimalEdits(before, after)
		if got := applied(before, edits); got != after {
			t.Fatalf("%q with %v = %q, want %q", before, edits, got, after)
		}
		for _, e := range edits {
			if !boundary(before, e.Span.Start) || !boundary(before, e.Span.End) {
				t.Errorf("%q: the edit %v starts or ends where an editor has no position", before, e)
			}
		}
	})
}

func TestEditsAreMinimal(t *testing.T) {
	before := strings.Repeat("line\n", 50) + "func add(a, b int) int { return a - b }\n" + strings.Repeat("line\n", 50)
	edits := minimalEdits(before, strings.Replace(before, "a - b", "a + b", 1))
	if len(edits) != 1 || before[edits[0].Span.Start:edits[0].Span.End] != "-" || edits[0].NewText != "+" {
		t.Errorf("edits = %v", edits)
	}
}
