package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
	"agent-ls/loop/realpath"
	"agent-ls/loop/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// bench is a workspace with the tools of one session.
type bench struct {
	t     testing.TB
	root  string
	tools []loop.Tool
}

func newBench(t testing.TB, files map[string]string, change func(*Options)) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: root}
	for name, text := range files {
		b.put(name, text)
	}
	o := Options{Root: root, Behavior: manifest.Behavior{RequireReadBeforeEdit: true, WriteExisting: "require_read", DedupReads: true, TrackShellReads: true}}
	if change != nil {
		change(&o)
	}
	b.tools = Builtin(o)
	return b
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	p := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) text(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bench) tool(name string) loop.Tool {
	i := slices.IndexFunc(b.tools, func(t loop.Tool) bool { return t.Spec().Name == name })
	if i < 0 {
		b.t.Fatalf("no tool %s", name)
	}
	return b.tools[i]
}

func arguments(t testing.TB, args any) json.RawMessage {
	t.Helper()
	j, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

type args map[string]any

// call validates, prepares and runs.
func (b *bench) call(name string, a args) loop.ToolResult {
	b.t.Helper()
	return b.callWith(context.Background(), name, a, func(*loop.Invocation) {})
}

func (b *bench) callWith(ctx context.Context, name string, a args, change func(*loop.Invocation)) loop.ToolResult {
	b.t.Helper()
	tool := b.tool(name)
	valid, err := ValidateArguments(tool.Spec(), arguments(b.t, a))
	if err != nil {
		return loop.ToolResult{Text: err.Error(), IsError: true, Outcome: loop.CallInvalid}
	}
	plan, err := tool.Prepare(ctx, valid)
	if err != nil {
		return loop.ToolResult{Text: err.Error(), IsError: true, Outcome: loop.CallInvalid}
	}
	call := loop.Invocation{CallID: "1", Arguments: valid, Judged: plan}
	change(&call)
	return tool.Run(ctx, call)
}

func (b *bench) wants(r loop.ToolResult, outcome loop.CallOutcome, parts ...string) {
	b.t.Helper()
	all := r.Text + "\n" + strings.Join(r.Notes, "\n")
	if r.Outcome != outcome || r.IsError == (outcome == loop.CallOK) {
		b.t.Errorf("outcome %q, error %v, want %q\n%s", r.Outcome, r.IsError, outcome, all)
	}
	for _, p := range parts {
		if !strings.Contains(all, p) {
			b.t.Errorf("the result lacks %q:\n%s", p, all)
		}
	}
}

func TestReadFile(t *testing.T) {
	long := strings.Repeat("x", 5000)
	b := newBench(t, map[string]string{
		"a.go": "one\ntwo\nthree\n", "crlf.txt": "\xef\xbb\xbfone\r\ntwo\r\n", "bin": "a\x00b", "utf16": "\xff\xfea\x00", "empty": "", "noend": "x", "long": long, "many": strings.Repeat("l\n", 3000),
		"Config.yaml": "x", "latin": "caf\xe9 caf\xe9 caf\xe9",
	}, nil)
	b.wants(b.call("read_file", args{"path": "a.go"}), loop.CallOK, "     1\tone\n     2\ttwo\n     3\tthree\n")
	b.wants(b.call("read_file", args{"path": "a.go", "offset": 2, "limit": 1}), loop.CallOK, "     2\ttwo\n(lines 2 to 2 of 3)")
	b.wants(b.call("read_file", args{"path": "a.go", "offset": 9}), loop.CallError, "has 3 lines")
	b.wants(b.call("read_file", args{"path": "./x/../a.go"}), loop.CallOK, "unchanged since the previous read")
	if r := b.call("read_file", args{"path": "crlf.txt"}); r.Text != "     1\tone\n     2\ttwo\n" {
		t.Errorf("crlf.txt reads as %q", r.Text)
	}
	b.wants(b.call("read_file", args{"path": "bin"}), loop.CallError, "binary")
	b.wants(b.call("read_file", args{"path": "utf16"}), loop.CallError, "UTF-16")
	b.wants(b.call("read_file", args{"path": "latin"}), loop.CallError, "UTF-8")
	b.wants(b.call("read_file", args{"path": "empty"}), loop.CallOK, "is empty")
	b.wants(b.call("read_file", args{"path": "noend"}), loop.CallOK, "no line end")
	b.wants(b.call("read_file", args{"path": "long"}), loop.CallOK, "3000 more bytes")
	many := b.call("read_file", args{"path": "many"})
	b.wants(many, loop.CallOK, "(lines 1 to 2000 of 3000)")
	if !many.Truncated {
		t.Error("2000 of 3000 lines are not marked truncated")
	}
	b.wants(b.call("read_file", args{"path": "config.yml"}), loop.CallError, "did you mean Config.yaml?")
	b.wants(b.call("read_file", args{"path": "."}), loop.CallError, "is a folder")
	b.wants(b.call("read_file", args{"pth": "a.go"}), loop.CallInvalid, `did you mean "path"?`)
	b.wants(b.call("read_file", args{"path": "a.go", "offset": 0}), loop.CallInvalid, "offset")
	b.wants(b.call("read_file", args{"path": "a\x00"}), loop.CallInvalid, "zero byte")
}

func TestEditKeepsWhatItDoesNotTouch(t *testing.T) {
	for _, c := range []struct{ name, before, old, fresh, want string }{
		{"plain", "a\nb\nc\n", "b", "B", "a\nB\nc\n"},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"},
		{"crlf given as crlf", "a\r\nb\r\n", "a\r\nb", "a\r\nx", "a\r\nx\r\n"},
		{"byte order mark", "\xef\xbb\xbfa\nb\n", "a\n", "x\n", "\xef\xbb\xbfx\nb\n"},
		{"no final line end", "a\nb", "b", "c", "a\nc"},
		{"mixed, where LF", "a\nb\r\nc\r\nd\r\n", "a\nb", "x\ny", "x\ny\r\nc\r\nd\r\n"},
		{"mixed, where CRLF", "a\r\nb\nc\nd\n", "a\nb", "x\ny", "x\r\ny\nc\nd\n"},
		{"at a CR LF", "a\r\nb\r\n", "\nb", "", "a\r\n"},
		{"astral", "x 😀 y\n", "😀", "é", "x é y\n"},
	} {
		b := newBench(t, map[string]string{"f": c.before}, nil)
		if err := os.Chmod(filepath.Join(b.root, "f"), 0o751); err != nil {
			t.Fatal(err)
		}
		b.call("read_file", args{"path": "f"})
		b.wants(b.call("edit", args{"path": "f", "old_string": c.old, "new_string": c.fresh}), loop.CallOK, "edited f")
		if got := b.text("f"); got != c.want {
			t.Errorf("%s: %q → %q, want %q", c.name, c.before, got, c.want)
		}
		if info, err := os.Stat(filepath.Join(b.root, "f")); err == nil && os.PathSeparator == '/' && info.Mode().Perm() != 0o751 {
			t.Errorf("%s: mode %v, want 0751", c.name, info.Mode())
		}
	}
}

func TestEditGuards(t *testing.T) {
	b := newBench(t, map[string]string{"f.go": "func add(a, b int) int {\n\treturn a - b\n}\n\nfunc sub(a, b int) int {\n\treturn a - b\n}\n"}, nil)
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "a - b", "new_string": "x"}), loop.CallInvalid, "was not read in this session")
	b.call("read_file", args{"path": "f.go"})
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "a - b", "new_string": "x"}), loop.CallInvalid, "there 2 times", "line 2:", "line 6:")
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "    return a - b", "new_string": "x"}), loop.CallInvalid, "Nearest", "lines 2 to 2", "white space only")
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "func ad(a, b int) int {", "new_string": "x"}), loop.CallInvalid, "lines 1 to 1")
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "     2\t\treturn a - b", "new_string": "x"}), loop.CallInvalid, "line numbers")
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "zzzzzzzzzzzz", "new_string": "x"}), loop.CallInvalid, "nor anything like it")
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "x", "new_string": "x"}), loop.CallInvalid, "the same")
	b.wants(b.call("edit", args{"path": "g.go", "old_string": "x", "new_string": "y"}), loop.CallInvalid, "does not exist", "f.go")
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "a - b", "new_string": "a + b", "replace_all": true}), loop.CallOK, "2 lines added, 2 removed")
	b.put("f.go", "changed behind\n")
	b.wants(b.call("edit", args{"path": "f.go", "old_string": "changed", "new_string": "x"}), loop.CallInvalid, "changed since it was read", "sha256:")
	b.wants(b.call("write_file", args{"path": "f.go", "content": "x"}), loop.CallInvalid, "changed since it was read")
}

