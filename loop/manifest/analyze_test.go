package manifest

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// analyzed makes an Analysis of a text with one cursor, written ‸.
func analyzed(t *testing.T, text string) (*Analysis, int) {
	t.Helper()
	s := workspace(t, everything)
	offset := strings.Index(text, "‸")
	if offset < 0 {
		t.Fatalf("no cursor in %q", text)
	}
	text = strings.Replace(text, "‸", "", 1)
	return Analyze(context.Background(), filepath.Join(s.Root, ".agent-ls", "agent.toml"), []byte(text), s), offset
}

func TestComplete(t *testing.T) {
	stages := "[stages.plan]\n[stages.build]\n"
	for _, c := range []struct{ text, label, after string }{
		{"[agent]\nmo‸\n", "model", "[agent]\nmodel = \n"},
		{"[agent]\n‸\n", "entry", "[agent]\nentry = \n"},
		{"[agent]\nna‸ = \"x\"\n", "name", "[agent]\nname = \"x\"\n"},
		{"[agent]\nmodel = ‸\n", "claude", "[agent]\nmodel = \"claude\"\n"},
		{"[agent]\nmodel = \"lo‸\n", "local", "[agent]\nmodel = \"local\"\n"},
		{"[agent]\nmodel = \"lo‸cxx\" # why\n", "local", "[agent]\nmodel = \"local\" # why\n"},
		{"[beh‸]\n", "behavior", "[behavior]\n"},
		{"[‸\n[agent]\n", "sandbox", "[sandbox\n[agent]\n"},
		{stages + "[stages.plan.ho‸]\n", "hooks", stages + "[stages.plan.hooks]\n"},
		{stages + "[stages.pl‸]\n", "plan", stages + "[stages.plan]\n"},
		{"[stages.plan.hooks]\non_t‸\n", "on_tool_call", "[stages.plan.hooks]\non_tool_call = \n"},
		{"[stages.plan.hooks]\non_error = \"‸\"\n", "hooks/guard.risor", "[stages.plan.hooks]\non_error = \"hooks/guard.risor\"\n"},
		{"[stages.plan]\nprompt = ‸", "prompts/plan.md", "[stages.plan]\nprompt = \"prompts/plan.md\""},
		{"[models.rehearsal]\nscript = '‸'", "rehearsal/fix.yaml", "[models.rehearsal]\nscript = 'rehearsal/fix.yaml'"},
		{stages + "[stages.x]\nnext = \"‸\"", "build", stages + "[stages.x]\nnext = \"build\""},
		{stages + "[stages.plan.transitions]\n‸", "build", stages + "[stages.plan.transitions]\nbuild = "},
		{"[stages.plan.transitions]\nplan = { o‸ }", "on", "[stages.plan.transitions]\nplan = { on =  }"},
		{"[stages.plan.transitions]\nplan = { on = ‸ }", "model_choice", "[stages.plan.transitions]\nplan = { on = \"model_choice\" }"},
		{"[stages.plan.transitions]\nplan = { on = \"error\", max‸ }", "max_visits", "[stages.plan.transitions]\nplan = { on = \"error\", max_visits =  }"},
		{"[stages.plan]\ntools = [\"grep\", \"re‸\"]", "read_file", "[stages.plan]\ntools = [\"grep\", \"read_file\"]"},
		{"[stages.plan]\ntools = [\n  \"grep\",\n  ‸\n]", "shell", "[stages.plan]\ntools = [\n  \"grep\",\n  \"shell\"\n]"},
		{"[stages.plan]\ntools = ‸", "shell", "[stages.plan]\ntools = [\"shell\"]"},
		{"[behavior]\nauto_compact = ‸", "false", "[behavior]\nauto_compact = false"},
		{"[behavior]\nmax_retries = ‸", "2", "[behavior]\nmax_retries = 2"},
		{"[policy]\ndeny = [\"sh‸\"]", "shell", "[policy]\ndeny = [\"shell\"]"},
		{"[[hook]]\nevent = \"x\"\n\n[[hook]]\ne‸", "event", "[[hook]]\nevent = \"x\"\n\n[[hook]]\nevent = "},
		{"agent.mo‸", "model", "agent.model = "},
	} {
		a, offset := analyzed(t, c.text)
		items := a.Complete(offset)
		i := slices.IndexFunc(items, func(item Completion) bool { return item.Label == c.label })
		if i < 0 {
			var labels []string
			for _, item := range items {
				labels = append(labels, item.Label)
			}
			t.Errorf("Complete(%q) has no %s: %v", c.text, c.label, labels)
			continue
		}
		text := strings.Replace(c.text, "‸", "", 1)
		e := items[i].Edit
		if got := text[:e.Span.Start] + e.NewText + text[e.Span.End:]; got != c.after {
			t.Errorf("Complete(%q), %s gives %q, want %q", c.text, c.label, got, c.after)
		}
	}
}

