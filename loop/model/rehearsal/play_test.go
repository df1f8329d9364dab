package rehearsal

import (
	"fmt"
	"strings"
	"testing"

	"agent-ls/loop"
)

func script(t *testing.T, text string) *Script {
	t.Helper()
	s, findings := Parse("s.yaml", []byte(text))
	if s == nil {
		t.Fatal(findings)
	}
	return s
}

// drive plays a script as the driver does: failures are tried again, answers
// go into the history. restart makes a new Play before each attempt.
func drive(t *testing.T, s *Script, prompts []string, restart bool) []string {
	t.Helper()
	p := NewPlay(s)
	req := loop.ModelRequest{Agent: "coder"}
	var got []string
	for _, prompt := range prompts {
		req.Messages = append(req.Messages, loop.Message{Role: loop.User, Blocks: []loop.Block{{Kind: loop.TextBlock, Text: prompt}}})
		for attempt := 0; ; attempt++ {
			if attempt == 0 && restart {
				p = NewPlay(s)
			}
			c, err := p.Next(req)
			if err != nil {
				return append(got, err.Error())
			}
			c.Done(c.fails())
			if c.fails() {
				got = append(got, fmt.Sprintf("fail %d", c.Number))
				continue
			}
			got = append(got, c.Text)
			req.Turn++
			req.Messages = append(req.Messages, loop.Message{Role: loop.Assistant, Blocks: []loop.Block{{Kind: loop.TextBlock, Text: c.Text}}})
			break
		}
	}
	return got
}

func TestTurnsFollowFromTheRequestAlone(t *testing.T) {
	for name, c := range map[string]struct{ script, prompts, want string }{
		"in order, then out":      {"turns: [{text: a}, {text: b}]", "1 2 3", `a b the script has no turn left for answer 3 (agent "coder", depth 0): it has 2 turns`},
		"failures go to attempts": {"turns: [{text: a}, {error: {status: 500}}, {cut_after: 0, text: x}, {text: b}, {text: c}]", "1 2 3", "a fail 2 fail 3 b c"},
		"repeated failures":       {"turns: [{error: {status: 500}, repeat: 3}, {text: a}, {text: b}]", "1 2", "fail 1 fail 1 fail 1 a b"},
		"repeated answers":        {"turns: [{text: a, repeat: 2}, {text: b}]", "1 2 3", "a a b"},
		"other agents' turns stay": {"turns: [{text: no, when: {agent: other}}, {text: deep, when: {depth: 1}}, {text: a}, {text: b}]", "1 2",
			"a b"},
		"what does not fit yet stays for later": {"turns: [{text: late, when: {contains: magic}}, {text: a}, {text: b}]", "1 2 magic", "a b late"},
		"what fits later does not move what was": {"turns: [{text: m, when: {contains: magic}}, {text: a}, {text: m2, when: {contains: magic}}, {text: z}]", "1 magic 3 4",
			"a m m2 z"},
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, c.script)
			for _, restart := range []bool{false, true} {
				if got := strings.Join(drive(t, s, strings.Fields(c.prompts), restart), " "); got != c.want {
					t.Errorf("restart %v: %s, want %s", restart, got, c.want)
				}
			}
		})
	}
}

func TestAKilledAttemptPlaysItsFailuresAgain(t *testing.T) {
	s := script(t, "turns: [{text: a}, {error: {status: 500}}, {text: b}]")
	req := loop.ModelRequest{Turn: 1}
	first := NewPlay(s)
	c, _ := first.Next(req)
	c.Done(true)
	if c, _ = first.Next(req); c.Text != "b" {
		t.Errorf("second attempt = turn %d, want b", c.Number)
	}
	// The process dies here, before b was applied.
	second := NewPlay(s)
	if c, _ = second.Next(req); !c.fails() {
		t.Errorf("after the restart = %q, want the failure again", c.Text)
	}
	c.Done(true)
	if c, _ = second.Next(req); c.Text != "b" {
		t.Errorf("after it = turn %d, want b", c.Number)
	}
	// A run that failed for good is on record; the next prompt goes on behind it.
	req.Failed = 1
	if c, _ = NewPlay(s).Next(req); c.Text != "b" {
		t.Errorf("with one failure on record = turn %d, want b", c.Number)
	}
}

func TestLongScriptsStayCheap(t *testing.T) {
	s := script(t, "turns: [{text: a, repeat: 1000000}]")
	p := NewPlay(s)
	for turn := range 200_000 {
		if _, err := p.Next(loop.ModelRequest{Turn: turn}); err != nil {
			t.Fatal(err)
		}
	}
}