func TestFileChangedBetweenApprovalAndRun(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\n"}, nil)
	b.call("read_file", args{"path": "f"})
	tool := b.tool("edit")
	a := arguments(t, args{"path": "f", "old_string": "one", "new_string": "two"})
	plan, err := tool.Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	b.put("f", "one and more\n")
	b.call("read_file", args{"path": "f"})
	r := tool.Run(t.Context(), loop.Invocation{Arguments: a, Judged: plan})
	b.wants(r, loop.CallError, "Nothing was written", "sha256:")
	if b.text("f") != "one and more\n" {
		t.Errorf("the file was written: %q", b.text("f"))
	}
}

func TestLinkSwappedBetweenApprovalAndRun(t *testing.T) {
	b := newBench(t, map[string]string{"docs/a": "x\n", "secret/a": "secret\n"}, nil)
	for _, name := range []string{"read_file", "write_file", "edit", "list_files", "glob", "grep"} {
		link := filepath.Join(b.root, "link")
		_ = os.Remove(link)
		if err := os.Symlink("docs", link); err != nil {
			t.Fatal(err)
		}
		b.call("read_file", args{"path": "docs/a"})
		a := map[string]args{
			"read_file": {"path": "link/a"}, "write_file": {"path": "link/a", "content": "y"}, "edit": {"path": "link/a", "old_string": "x", "new_string": "y"},
			"list_files": {"path": "link"}, "glob": {"pattern": "*", "path": "link"}, "grep": {"pattern": "secret", "path": "link"},
		}[name]
		raw := arguments(t, a)
		plan, err := b.tool(name).Prepare(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if !realpath.Within(filepath.Join(b.root, "docs"), plan.Paths[0].Path) {
			t.Fatalf("%s: policy sees %s", name, plan.Paths[0].Path)
		}
		_ = os.Remove(link)
		if err := os.Symlink("secret", link); err != nil {
			t.Fatal(err)
		}
		r := b.tool(name).Run(t.Context(), loop.Invocation{Arguments: raw, Judged: plan})
		if !r.IsError || strings.Contains(r.Text, "secret\n") {
			t.Errorf("%s went through the swapped link: %s", name, r.Text)
		}
	}
	if b.text("secret/a") != "secret\n" {
		t.Error("the file behind the swapped link was written")
	}
}

func TestPathsAreResolvedBeforePolicyLooks(t *testing.T) {
	b := newBench(t, map[string]string{"docs/a": "x"}, nil)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"out": outside, "loop": "loop", "up": "..", "dangling": filepath.Join(outside, "new")} {
		if err := os.Symlink(target, filepath.Join(b.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"docs/../docs/a": filepath.Join(b.root, "docs/a"), "out/x": filepath.Join(outside, "x"), "out/../x": filepath.Join(filepath.Dir(outside), "x"),
		"up/x": filepath.Join(filepath.Dir(b.root), "x"), "dangling": filepath.Join(outside, "new"), "new/dir/f": filepath.Join(b.root, "new/dir/f"), "/": "/",
	} {
		plan, err := b.tool("write_file").Prepare(t.Context(), arguments(t, args{"path": path, "content": "x"}))
		if path == "docs/../docs/a" || path == "/" {
			continue // exists and was not read; a folder
		}
		if err != nil || plan.Paths[0].Path != want || !plan.Paths[0].Write {
			t.Errorf("write_file %s: policy sees %+v, %v, want %s", path, plan.Paths, err, want)
		}
	}
	if _, err := b.tool("read_file").Prepare(t.Context(), arguments(t, args{"path": "loop/x"})); err == nil {
		t.Error("an endless link was followed")
	}
	// Nobody judged this one: outside it does not run at all.
	r := b.tool("write_file").Run(t.Context(), loop.Invocation{Arguments: arguments(t, args{"path": outside + "/never", "content": "x"})})
	if !r.IsError || exists(filepath.Join(outside, "never")) {
		t.Errorf("an unjudged write left the workspace: %s", r.Text)
	}
}

func TestWriteFile(t *testing.T) {
	b := newBench(t, map[string]string{"crlf": "a\r\nb\r\n", "bom": "\xef\xbb\xbfx\n", "old": "x\n"}, nil)
	var changed []loop.FileEdit
	note := func(c *loop.Invocation) { c.Changed = func(e loop.FileEdit) { changed = append(changed, e) } }
	b.wants(b.callWith(t.Context(), "write_file", args{"path": "new/deep/f", "content": "hi"}, note), loop.CallOK, "created new/deep/f")
	if b.text("new/deep/f") != "hi" || len(changed) != 1 || !changed[0].Created || changed[0].Before != nil {
		t.Errorf("new/deep/f = %q, changed %+v", b.text("new/deep/f"), changed)
	}
	b.wants(b.call("write_file", args{"path": "old", "content": "y"}), loop.CallInvalid, "was not read")
	for name, want := range map[string]string{"crlf": "1\r\n2\r\n", "bom": "\xef\xbb\xbf1\n2\n", "old": "1\n2\n"} {
		b.call("read_file", args{"path": name})
		b.wants(b.call("write_file", args{"path": name, "content": "1\n2"}), loop.CallOK, "wrote "+name)
		if got := b.text(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	b.wants(b.call("edit", args{"path": "old", "old_string": "1", "new_string": "3"}), loop.CallOK)
	deny := newBench(t, map[string]string{"f": "x"}, func(o *Options) { o.Behavior.WriteExisting = "deny" })
	deny.call("read_file", args{"path": "f"})
	deny.wants(deny.call("write_file", args{"path": "f", "content": "y"}), loop.CallInvalid, "may not overwrite")
	free := newBench(t, map[string]string{"f": "x"}, func(o *Options) { o.Behavior.WriteExisting = "allow" })
	free.wants(free.call("write_file", args{"path": "f", "content": "y"}), loop.CallOK)
	if left, _ := filepath.Glob(filepath.Join(b.root, ".agent-ls-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDiskFollowsNoLink(t *testing.T) {
	b := newBench(t, map[string]string{"real/f": "x", "f": "x"}, nil)
	for link, target := range map[string]string{"dir": "real", "l": "f"} {
		if err := os.Symlink(target, filepath.Join(b.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	d := Disk(b.root)
	for _, name := range []string{"dir/f", "l"} {
		p := filepath.Join(b.root, name)
		if _, err := d.Read(t.Context(), p); err == nil {
			t.Errorf("Read(%s) followed a link", name)
		}
		if err := d.Write(t.Context(), p, []byte("x"), []byte("y")); err == nil {
			t.Errorf("Write(%s) followed a link", name)
		}
	}
	if err := d.Write(t.Context(), filepath.Join(b.root, "f"), []byte("other"), []byte("y")); !isChanged(err) {
		t.Errorf("Write over other bytes: %v, want ErrFileChanged", err)
	}
	if err := d.Write(t.Context(), filepath.Join(b.root, "f"), nil, []byte("y")); !isChanged(err) {
		t.Errorf("Write of a new file over an old one: %v, want ErrFileChanged", err)
	}
	if err := d.Write(t.Context(), filepath.Join(b.root, "gone"), []byte("x"), []byte("y")); !isChanged(err) {
		t.Errorf("Write of a file that is gone: %v, want ErrFileChanged", err)
	}
}

func TestHunksOfAnEdit(t *testing.T) {
	b := newBench(t, map[string]string{"f": "a\nb\nc\nd\ne\n"}, nil)
	b.call("read_file", args{"path": "f"})
	r := b.callWith(t.Context(), "write_file", args{"path": "f", "content": "A\nb\nc\nd\nE\n"}, func(c *loop.Invocation) { c.Hunks = []int{2} })
	b.wants(r, loop.CallOK, "refused hunk 1 of 2")
	if got := b.text("f"); got != "a\nb\nc\nd\nE\n" {
		t.Errorf("f = %q", got)
	}
	r = b.callWith(t.Context(), "edit", args{"path": "f", "old_string": "a", "new_string": "x"}, func(c *loop.Invocation) { c.Hunks = []int{} })
	b.wants(r, loop.CallOK, "as it was", "sha256:")
}

// desk is an editor with open documents.
type desk struct {
	loop.Files
	open map[string]string
}

func (d desk) Read(ctx context.Context, path string) (loop.FileText, error) {
	if text, ok := d.open[path]; ok {
		return loop.FileText{Bytes: []byte(text), Open: true, Unsaved: true}, nil
	}
	return d.Files.Read(ctx, path)
}

func (d desk) Open() map[string]bool {
	out := map[string]bool{}
	for p := range d.open {
		out[p] = true
	}
	return out
}

func TestSearchTools(t *testing.T) {
	files := map[string]string{
		".gitignore": "*.log\n/build/\n!keep.log\n", "a.go": "package a\n// needle one\n", "sub/b.go": "needle two\n", "x.log": "needle\n", "keep.log": "needle kept\n", "build/c.go": "needle\n",
		"sub/.gitignore": "local.txt\n", "sub/local.txt": "needle\n", ".git/config": "needle\n", "secret.txt": "needle secret\n", "bin": "needle\x00", ".hidden/h.go": "needle h\n", "open.go": "on disk needle\n",
	}
	for _, with := range []string{"ripgrep", "go"} {
		t.Run(with, func(t *testing.T) {
			if with == "go" {
				old := ripgrep
				ripgrep = func() string { return "" }
				defer func() { ripgrep = old }()
			}
			var d desk
			b := newBench(t, files, func(o *Options) {
				d = desk{Disk(o.Root), map[string]string{filepath.Join(o.Root, "open.go"): "in the editor: needle unsaved\n"}}
				o.Files = d
				o.Hide = func(p string) bool { return strings.HasSuffix(p, "secret.txt") }
			})
			r := b.call("grep", args{"pattern": "needle"})
			want := ".hidden/h.go\n     1: needle h\n\na.go\n     2: // needle one\n\nkeep.log\n     1: needle kept\n\nopen.go\n     1: in the editor: needle unsaved\n\nsub/b.go\n     1: needle two\n"
			if r.Text != want {
				t.Errorf("grep needle:\n%s\nwant\n%s", r.Text, want)
			}
			if r := b.call("grep", args{"pattern": "(?i)NEEDLE T", "glob": "*.go"}); r.Text != "sub/b.go\n     1: needle two\n" {
				t.Errorf("grep with glob: %s", r.Text)
			}
			if r := b.call("grep", args{"pattern": "needle", "path": "sub"}); r.Text != "sub/b.go\n     1: needle two\n" {
				t.Errorf("grep in sub: %s", r.Text)
			}
			b.wants(b.call("grep", args{"pattern": "needle", "limit": 2}), loop.CallOK, "more than 2 matches")
			b.wants(b.call("grep", args{"pattern": "nothing at all"}), loop.CallOK, "no match")
			b.wants(b.call("grep", args{"pattern": "("}), loop.CallInvalid, "not valid")
			b.wants(b.call("grep", args{"pattern": "x", "path": "nowhere"}), loop.CallError, "does not exist")
			b.wants(b.call("grep", args{"pattern": "--pre=evil"}), loop.CallOK, "no match")
		})
	}
	b := newBench(t, files, func(o *Options) { o.Hide = func(p string) bool { return strings.HasSuffix(p, "secret.txt") } })
	r := b.call("glob", args{"pattern": "*.go"})
	got := strings.Fields(r.Text)
	slices.Sort(got)
	if want := []string{".hidden/h.go", "a.go", "open.go", "sub/b.go"}; !slices.Equal(got, want) {
		t.Errorf("glob *.go = %v, want %v", got, want)
	}
	if r := b.call("glob", args{"pattern": "sub/**/*.go"}); r.Text != "sub/b.go\n" {
		t.Errorf("glob sub/**/*.go = %s", r.Text)
	}
	b.wants(b.call("glob", args{"pattern": "*/../../x"}), loop.CallInvalid, "..")
	b.wants(b.call("glob", args{"pattern": "*.rs"}), loop.CallOK, "no file matches")
	if r := b.call("list_files", args{}); r.Text != ".gitignore\n.hidden/\n  h.go\na.go\nbin\nkeep.log\nopen.go\nsub/\n  .gitignore\n  b.go\n" {
		t.Errorf("list_files:\n%s", r.Text)
	}
	b.wants(b.call("list_files", args{"path": "a.go"}), loop.CallError, "is a file")
	b.wants(b.call("read_file", args{"path": "secret.txt"}), loop.CallError, "may not be read")
}

func TestGlobSeesThePathItReads(t *testing.T) {
	b := newBench(t, nil, nil)
	plan, err := b.tool("glob").Prepare(t.Context(), arguments(t, args{"pattern": "/etc/*.conf"}))
	if err != nil || plan.Paths[0].Path != "/etc" {
		t.Errorf("glob /etc/*.conf: policy sees %+v, %v", plan.Paths, err)
	}
}

func TestShell(t *testing.T) {
	b := newBench(t, map[string]string{"f": "text\n"}, nil)
	b.wants(b.call("shell", args{"command": "echo hi"}), loop.CallOK, "hi\n")
	b.wants(b.call("shell", args{"command": "echo out; echo err >&2; exit 3"}), loop.CallError, "out", "err", "[exit status 3]")
	b.wants(b.call("shell", args{"command": "true"}), loop.CallOK, "(no output)")
	b.wants(b.call("shell", args{"command": "cat"}), loop.CallOK, "(no output)")
	b.wants(b.call("shell", args{"command": "echo started; sleep 60", "timeout_ms": 300}), loop.CallError, "stopped after 300ms", "started")
	b.wants(b.call("shell", args{"command": " "}), loop.CallInvalid, "empty")
	big := b.call("shell", args{"command": "echo first; seq 1 200000; echo last"})
	b.wants(big, loop.CallOK, "first\n", "\nlast\n", "bytes left out")
	if !big.Truncated || len(big.Text) > defaultOutput+200 {
		t.Errorf("%d bytes, truncated %v", len(big.Text), big.Truncated)
	}
	b.wants(b.call("edit", args{"path": "f", "old_string": "text", "new_string": "x"}), loop.CallInvalid, "was not read")
	b.call("shell", args{"command": "cat f"})
	b.wants(b.call("edit", args{"path": "f", "old_string": "text", "new_string": "x"}), loop.CallOK)
}

func TestShellCancel(t *testing.T) {
	b := newBench(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	shown := make(chan string, 100)
	done := make(chan loop.ToolResult, 1)
	go func() {
		done <- b.callWith(ctx, "shell", args{"command": "echo here; sleep 60 & setsid sleep 60; wait"}, func(c *loop.Invocation) {
			c.Output = func(tail string) { shown <- tail }
		})
	}()
	if tail := <-shown; tail != "here\n" {
		t.Errorf("shown %q", tail)
	}
	start := time.Now()
	cancel()
	b.wants(<-done, loop.CallCancelled, "here", "cancelled")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the cancel took %s", took)
	}
}

func TestShellPutsBackProtectedFiles(t *testing.T) {
	b := newBench(t, map[string]string{".agent-ls/agent.toml": "guard", "AGENTS.md": "x"}, nil)
	r := b.call("shell", args{"command": "echo evil > .agent-ls/agent.toml; rm AGENTS.md; echo evil > .envrc; true"})
	b.wants(r, loop.CallError, "only a person may allow that, so it was undone", ".envrc")
	if b.text(".agent-ls/agent.toml") != "guard" || b.text("AGENTS.md") != "x" || exists(filepath.Join(b.root, ".envrc")) {
		t.Error("it was not put back")
	}
	for _, yes := range []bool{true, false} {
		asked := newBench(t, nil, nil)
		r := asked.callWith(t.Context(), "shell", args{"command": "echo x > .envrc"}, func(c *loop.Invocation) {
			c.Confirm = func(_ context.Context, why string, edits []loop.FileEdit) bool {
				if !strings.Contains(why, "created .envrc") || len(edits) != 1 || string(edits[0].After) != "x\n" || exists(filepath.Join(asked.root, ".envrc")) {
					t.Errorf("asked %q about %+v", why, edits)
				}
				return yes
			}
		})
		if yes {
			asked.wants(r, loop.CallOK, "the user accepted")
		} else {
			asked.wants(r, loop.CallError, "it was not allowed, so it was undone: .envrc removed again")
		}
		if got := exists(filepath.Join(asked.root, ".envrc")); got != yes {
			t.Errorf("accepted %t: the file is there: %t", yes, got)
		}
	}
}

func TestShellSaysWhatItPutBack(t *testing.T) {
	b := newBench(t, map[string]string{"AGENTS.md": "x", ".agent-ls/agent.toml": "guard", "notes/n.md": "mine"}, nil)
	ago := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(b.root, "notes/n.md"), ago, ago); err != nil {
		t.Fatal(err)
	}
	r := b.call("shell", args{"command": "echo hi; rm AGENTS.md; mkdir -p n/.vscode; echo x > n/.vscode/a; mv notes .cursor; rm -r .agent-ls; true"})
	for _, want := range []string{"hi\n[the command ", "removed AGENTS.md", "so it was undone: ", "AGENTS.md put back", ".agent-ls put back", "n/.vscode removed again", ".cursor put aside as .cursor.put-aside"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("the text lacks %q:\n%s", want, r.Text)
		}
	}
	if strings.Contains(r.Text, "agent.toml") {
		t.Errorf("what is in a folder is named besides it:\n%s", r.Text)
	}
	if r.Outcome != loop.CallError || b.text("AGENTS.md") != "x" || b.text(".cursor.put-aside/n.md") != "mine" || exists(filepath.Join(b.root, "n/.vscode")) {
		t.Errorf("outcome %s, %v", r.Outcome, r)
	}
}

func TestInstructions(t *testing.T) {
	b := newBench(t, map[string]string{"AGENTS.md": "root rules\n", "CLAUDE.md": "not these\n", "sub/CLAUDE.md": "sub rules\n", "other/AGENTS.md": "other rules\n", "sub/deep/x.go": ""}, nil)
	text, files := Instructions(b.root)
	if !strings.Contains(text, "root rules") || strings.Contains(text, "not these") || len(files) != 1 {
		t.Errorf("Instructions = %q, %v", text, files)
	}
	text, files = Instructions(b.root, filepath.Join(b.root, "sub/deep/x.go"), "/elsewhere")
	if !strings.Contains(text, "sub rules") || strings.Contains(text, "other rules") || len(files) != 2 {
		t.Errorf("Instructions with work = %q, %v", text, files)
	}
	evil := newBench(t, nil, nil)
	if err := os.Symlink("/etc/passwd", filepath.Join(evil.root, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if text, files := Instructions(evil.root); text != "" || files != nil {
		t.Errorf("instructions from outside the workspace: %q, %v", text, files)
	}
}

func isChanged(err error) bool {
	return err != nil && strings.Contains(err.Error(), loop.ErrFileChanged.Error())
}

func TestMultiEditIsAllOrNothing(t *testing.T) {
	const before = "one\ntwo\nthree\n"
	edits := func(pairs ...string) []any {
		var out []any
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, map[string]any{"old_string": pairs[i], "new_string": pairs[i+1]})
		}
		return out
	}
	tests := map[string]struct {
		edits []any
		after string
		says  string
	}{
		"all fit":                  {edits("one", "1", "three", "3"), "1\ntwo\n3\n", "edited a.txt: 2 lines added, 2 removed"},
		"each sees the one before": {edits("one", "uno", "uno\ntwo", "both"), "both\nthree\n", "edited"},
		"the last does not fit":    {edits("one", "1", "four", "4"), before, "edit 2 of 2: old_string is not there"},
		"one is not unique":        {edits("two", "o", "o", "x"), before, "edit 2 of 2: old_string is there 2 times"},
		"one changes nothing":      {edits("one", "1", "two", "two"), before, "edit 2 of 2: old_string and new_string are the same"},
		"it comes to nothing":      {edits("one", "1", "1", "one"), before, "is as it was"},
		"none":                     {[]any{}, before, "edits"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"a.txt": before}, nil)
			b.call("read_file", args{"path": "a.txt"})
			r := b.call("multi_edit", args{"path": "a.txt", "edits": tt.edits})
			if got := b.text("a.txt"); got != tt.after || !strings.Contains(r.Text, tt.says) {
				t.Errorf("the file is %q, the result %q; want %q, %q", got, r.Text, tt.after, tt.says)
			}
		})
	}
	t.Run("not read", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.txt": before}, nil)
		b.wants(b.call("multi_edit", args{"path": "a.txt", "edits": edits("one", "1")}), loop.CallInvalid, "read_file it first")
	})
}

func TestTodos(t *testing.T) {
	b := newBench(t, nil, nil)
	var kept *loop.TodoList
	keep := func(c *loop.Invocation) {
		c.Todos, c.KeepTodos = kept, func(l *loop.TodoList) { kept = l }
	}
	call := func(name string, a args) loop.ToolResult { return b.callWith(context.Background(), name, a, keep) }
	if r := call("todoread", args{}); r.Text != "there are no tasks" {
		t.Errorf("at first: %q", r.Text)
	}
	list := args{"todos": []any{map[string]any{"content": "read", "status": "completed"}, map[string]any{"content": " write ", "status": "in_progress"}}}
	call("todowrite", list)
	if r := call("todoread", args{}); r.Text != "[x] read\n[>] write\n1 of 2 open" || kept.Open() != 1 {
		t.Errorf("then: %q", r.Text)
	}
	b.wants(call("todowrite", args{"todos": []any{map[string]any{"content": " ", "status": "pending"}}}), loop.CallInvalid, "task 1 is empty")
	b.wants(call("todowrite", args{"todos": []any{map[string]any{"content": "x", "status": "later"}}}), loop.CallInvalid, "status")
	if kept.Open() != 1 {
		t.Error("a list that does not fit was kept")
	}
	call("todowrite", args{"todos": []any{}})
	if kept.Items == nil || len(kept.Items) != 0 {
		t.Errorf("an empty list: %+v", kept)
	}
}

func TestImagesAreShown(t *testing.T) {
	var body bytes.Buffer
	if err := png.Encode(&body, image.NewGray(image.Rect(0, 0, 7, 3))); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, map[string]string{
		"a.png": body.String(), "b.bin": "\x00\x01\x02", "c.png": "no image", "d.webp": "RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00",
		"big.jpg": "\xff\xd8\xff" + strings.Repeat("x", maxImage),
	}, nil)
	r := b.call("read_file", args{"path": "a.png"})
	b.wants(r, loop.CallOK, "a.png: image/png, 7 by 3 pixels")
	if len(r.Images) != 1 || r.Images[0].MediaType != "image/png" || !bytes.Equal(r.Images[0].Data, body.Bytes()) {
		t.Errorf("images %+v", r.Images)
	}
	if r := b.call("read_file", args{"path": "d.webp"}); len(r.Images) != 1 || r.Images[0].MediaType != "image/webp" {
		t.Errorf("a webp: %+v", r)
	}
	b.wants(b.call("read_file", args{"path": "big.jpg"}), loop.CallError, "more than the 5242880 that can be shown")
	b.wants(b.call("read_file", args{"path": "b.bin"}), loop.CallError, "a binary file")
	b.wants(b.call("read_file", args{"path": "c.png"}), loop.CallOK, "no image")
}

// pointing is an editor that answers and keeps what it was asked.
type pointing struct {
	asked  []Navigation
	answer Navigated
	err    error
}

func (p *pointing) Diagnostics(context.Context, []string) ([]FileDiagnostics, error) {
	return nil, p.err
}

func (p *pointing) Navigate(_ context.Context, n Navigation) (Navigated, error) {
	p.asked = append(p.asked, n)
	return p.answer, p.err
}

func TestNavigationTools(t *testing.T) {
	files := map[string]string{"a.go": "package a\n\nfunc Add(add, x int) int { return add }\n", "b.go": "package a\n"}
	e := &pointing{}
	b := newBench(t, files, func(o *Options) { o.Editor = e })
	at := func(name string) string { return filepath.Join(b.root, name) }
	e.answer = Navigated{Places: []Place{{Path: at("b.go"), Line: 1, Column: 9}, {Path: "/usr/lib/x.go", Line: 7, Column: 1}}}
	b.wants(b.call("definition", args{"path": "a.go", "line": 3, "symbol": "add"}), loop.CallOK, "b.go:1:9: package a\n/usr/lib/x.go:7:1:")
	if n := e.asked[0]; n.Kind != Definition || n.Path != at("a.go") || n.Line != 3 || n.Column != 10 {
		t.Errorf("asked %+v", n)
	}
	b.wants(b.call("definition", args{"path": "a.go", "line": 2, "symbol": "add"}), loop.CallError, `line 2 of a.go has no "add" in it`)
	b.wants(b.call("definition", args{"path": "a.go", "line": 9, "symbol": "add"}), loop.CallError, "past its end")
	b.wants(b.call("symbols", args{}), loop.CallInvalid, "a path or a query")
	e.answer = Navigated{Places: []Place{{Path: at("a.go"), Line: 3, Name: "Add", Kind: "function"}}}
	b.wants(b.call("symbols", args{"query": "Ad"}), loop.CallOK, "function Add  a.go:3")
	e.answer = Navigated{}
	b.wants(b.call("references", args{"path": "a.go", "line": 3, "symbol": "Add"}), loop.CallOK, "know of none")
	e.err = ErrNotOffered
	b.wants(b.call("references", args{"path": "a.go", "line": 3, "symbol": "Add"}), loop.CallError, "does not let the agent use its language servers")
	b.wants(b.call("diagnostics", args{"path": "a.go"}), loop.CallError, "does not let the agent use its language servers")
	none := newBench(t, files, nil)
	none.wants(none.call("definition", args{"path": "a.go", "line": 3, "symbol": "Add"}), loop.CallError, "does not let the agent use its language servers")
}

// Names of symbols are content: a rule that denies reading a file keeps them.
func TestNavigationShowsNothingOfHiddenFiles(t *testing.T) {
	e := &pointing{}
	b := newBench(t, map[string]string{"a.go": "package a\n", "secret.go": "package a\n\nvar MasterKey = 1\n"}, func(o *Options) {
		o.Editor = e
		o.Hide = func(path string) bool { return filepath.Base(path) == "secret.go" }
	})
	for tool, a := range map[string]args{
		"symbols":    {"query": "Key"},
		"definition": {"path": "a.go", "line": 1, "symbol": "a"},
		"references": {"path": "a.go", "line": 1, "symbol": "a"},
	} {
		e.answer = Navigated{Places: []Place{
			{Path: filepath.Join(b.root, "secret.go"), Line: 3, Name: "MasterKey", Kind: "variable"},
			{Path: filepath.Join(b.root, "a.go"), Line: 1, Name: "KeyOfA", Kind: "variable"},
		}}
		got := b.call(tool, a)
		b.wants(got, loop.CallOK, "a.go:1")
		if strings.Contains(got.Text, "MasterKey") || strings.Contains(got.Text, "secret.go") {
			t.Errorf("%s shows %s", tool, got.Text)
		}
	}
	e.answer = Navigated{Places: []Place{{Path: "/elsewhere/x.go", Line: 1, Name: "KeyOfAnother", Kind: "variable"}}}
	b.wants(b.call("symbols", args{"query": "Key"}), loop.CallOK, "know of none")
}

// Taint follows what was shown, so each file of it is told of, once.
func TestNavigationTellsOfTheFilesThatItShows(t *testing.T) {
	e := &pointing{}
	b := newBench(t, map[string]string{"a.go": "package a\n\nvar Key = 1\n", "b.go": "package a\n", "c.go": "package a\n"}, func(o *Options) { o.Editor = e })
	at := func(name string) string { return filepath.Join(b.root, name) }
	e.answer = Navigated{Places: []Place{
		{Path: at("b.go"), Line: 1, Column: 1, Name: "b"}, {Path: at("a.go"), Line: 3, Column: 5, Name: "Key"}, {Path: at("b.go"), Line: 1, Column: 9, Name: "b"},
	}}
	for tool, a := range map[string]args{
		"definition": {"path": "c.go", "line": 1, "symbol": "a"},
		"references": {"path": "c.go", "line": 1, "symbol": "a"},
		"symbols":    {"query": "K"},
	} {
		var read []string
		b.wants(b.callWith(context.Background(), tool, a, func(c *loop.Invocation) {
			c.Read = func(path string) { read = append(read, filepath.Base(path)) }
		}), loop.CallOK)
		if !slices.Equal(read, []string{"b.go", "a.go"}) {
			t.Errorf("%s told of %v", tool, read)
		}
	}
}

func TestRenameWritesWhatWasJudged(t *testing.T) {
	files := map[string]string{"a.go": "x := 1\n", "b.go": "y(x)\n"}
	e := &pointing{}
	b := newBench(t, files, func(o *Options) { o.Editor = e })
	edit := func(name, before, after string) loop.FileEdit {
		return loop.FileEdit{Path: filepath.Join(b.root, name), Before: []byte(before), After: []byte(after)}
	}
	both := []loop.FileEdit{edit("b.go", "y(x)\n", "y(z)\n"), edit("a.go", "x := 1\n", "z := 1\n")}
	e.answer = Navigated{Edits: slices.Clone(both)}
	ask := arguments(t, args{"path": "a.go", "line": 1, "symbol": "x", "new_name": "z"})
	rename := b.tool("rename")
	plan, err := rename.Prepare(context.Background(), ask)
	if err != nil || len(plan.Edits) != 2 || plan.Effect != loop.Write || len(plan.Paths) != 2 || !plan.Paths[0].Write {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	e.answer = Navigated{Edits: []loop.FileEdit{edit("a.go", "x := 1\n", "evil\n")}}
	if r := rename.Run(context.Background(), loop.Invocation{Arguments: ask, Judged: loop.Plan{Paths: plan.Paths}}); !strings.Contains(r.Text, "was not judged") || b.text("a.go") != "x := 1\n" {
		t.Errorf("a plan without edits: %q", r.Text)
	}
	if r := rename.Run(context.Background(), loop.Invocation{Arguments: ask, Judged: plan}); !strings.Contains(r.Text, "is not what it was when it was judged") || b.text("a.go") != "x := 1\n" {
		t.Errorf("another edit: %q", r.Text)
	}
	e.answer = Navigated{Edits: slices.Clone(both)}
	var changed []string
	r := rename.Run(context.Background(), loop.Invocation{Arguments: ask, Judged: plan, Changed: func(f loop.FileEdit) { changed = append(changed, filepath.Base(f.Path)) }})
	if r.IsError || b.text("a.go") != "z := 1\n" || b.text("b.go") != "y(z)\n" || len(changed) != 2 {
		t.Errorf("renamed: %q, changed %v", r.Text, changed)
	}
	e.answer = Navigated{Edits: []loop.FileEdit{{Path: "/etc/passwd", Before: []byte("x"), After: []byte("y")}}}
	b.wants(b.call("rename", args{"path": "a.go", "line": 1, "symbol": "z", "new_name": "w"}), loop.CallError, "outside the workspace")
}