func TestCompleteLeavesOutWhatIsThere(t *testing.T) {
	for _, text := range []string{"[agent]\nname = \"x\"\n‸", "# comment ‸", "[agent]\nname = \"x\" # na‸"} {
		a, offset := analyzed(t, text)
		for _, item := range a.Complete(offset) {
			if item.Label == "name" {
				t.Errorf("Complete(%q) offers name", text)
			}
		}
	}
}

func TestDefinition(t *testing.T) {
	for _, c := range []struct{ text, file, at string }{
		{"[stages.a]\nnext = \"b‸\"\n[stages.b]", "agent.toml", "b]"},
		{"[agent]\nentry = \"‸b\"\n[stages.a]\n[stages.b]", "agent.toml", "b]"},
		{"[stages.a.transitions]\n‸b = { on = \"error\" }\n[stages.b]", "agent.toml", "b]"},
		{"[stages.a.hooks]\non_stage_enter = \"hooks/gu‸ard.risor\"", "guard.risor", "on_stage_enter(ctx)"},
		{"[stages.a]\nprompt = \"prompts‸/plan.md\"", "plan.md", ""},
		{"[agent]\nmodel = \"loc‸al\"", "config.toml", "local]"},
		{"[stages.a.regions]\nn = { seed = \"file:NOTES‸.md\" }", "NOTES.md", ""},
		{"[behavior]\ndedup_tools = { todowrite = \"hooks/guard‸.risor\" }", "guard.risor", "dedup_key(input)"},
	} {
		a, offset := analyzed(t, c.text)
		targets, _ := a.Definition(offset)
		if len(targets) != 1 || filepath.Base(targets[0].Path) != c.file {
			t.Errorf("Definition(%q) = %v, want %s", c.text, targets, c.file)
			continue
		}
		var text []byte
		if c.file == "agent.toml" {
			text = []byte(strings.Replace(c.text, "‸", "", 1))
		} else {
			text, _ = a.loader.sources.read(targets[0].Path)
		}
		if got := string(text[targets[0].Span.Start:]); !strings.HasPrefix(got, c.at) {
			t.Errorf("Definition(%q) leads to %.20q, want %q", c.text, got, c.at)
		}
	}
}

