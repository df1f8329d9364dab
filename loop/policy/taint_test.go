package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

// tainted are rules with labels and clearances: "secrets/**=private" and
// "shell=public".
func (s scene) tainted(t *testing.T, labels, clearance string) *Rules {
	t.Helper()
	config := manifest.Taint{Enabled: true, Bounds: []map[string]string{{}}}
	for one := range strings.FieldsSeq(labels) {
		glob, level, _ := strings.Cut(one, "=")
		config.Labels = append(config.Labels, manifest.Label{Glob: glob, Level: level})
	}
	for one := range strings.FieldsSeq(clearance) {
		tool, level, _ := strings.Cut(one, "=")
		config.Bounds[0][tool] = level
	}
	p := manifest.Policy{Default: "allow"}
	p.Rules = []manifest.Rule{{Verdict: "allow", Text: "shell", Origin: manifest.Origin{Layer: "user"}}}
	r, found := New(s.root, p, Options{Home: s.home, StateDir: s.state, Path: s.bin, Taint: config})
	if len(found) > 0 {
		t.Fatal(found)
	}
	return r
}

func TestClearances(t *testing.T) {
	s := newScene(t)
	r := s.tainted(t, "secrets/**=private docs/**=internal", "shell=public web_fetch=public grep=internal mcp__*=internal")
	for _, tt := range []struct {
		tool    string
		context loop.Label
		want    string
	}{
		{"web_fetch", loop.NoLabel, "allow"},
		{"web_fetch", loop.Public, "allow"},
		{"web_fetch", loop.Internal, "must"},
		{"web_fetch", loop.Private, "must"},
		{"grep", loop.Internal, "allow"},
		{"grep", loop.Private, "must"},
		{"read_file", loop.Private, "allow"}, // nothing is said of it
		{"mcp__files__read", loop.Internal, "allow"},
		{"mcp__files__read", loop.Private, "must"},
		{"shell", loop.Internal, "must"},
		{loop.NextStageTool, loop.Private, "allow"},
	} {
		for _, mode := range []loop.Mode{loop.ModeAsk, loop.ModeAuto} {
			req := Request{Tool: tt.tool, Mode: mode, SandboxInForce: true, Taint: tt.context, Plan: loop.Plan{Effect: loop.Read}}
			if tt.tool == "shell" {
				req.Plan = loop.Plan{Effect: loop.Execute, Command: &loop.CommandPlan{Line: "ls", Dir: s.root}}
			}
			j := r.Judge(req)
			if got := answerOf(j); got != tt.want {
				t.Errorf("%s with %q in the context, mode %s: %s, want %s\n\t%s", tt.tool, tt.context, mode, got, tt.want, because(j))
			}
			if tt.want == "must" && (j.Session != "" || j.Always != "") {
				t.Errorf("%s with %q in the context offers a lasting grant", tt.tool, tt.context)
			}
		}
	}
}

func TestLabelsOfPaths(t *testing.T) {
	s := newScene(t)
	r := s.tainted(t, "secrets/**=private *.pem=internal docs/**=public ~/notes/**=internal", "")
	for path, want := range map[string]loop.Label{
		"main.go": loop.NoLabel, "secrets/key": loop.Private, "SECRETS/KEY": loop.Private, "secrets": loop.Private,
		"sub/a.pem": loop.Internal, "secrets/a.pem": loop.Private, "docs/a.md": loop.Public, "notes/x": loop.NoLabel,
	} {
		if got := r.LabelOf(filepath.Join(s.root, path)); got != want {
			t.Errorf("LabelOf(%s) = %q, want %q", path, got, want)
		}
	}
	if got := r.LabelOf(filepath.Join(s.home, "notes", "x")); got != loop.Internal {
		t.Errorf("LabelOf(~/notes/x) = %q, want internal", got)
	}
}

func TestLabelsOfCommands(t *testing.T) {
	s := newScene(t)
	free := s.tainted(t, "secrets/**=private docs/**=internal", "")
	for line, want := range map[string]loop.Label{
		"ls":                             loop.NoLabel,
		"cat main.go":                    loop.NoLabel,
		"cat main.go | grep x":           loop.NoLabel,
		"git status && ls -la":           loop.NoLabel,
		"cat secrets/key":                loop.Private,
		"cd secrets && cat key":          loop.Private,
		"cat main.go; head -1 secrets/*": loop.Private,
		"grep -r x .":                    loop.Private,
		"cat tree/docs/a.md":             loop.NoLabel,
		"cat < docs/a.md":                loop.Internal,
		"go test ./...":                  loop.Private, // it may read anything
		"python3 tool.py":                loop.Private,
		"git diff":                       loop.Private,
		"cat $F":                         loop.Private,
		"$CMD":                           loop.Private,
		"sed 'r secrets/key' main.go":    loop.Private,
		"find . -name x -exec cat {} +":  loop.Private,
		"sh -c 'cat main.go'":            loop.Private, // not known to read only that
		"cat /etc/hostname":              loop.NoLabel,
	} {
		if got := free.CommandLabel(line, s.root); got != want {
			t.Errorf("CommandLabel(%q) = %q, want %q", line, got, want)
		}
	}
	// What is above the clearance of commands is kept from them.
	bound := s.tainted(t, "secrets/**=private docs/**=internal", "shell=internal")
	for line, want := range map[string]loop.Label{"go test ./...": loop.Internal, "cat docs/a.md": loop.Internal, "ls": loop.NoLabel} {
		if got := bound.CommandLabel(line, s.root); got != want {
			t.Errorf("cleared for internal: CommandLabel(%q) = %q, want %q", line, got, want)
		}
	}
	for line, want := range map[string]string{"cat secrets/key": "deny", "cat docs/a.md": "allow", "go version": "allow", "tar cf - .": "must", "head -1 secrets/*": "must"} {
		if j := s.judge(bound, line, nil); answerOf(j) != want {
			t.Errorf("cleared for internal: %q = %s, want %s\n\t%s", line, answerOf(j), want, because(j))
		}
	}
	if !bound.ForCommands().Unreadable(filepath.Join(s.root, "secrets", "key")) || bound.Unreadable(filepath.Join(s.root, "secrets", "key")) {
		t.Error("a file above the clearance of commands is to be kept from commands, and from nothing else")
	}
	// Nothing that has a label is there.
	none := s.tainted(t, "nowhere/**=private", "")
	if got := none.CommandLabel("go test ./...", s.root); got != loop.NoLabel {
		t.Errorf("with no labelled file: %q", got)
	}
}

func TestABrokenLabelKeepsRunsFromStarting(t *testing.T) {
	_, found := New(t.TempDir(), manifest.Policy{}, Options{Taint: manifest.Taint{Labels: []manifest.Label{{Glob: "a[", Level: "private"}}}})
	if len(found) != 1 || found[0].Severity.String() != "error" {
		t.Errorf("findings %v, want an error", found)
	}
}
