package hooks_test

import (
	"context"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
)

const recordedScript = "// recorded\nfunc on_tool_call(ctx) { return nil }\n"

// recorded is a decision of recordedScript that took some microseconds.
func recorded(runID string, us int64) hooks.Decision {
	return hooks.Decision{RunID: runID, Function: "on_tool_call", Action: "allow", DurationUs: us,
		Hook: hooks.Source{At: &hooks.Location{Path: "/w/a.risor"}, Digest: hooks.Digest([]byte(recordedScript))}}
}

func TestSlowFindings(t *testing.T) {
	some := func(slow, fast int) (out []hooks.Decision) {
		for range slow {
			out = append(out, recorded("r", 20_000))
		}
		for range fast {
			out = append(out, recorded("r", 100))
		}
		return out
	}
	for _, tc := range []struct {
		name       string
		slow, fast int
		want       bool
	}{
		{"none", 0, 0, false},
		{"one alone may have compiled it", 1, 0, false},
		{"one of ten", 1, 9, false},
		{"two of ten", 2, 8, true},
		{"ten of two hundred", 10, 190, false},
		{"eleven of two hundred", 11, 189, true},
	} {
		got := hooks.SlowFindings("/w/a.risor", []byte(recordedScript), some(tc.slow, tc.fast))
		if (len(got) == 1) != tc.want {
			t.Errorf("%s: %+v", tc.name, got)
		}
		for _, f := range got {
			if f.Code != check.CodeSlow || recordedScript[f.Span.Start:f.Span.End] != "on_tool_call" || !strings.Contains(f.Message, "20ms") {
				t.Errorf("%s: %+v", tc.name, f)
			}
		}
	}
	if got := hooks.SlowFindings("/w/a.risor", []byte(recordedScript+"\n"), some(9, 0)); len(got) != 0 {
		t.Errorf("of another text: %+v", got)
	}
}

func TestRecordedFailures(t *testing.T) {
	bad := recorded("r1", 10)
	bad.Hook.At = &hooks.Location{Path: "/w/a.risor", Start: hooks.Position{Offset: 12, Line: 2, Column: 1}, End: hooks.Position{Offset: 16}}
	bad.Error = &hooks.Failure{Message: "/w/a.risor:2:1: boom", At: bad.Hook.At}
	got := hooks.RecordedFindings("/w/a.risor", []byte(recordedScript), []hooks.Decision{bad, recorded("r1", 10)})
	if len(got) != 1 || got[0].Code != check.CodeFailedAtRunTime || got[0].Message != "failed in its last run: boom" || got[0].Span != (check.Span{Start: 12, End: 16}) {
		t.Errorf("findings %+v", got)
	}
	if got := hooks.RecordedFindings("/w/a.risor", []byte(recordedScript), []hooks.Decision{bad, recorded("r2", 10)}); len(got) != 0 {
		t.Errorf("the last run did not fail: %+v", got)
	}
}

// A decision names the text that its place is in, also of an imported file.
func TestDigestIsOfTheFileThatDecided(t *testing.T) {
	e := newEngine(t, hooks.Options{})
	d := on("on_tool_call", "main.risor", "import other\nfunc on_tool_call(ctx) { return other.judge(ctx) }")
	other := "func judge(ctx) { return ctx.tool_calls[77] }"
	d.Siblings = map[string][]byte{path("other.risor"): []byte(other)}
	got := load(t, e, hooks.Limits{}, d).Fire(context.Background(), batch()).Decisions[0]
	if got.Hook.At.Path != path("other.risor") || got.Hook.Digest != hooks.Digest([]byte(other)) {
		t.Errorf("failed at %+v of the text %s: %+v", got.Hook.At, got.Hook.Digest, got.Error)
	}
}
