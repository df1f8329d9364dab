package run

import (
	"fmt"
	"strings"
	"testing"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/manifest"
)

func TestCacheTelemetry(t *testing.T) {
	read := func(n int64) loop.Usage { return loop.Usage{Input: 10, CacheRead: n} }
	looking := func(u loop.Usage) turn { return turn{calls: []string{`look {"at":"x"}`}, usage: u} }
	for name, tt := range map[string]struct {
		off      bool
		baseline bool
		system   string // what a hook adds to the system prompt in the second turn
		turns    []turn
		next     string // another run of the session, with this system prompt
		want     string
	}{
		"off":          {off: true, system: " changed", turns: []turn{looking(read(5000)), {text: "Done.", usage: read(0)}}},
		"nothing new":  {turns: []turn{looking(read(5000)), {text: "Done.", usage: read(5100)}}},
		"drift":        {system: " changed", turns: []turn{looking(read(5000)), {text: "Done.", usage: read(4900)}}, want: "cache:drift [system] [host_dynamic] <nil>"},
		"break":        {turns: []turn{looking(read(5000)), {text: "Done.", usage: read(100)}}, want: "cache:break [] [] 5000 100"},
		"both":         {system: " changed", turns: []turn{looking(read(5000)), {text: "Done.", usage: read(100)}}, want: "cache:drift [system] [host_dynamic] <nil>; cache:break [system] [host_dynamic] 5000 100"},
		"small cache":  {turns: []turn{looking(read(500)), {text: "Done.", usage: read(0)}}},
		"next run":     {baseline: true, turns: []turn{{text: "Done.", usage: read(5000)}}, next: "Be loud.", want: "cache:drift [system] [host_static] <nil>; cache:break [system] [host_static] 5000 0"},
		"no baseline":  {turns: []turn{{text: "Done.", usage: read(5000)}}, next: "Be loud."},
		"same session": {baseline: true, turns: []turn{{text: "Done.", usage: read(5000)}}, next: "Be brief.", want: "cache:break [] [] 5000 0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.config.Behavior.CacheTelemetry, r.config.Behavior.SessionBaseline = !tt.off, tt.baseline
			var seen []string
			for _, event := range []string{"cache:drift", "cache:break"} {
				r.hooks["work/"+event] = func(f hooks.Firing) hooks.Outcome {
					for _, field := range contract.ByName(f.Event).Fields {
						if err := contract.Fits(f.Fields[field.Name], &field.Type, field.Name); err != nil {
							t.Errorf("%s: %v", f.Event, err)
						}
					}
					word := fmt.Sprint(f.Event, " ", f.Fields["changed"], " ", f.Fields["system_sections"], " ")
					if f.Event == "cache:drift" {
						word += fmt.Sprint(f.Fields["at_message"])
					} else {
						word += fmt.Sprint(f.Fields["previous_cache_read"], " ", f.Fields["cache_read"])
					}
					seen = append(seen, word)
					return hooks.Outcome{Action: contract.Allow}
				}
			}
			r.hooks["work/system:transform"] = func(f hooks.Firing) hooks.Outcome {
				if f.Fields["turn"] == int64(2) && tt.system != "" {
					return hooks.Outcome{Action: contract.Modify, Value: f.Fields["system"].(string) + tt.system}
				}
				return hooks.Outcome{Action: contract.Allow}
			}
			r.model.turns = tt.turns
			s := r.start("go")
			r.wait(s.RunID)
			if tt.next != "" {
				r.config.Agents = []manifest.Agent{{Name: "coder", Model: "m", Stages: []manifest.Stage{{Name: "work", Tools: []string{"*"}, System: tt.next}}}}
				r.model.turns = []turn{{text: "Done."}}
				r.wait(r.startIn(s.SessionID, "more").RunID)
			}
			if got := strings.Join(seen, "; "); got != tt.want {
				t.Errorf("seen %q, want %q", got, tt.want)
			}
			if broke := strings.Contains(r.screen.text(), "the prompt cache broke"); broke != strings.Contains(tt.want, "cache:break") {
				t.Errorf("a notice of a break: %v", broke)
			}
		})
	}
}