func TestHover(t *testing.T) {
	for text, want := range map[string]string{
		"[stages.a]\nmax_t‸urns = 3":                   "**stages.*.max_turns** (an integer, default `50`)",
		"[beha‸vior]":                                  "Budgets, dedup and guards",
		"[agent]\nmodel = \"cla‸ude\"":                 "model **claude**: anthropic `claude-sonnet-4-5` (user)",
		"[stages.a]\nnext = \"a‸\"":                    "stage **a**, line 1",
		"[stages.a.hooks]\non_tool_‸call = \"x\"":      "The script's function is `on_tool_call(ctx)`",
		"[hooks.limits]\noperations = 5‸":              "a workspace only stricter",
		"[behavior]\nwrite_existing = \"de‸ny\"":       "What write_file may do",
		"[behavior]\nrepeat_guard = { blo‸ck = 3 }":    "refused",
		"[taint]\nena‸bled = true":                     "held to their clearances",
		"[[hook]]\ncomm‸and = \"x\"\nevent = \"stop\"": "sh -c",
	} {
		a, offset := analyzed(t, text)
		h, ok := a.Hover(offset)
		if !ok || !strings.Contains(h.Markdown, want) {
			t.Errorf("Hover(%q) = %q, want %q", text, h.Markdown, want)
		}
	}
	a, offset := analyzed(t, "[nothing]\nkno‸wn = 1")
	if h, ok := a.Hover(offset); ok {
		t.Errorf("Hover of an unknown key = %q", h.Markdown)
	}
}

func TestSymbols(t *testing.T) {
	a, _ := analyzed(t, "[agent]\nname = \"x\"\n[stages.a]\ntools = [\"grep\"]\n[stages.a.hooks]\non_error = \"e\"\n[[hook]]\nevent = \"stop\"\n‸")
	var got []string
	var walk func(list []Symbol, indent string, outer Symbol)
	walk = func(list []Symbol, indent string, outer Symbol) {
		for _, s := range list {
			got = append(got, indent+s.Name+" "+s.Detail)
			if s.NameSpan.Start < s.Span.Start || s.NameSpan.End > s.Span.End {
				t.Errorf("%s: name %v outside %v", s.Name, s.NameSpan, s.Span)
			}
			if outer.Name != "" && (s.Span.Start < outer.Span.Start || s.Span.End > outer.Span.End) {
				t.Errorf("%s: %v outside its parent's %v", s.Name, s.Span, outer.Span)
			}
			walk(s.Children, indent+" ", s)
		}
	}
	walk(a.Symbols(), "", Symbol{})
	want := []string{"agent ", " name x", "stages ", " a ", "  tools grep", "  hooks ", "   on_error e", "hook 1 stop", " event stop"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever stands in the editor: nothing panics, everything lies inside the
// text, and what an item would insert keeps to its own place.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		everything, "", "[", "[[", "[a.", "a", "a=", "a = [", "a = {", "a = { b", "\"", "a = \"\"\"x", "[agent]\nname = 3", "\uFEFF[agent]\r\nname = \"x\"\r",
		"[[hook]]\nenv = { A = \"b\" }", "a.b.c = 1\n[a.b]\n", "[stages.\"x\\u0041\"]\n", "a = 1979-05-27T07:32:00Z", "a = [[[[[]]]]]", "[stages]\n[stages]\n\x00", "\xff\xfe",
		"[behavior]\nrepeat_guard = [1]\ntool_budgets = { x = { max = 1e400 } }\n", "a = 'x\nb = 1", "[hooks]\nx = [\"a\", [\"b\"]]", "# \x01\n[agent]",
	} {
		f.Add(seed)
	}
	s := workspace(f, everything)
	path := filepath.Join(s.Root, ".agent-ls", "agent.toml")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		a := Analyze(context.Background(), path, []byte(text), s)
		for _, found := range a.Findings {
			if found.Span.Start < 0 || found.Span.End < found.Span.Start || found.Span.End > len(text) {
				t.Fatalf("finding %v outside the text of %d bytes", found, len(text))
			}
		}
		for offset := 0; offset <= len(text); offset += 1 + len(text)/16 {
			for _, item := range a.Complete(offset) {
				if e := item.Edit; e.Span.Start < 0 || e.Span.End > len(text) || e.Span.Start > offset || e.Span.End < offset && e.Span.End != e.Span.Start {
					t.Fatalf("completion %v at %d", item, offset)
				}
			}
			_, _ = a.Hover(offset)
			_, _ = a.Definition(offset)
		}
		a.Symbols()
	})
}
