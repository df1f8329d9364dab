package run

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// What the options about reads and edits do to a run, and what they leave
// alone: the results of its calls, in their order, one a line.
func TestOptionsOfReadsAndEdits(t *testing.T) {
	const (
		readA   = `read_file {"path":"a.txt"}`
		editA   = `edit {"path":"a.txt","old_string":"one","new_string":"uno"}`
		multiA  = `multi_edit {"path":"a.txt","edits":[{"old_string":"one","new_string":"uno"}]}`
		writeA  = `write_file {"path":"a.txt","content":"dos\n"}`
		writeB  = `write_file {"path":"new.txt","content":"new\n"}`
		again   = "ok: a.txt: unchanged since the previous read"
		shown   = "ok: shown"
		changed = "ok: changed"
		unread  = "error: a.txt was not read in this session; read_file it first"
	)
	tests := []struct {
		name   string
		option func(*manifest.Behavior)
		calls  []string
		want   []string
		a      string // what is in a.txt behind it
	}{
		{"dedup_reads: an identical read", func(b *manifest.Behavior) { b.DedupReads = true },
			[]string{readA, readA}, []string{shown, again}, "one\n"},
		{"dedup_reads: another range, and a file that was edited", func(b *manifest.Behavior) { b.DedupReads = true },
			[]string{readA, `read_file {"path":"a.txt","offset":1,"limit":5}`, editA, readA}, []string{shown, shown, changed, "ok: shown uno"}, "uno\n"},
		{"dedup_reads off", func(b *manifest.Behavior) { b.DedupReads = false },
			[]string{readA, readA}, []string{shown, shown}, "one\n"},

		{"require_read_before_edit: an edit unseen", func(b *manifest.Behavior) { b.RequireReadBeforeEdit = true },
			[]string{editA, multiA, readA, editA}, []string{unread, unread, shown, changed}, "uno\n"},
		{"require_read_before_edit: what was written is known", func(b *manifest.Behavior) { b.RequireReadBeforeEdit = true },
			[]string{writeB, `edit {"path":"new.txt","old_string":"new","new_string":"old"}`}, []string{changed, changed}, "one\n"},
		{"require_read_before_edit off", func(b *manifest.Behavior) { b.RequireReadBeforeEdit = false },
			[]string{editA}, []string{changed}, "uno\n"},

		{"write_existing require_read", func(b *manifest.Behavior) { b.WriteExisting = "require_read" },
			[]string{writeA, readA, writeA}, []string{unread, shown, changed}, "dos\n"},
		{"write_existing deny", func(b *manifest.Behavior) { b.WriteExisting = "deny" },
			[]string{readA, writeA}, []string{shown, "error: a.txt exists and write_file may not overwrite; use edit"}, "one\n"},
		{"write_existing deny: a new file", func(b *manifest.Behavior) { b.WriteExisting = "deny" },
			[]string{writeB}, []string{changed}, "one\n"},
		{"write_existing allow", func(b *manifest.Behavior) { b.WriteExisting = "allow" },
			[]string{writeA}, []string{changed}, "dos\n"},

		{"track_shell_reads: cat is a read", func(b *manifest.Behavior) { b.RequireReadBeforeEdit, b.TrackShellReads = true, true },
			[]string{`shell {"command":"cat a.txt"}`, editA}, []string{"ok: shown one", changed}, "uno\n"},
		{"track_shell_reads: wc is none", func(b *manifest.Behavior) { b.RequireReadBeforeEdit, b.TrackShellReads = true, true },
			[]string{`shell {"command":"wc -c a.txt"}`, editA}, []string{"ok: shown 4 a.txt", unread}, "one\n"},
		{"track_shell_reads off", func(b *manifest.Behavior) { b.RequireReadBeforeEdit, b.TrackShellReads = true, false },
			[]string{`shell {"command":"cat a.txt"}`, editA}, []string{"ok: shown one", unread}, "one\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(tt.calls[0], "shell") {
				return // its shell has neither cat nor wc
			}
			r := newRig(t)
			r.realTools()
			r.config.Policy = manifest.Policy{Default: "allow"}
			r.config.Sandbox = manifest.Sandbox{Off: true} // so each command asks
			r.screen.answer = func(context.Context, report.Approval) (report.Answer, error) {
				return report.Answer{Outcome: report.AllowOnce}, nil
			}
			r.config.Behavior.WriteExisting = "allow"
			tt.option(&r.config.Behavior)
			a := r.file("a.txt", "one\n")
			for _, c := range tt.calls {
				r.model.turns = append(r.model.turns, turn{calls: []string{c}})
			}
			r.model.turns = append(r.model.turns, turn{text: "done"})
			if end := r.wait(r.start("x").RunID); end.Status != report.Done {
				t.Fatalf("ended %s: %s", end.Status, end.Error)
			}
			got := r.outputs()
			if len(got) != len(tt.want) {
				t.Fatalf("results %q", got)
			}
			for i, want := range tt.want {
				outcome, words, _ := strings.Cut(want, ": ")
				switch words, part, _ := strings.Cut(words, " "); words {
				case "shown":
					want = outcome
					if !strings.Contains(got[i], part) || strings.Contains(got[i], "unchanged since") {
						t.Errorf("result %d is %q, want %q", i+1, got[i], part)
					}
				case "changed":
					want = outcome
				}
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("result %d is %q, want %q", i+1, got[i], want)
				}
			}
			if now := r.content(a); now != tt.a {
				t.Errorf("a.txt is %q, want %q", now, tt.a)
			}
		})
	}
}
