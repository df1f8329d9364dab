package rehearsal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-ls/hooks/check"
	"agent-ls/loop"
)

const whole = `# a script with everything
turns:
  - text: "I look at the test first."
    thinking: hm
    tool_calls:
      - { name: read_file, arguments: { path: "calc_test.go", limit: 3, deep: [1, 2.5, true, null, "x"] } }
      - name: shell
        arguments:
          command: |
            go test ./...
            echo done
  - expect: "want 4"
    text: plain words
    usage: { input: 1200, output: 40, cache_read: 1000, cache_write: 7 }
    delay_ms: 20
    chunks: 3
    repeat: 2
  - error: { status: 429, retry_after: 1.5, body: "slow down" }
  - cut_after: 0
    text: gone
    when: { depth: 1, agent: "reviewer", contains: "diff" }
summaries: ["it was short", 3]
decisions:
  - { answer: yes, why: "because" }
context_window: 1000
`

func TestParse(t *testing.T) {
	s, findings := Parse("s.yaml", []byte(whole))
	if s == nil {
		t.Fatal(findings)
	}
	one := 1
	want := []Turn{
		{Text: "I look at the test first.", Thinking: "hm", Chunks: 1, Repeat: 1, Line: 3, Calls: []Call{
			{"read_file", []byte(`{"path":"calc_test.go","limit":3,"deep":[1,2.5,true,null,"x"]}`)},
			{"shell", []byte(`{"command":"go test ./...\necho done\n"}`)},
		}},
		{Text: "plain words", Usage: &loop.Usage{Input: 1200, Output: 40, CacheRead: 1000, CacheWrite: 7}, Delay: 20 * time.Millisecond, Chunks: 3, Repeat: 2, Line: 12},
		{Error: &Failure{429, 1500 * time.Millisecond, "slow down"}, Chunks: 1, Repeat: 1, Line: 18},
		{Text: "gone", Cut: true, When: When{&one, "reviewer", "diff"}, Chunks: 1, Repeat: 1, Line: 19},
	}
	if got := s.Turns[1].Expect.String(); got != "want 4" {
		t.Errorf("expect = %q", got)
	}
	for i := range s.Turns {
		s.Turns[i].Expect, s.Turns[i].At = nil, check.Span{}
	}
	if diff := cmp.Diff(want, s.Turns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"it was short", "3"}, s.Summaries); diff != "" {
		t.Error(diff)
	}
	if len(s.Decisions) != 1 || string(s.Decisions[0]) != `{"answer":"yes","why":"because"}` || s.ContextWindow != 1000 {
		t.Errorf("decisions = %s, window = %d", s.Decisions, s.ContextWindow)
	}
}

func TestJSONIsAScriptToo(t *testing.T) {
	s, findings := Parse("s.json", []byte(`{"turns": [{"text": "a", "tool_calls": [{"name": "grep", "arguments": {"pattern": "x\ty"}}]}]}`))
	if s == nil || len(s.Turns) != 1 || string(s.Turns[0].Calls[0].Arguments) != `{"pattern":"x\ty"}` {
		t.Fatalf("%+v %v", s, findings)
	}
}

func TestMistakesAreAtTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"turns:\n  - txt: a": `unknown-key "txt" unknown key "txt" in a turn; did you mean "text"?`,
		"turn: []":           `unknown-key "turn" unknown key "turn" in the script; did you mean "turns"?`,
		"turns: 3":           `wrong-type "3" turns must be a list`,
		"turns:\n  - a":      `wrong-type "a" a turn must be a mapping`,
		"turns:\n  - { text: \"😀\", chunks: 0 }":                `wrong-type "0" chunks must be an integer from 1 to 100000`,
		"turns:\r\n  - text: x\r\n    repeat: often\r\n":        `wrong-type "often" repeat must be an integer from 1 to 1000000`,
		"turns:\n  - expect: \"a(\"":                            `wrong-type "\"a(\"" expect is no regular expression: error parsing regexp: missing closing ): ` + "`a(`",
		"turns:\n  - tool_calls:\n      - { arguments: {} }":    `wrong-type "{" a tool call needs a name`,
		"turns:\n  - tool_calls: [{ name: a, arguments: [1] }]": `wrong-type "[" arguments must be a mapping`,
		"turns:\n  - error: { status: 200 }":                    `wrong-type "200" status must be an integer from 400 to 599`,
		"turns:\n  - when: { dept: 1 }":                         `unknown-key "dept" unknown key "dept" in when; did you mean "depth"?`,
		"turns:\n  - usage: { input: -1 }":                      `wrong-type "-1" usage.input must be an integer from 0 to 2147483647`,
		"turns:\n  - tool_calls: [{ name: a, arguments: *x }]":  ``,
		"turns: [":                              `manifest-syntax`,
		"a: &a [*a]\n":                          `unknown-key`,
		"--- \nturns: []\n---\nturns: []\n":     `manifest-syntax "turns" a script is one document`,
		"turns:\n  - text: a\n    text: b\n":    `manifest-syntax`,
		"x: " + strings.Repeat("[", 6000):       `manifest-syntax "" values are nested too deep`,
		"turns:\n" + strings.Repeat("- ", 6000): `manifest-syntax "" values are nested too deep`,
		"turns:\n - tool_calls: [{name: a, arguments: {x: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}}]": `wrong-type "[" arguments must be nested at most 64 deep`,
	} {
		s, findings := Parse("s.yaml", []byte(text))
		if s != nil || len(findings) == 0 {
			t.Errorf("Parse(%.80q) has no finding", text)
			continue
		}
		f := findings[0]
		got := fmt.Sprintf("%s %q %s", f.Code, text[f.Span.Start:f.Span.End], f.Message)
		if !strings.HasPrefix(got, want) {
			t.Errorf("Parse(%.80q) = %s, want %s", text, got, want)
		}
	}
}

func TestAnEmptyScriptHasNoTurns(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "turns: []", "turns:\n"} {
		if s, findings := Parse("s.yaml", []byte(text)); s == nil || len(s.Turns) != 0 {
			t.Errorf("Parse(%q) = %v, %v", text, s, findings)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{whole, "", "turns: [", "? a\n: b", "{", "- - - -", "a: |\n  b\n c", "\t", "turns:\n- text: \"\\u00", "!!x &a *a", "\xff", "a: b: c", "turns: &x\n- <<: *x\n", "'", "\uFEFFturns: []"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 5000 {
			return
		}
		s, findings := Parse("s.yaml", []byte(text))
		if (s == nil) != (len(findings) > 0) {
			t.Fatalf("script %v with findings %v", s, findings)
		}
		for _, found := range findings {
			if found.Span.Start < 0 || found.Span.End > len(text) || found.Span.Start > found.Span.End {
				t.Fatalf("finding %v outside the text of %d bytes", found, len(text))
			}
		}
	})
}

// docs/rehearsal.md has a word on each key that a script may have.
func TestEveryKeyIsDocumented(t *testing.T) {
	source, err := os.ReadFile("parse.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "rehearsal.md"))
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`(?:\{|count\()"([a-z_]+)", (?:func|&u)`).FindAllSubmatch(source, -1)
	if len(keys) < 20 {
		t.Fatalf("only %d keys are found in parse.go", len(keys))
	}
	for _, k := range keys {
		if !bytes.Contains(page, []byte("`"+string(k[1])+"`")) {
			t.Errorf("docs/rehearsal.md does not name %s", k[1])
		}
	}
}
