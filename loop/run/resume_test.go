package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent-ls/hooks"
	"agent-ls/hooks/worker"
	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

// restart closes the process's worth of Service in the middle of a run, as far
// as the journal can tell like a death, and opens another one.
func (r *rig) restart() {
	r.t.Helper()
	r.close()
	r.screen = newScreen()
	r.open()
}

func (r *rig) resume(session string) Resumed {
	r.t.Helper()
	res, err := r.svc.Resume(context.Background(), session)
	if err != nil {
		r.t.Fatal(err)
	}
	return res
}

func TestResumeShowsAnOpenApprovalAgain(t *testing.T) {
	ctx := context.Background()
	for _, how := range []string{"resume, then answer", "answer, which resumes"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			r.verdict["change"] = loop.VerdictAsk
			path := r.file("a.txt", "one\n")
			fired := 0
			r.hooks["work/"+loop.OnToolCall] = func(f hooks.Firing) hooks.Outcome { fired++; return allow(f) }
			r.model.turns = []turn{{calls: []string{`look {"at":"x"}`, `change {"path":"a.txt","text":"two\n"}`, `look {"at":"y"}`}}, {text: "ok"}}
			s := r.start("x")
			first := <-r.screen.asked
			r.restart()
			list, _, err := r.svc.Sessions(ctx, 0, "", "")
			if err != nil || list[0].Status != report.Interrupted {
				t.Errorf("session %+v, %v", list, err)
			}
			open, _, err := r.svc.Pending(ctx)
			if err != nil || len(open) != 1 || open[0].ID != first.ID || open[0].Elsewhere {
				t.Fatalf("pending %+v, %v", open, err)
			}
			if how == "resume, then answer" {
				res := r.resume(s.SessionID)
				if res.RunID != s.RunID || len(res.Done) != 1 || len(res.Resuming) != 2 {
					t.Errorf("resumed %+v", res)
				}
				if again := <-r.screen.asked; again.ID != first.ID || again.Digest != first.Digest || again.Edits[0].Path != path || len(again.Hooks) != 1 {
					t.Errorf("shown again %+v", again)
				}
			}
			if err := r.svc.Resolve(ctx, first.ID, report.Answer{Outcome: report.AllowOnce}); err != nil {
				t.Fatal(err)
			}
			if end := r.wait(s.RunID); end.Status != report.Done || r.content(path) != "two\n" {
				t.Errorf("end %+v, file %q", end, r.content(path))
			}
			if fired != 1 {
				t.Errorf("the hook fired %d times for one batch", fired)
			}
			asked := 0
			for _, e := range r.kept(s.SessionID) {
				if e.Type == report.ApprovalRequested {
					asked++
				}
			}
			if asked != 1 {
				t.Errorf("%d approvals were opened", asked)
			}
		})
	}
}

func TestResumeAsksAnewWhenTheFileMoved(t *testing.T) {
	r := newRig(t)
	r.verdict["change"] = loop.VerdictAsk
	r.file("a.txt", "one\n")
	r.model.turns = []turn{{calls: []string{`change {"path":"a.txt","text":"two\n"}`}}, {text: "ok"}}
	s := r.start("x")
	first := <-r.screen.asked
	r.restart()
	path := r.file("a.txt", "typed\n")
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.resume(s.SessionID)
	r.wait(s.RunID)
	second := <-r.screen.asked
	if second.ID == first.ID || !strings.Contains(second.Edits[0].Diff, "-typed") || r.content(path) != "two\n" {
		t.Errorf("shown %+v, file %q", second, r.content(path))
	}
	if !strings.Contains(r.screen.text(), "approval_withdrawn") {
		t.Errorf("the old one was not withdrawn:\n%s", r.screen.text())
	}
}

func TestResumeOfCallsThatRan(t *testing.T) {
	r := newRig(t)
	r.slow.gate = make(chan struct{})
	r.model.turns = []turn{{calls: []string{`slow {"safe":true,"n":1}`, `slow {"safe":true,"read":true,"n":2}`}}, {text: "ok"}}
	s := r.start("x")
	<-r.slow.entered
	<-r.slow.entered
	r.restart()
	close(r.slow.gate)
	res := r.resume(s.SessionID)
	end := r.wait(s.RunID)
	if end.Status != report.Done || len(res.Resuming) != 2 {
		t.Errorf("end %+v, resumed %+v", end, res)
	}
	m := r.model.requests()[1].Messages
	results := m[len(m)-1].Blocks
	if got := results[0].Result; got.Outcome != loop.CallInterrupted || !strings.Contains(got.Text, "may or may not have happened") {
		t.Errorf("the call with effects: %+v", got)
	}
	if got := results[1].Result; got.Outcome != loop.CallOK {
		t.Errorf("the call that only reads: %+v", got)
	}
	if r.slow.runs != 3 {
		t.Errorf("%d runs, want 3: the reading one twice", r.slow.runs)
	}
	if res := r.resume(s.SessionID); res.RunID != "" || res.Reason == "" {
		t.Errorf("resuming a run that is over: %+v", res)
	}
}

func TestResumeKeepsWhatWasPinned(t *testing.T) {
	r := newRig(t)
	r.model.asking = make(chan struct{}, 1)
	r.model.turns = []turn{{hold: true}, {text: "ok"}}
	s := r.start("x")
	<-r.model.asking
	r.restart()
	r.config.Agents[0].Stages[0].System = "Something else."
	r.resume(s.SessionID)
	r.wait(s.RunID)
	if got := r.model.requests()[1].System; !strings.Contains(got, "Be brief.") {
		t.Errorf("system text after the resume: %q", got)
	}
}

func TestHookStatesComeBack(t *testing.T) {
	r := newRig(t)
	r.model.asking = make(chan struct{}, 1)
	r.model.turns = []turn{{calls: []string{`look {"at":"x"}`}}, {hold: true}, {calls: []string{`look {"at":"y"}`}}, {text: "ok"}}
	var seen []any
	r.hooks["work/"+loop.OnToolCall] = func(f hooks.Firing) hooks.Outcome {
		seen = append(seen, f.States["guard"]["n"])
		out := allow(f)
		out.States = map[string]map[string]any{"guard": {"n": int64(len(seen))}}
		return out
	}
	s := r.start("x")
	<-r.model.asking
	r.restart()
	r.resume(s.SessionID)
	r.wait(s.RunID)
	if !slices.Equal(seen, []any{nil, int64(1)}) {
		t.Errorf("states %v", seen)
	}
}

func TestANewPromptEndsAnInterruptedRun(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	r.model.turns = []turn{{calls: []string{`slow {}`}}, {text: "fine"}}
	s := r.start("x")
	a := <-r.screen.asked
	r.restart()
	s2 := r.startIn(s.SessionID, "something else")
	if end := r.wait(s2.RunID); end.Status != report.Done {
		t.Errorf("end %+v", end)
	}
	var ends []string
	for _, e := range r.kept(s.SessionID) {
		if e.Type == report.RunFinished {
			ends = append(ends, e.RunID+" "+string(e.Status))
		}
	}
	if !slices.Equal(ends, []string{s.RunID + " cancelled", s2.RunID + " done"}) {
		t.Errorf("ends %v", ends)
	}
	if p, err := r.journal.Approval(context.Background(), a.ID); err != nil || p.State != "withdrawn" {
		t.Errorf("the approval is %s, %v", p.State, err)
	}
}

func TestCancelOfAnInterruptedRun(t *testing.T) {
	r := newRig(t)
	r.verdict["slow"] = loop.VerdictAsk
	r.model.turns = []turn{{calls: []string{`slow {}`}}}
	s := r.start("x")
	<-r.screen.asked
	r.restart()
	if ok, err := r.svc.Cancel(context.Background(), s.RunID, ""); !ok || err != nil {
		t.Fatal(ok, err)
	}
	events := r.kept(s.SessionID)
	if last := events[len(events)-1]; last.Type != report.RunFinished || last.Status != report.Cancelled {
		t.Errorf("the last event is %+v", last)
	}
}

// The kill test runs a whole process, kills it without warning once the
// journal has so many steps, resumes in another process, and looks at what is
// left: the history well-formed (the scripted model refuses any other), one
// end, no gap in the numbers, nothing with effects done twice.
const killEnv = "AGENT_LS_TEST_KILL_AT"

// victim is the process that is killed. It runs the scenario in the folder,
// killing itself right behind a step, or goes on with what it finds there.
func victim(dir string, at int) error {
	t := &testing.T{}
	r := &rig{t: t, dir: dir, model: &scripted{name: "m"}, spare: &scripted{name: "spare"}, screen: newScreen(), hooks: hookFuncs{},
		verdict: map[string]loop.Verdict{"change": loop.VerdictAsk}, slow: &slowTool{entered: make(chan string, 100)}, config: killConfig()}
	r.hooks["work/"+loop.OnToolCall] = allow
	r.screen.answer = answerWith(report.Answer{Outcome: report.AllowOnce})
	r.open()
	turns := killTurns()
	list, _, err := r.svc.Sessions(context.Background(), 1, "", "")
	if err != nil {
		return err
	}
	if at > 0 {
		go dieAt(r.journal, at)
	}
	var run string
	if len(list) == 0 {
		r.model.turns = turns
		s, err := r.svc.Start(context.Background(), StartParams{Prompt: "go"})
		if err != nil {
			return err
		}
		run = s.RunID
	} else {
		// The model goes on where it was: it has as many answers as are known.
		known, err := answersOf(r.journal, list[0].SessionID)
		if err != nil {
			return err
		}
		r.model.turns = turns[known:]
		res, err := r.svc.Resume(context.Background(), list[0].SessionID)
		if err != nil {
			return err
		}
		run = res.RunID
	}
	if run == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	end, err := r.svc.Wait(ctx, run)
	if err == nil && end.Status != report.Done {
		err = fmt.Errorf("the run ended %s: %s", end.Status, end.Error)
	}
	return err
}

func answersOf(j *journal.Journal, session string) (int, error) {
	n := 0
	_, _, err := j.Replay(context.Background(), session, func(e loop.Event) {
		if e.Kind == loop.Answered {
			n++
		}
	})
	return n, err
}

// dieAt kills this process as soon as the journal has so many steps.
func dieAt(j *journal.Journal, at int) {
	for {
		n := 0
		list, err := j.Sessions(context.Background(), 1, "", "")
		if err == nil && len(list) == 1 {
			_, _, err = j.Replay(context.Background(), list[0].ID, func(loop.Event) { n++ })
		}
		if err == nil && n >= at {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {}
		}
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Subcommand {
		worker.Main()
	}
	if _, ok := os.LookupEnv(mcpServerEnv); ok {
		serveMCP()
		os.Exit(0)
	}
	if at, ok := os.LookupEnv(killEnv); ok {
		n, _ := strconv.Atoi(at)
		if err := victim(os.Getenv(killEnv+"_DIR"), n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestKilledAtAnyStep(t *testing.T) {
	steps := killProcess(t, t.TempDir(), 0)
	if steps < 15 {
		t.Fatalf("the whole run has %d steps only", steps)
	}
	for at := 1; at <= steps; at += 1 + at%3 {
		t.Run(fmt.Sprint("step ", at), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killProcess(t, dir, at)
			killProcess(t, dir, at+3) // again, in the middle of the resume
			killProcess(t, dir, 0)
			checkRemains(t, dir)
		})
	}
}

// killProcess runs the victim and returns how many steps the journal has then.
func killProcess(t *testing.T, dir string, at int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", killEnv, at), fmt.Sprintf("%s_DIR=%s", killEnv, dir))
	out, err := cmd.CombinedOutput()
	if err != nil && (at == 0 || len(out) > 0) {
		t.Fatalf("the process: %v\n%s", err, out)
	}
	j, err := journal.Open(journal.Path(filepath.Join(dir, "state"), filepath.Join(dir, "ws")))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	list, err := j.Sessions(context.Background(), 2, "", "")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if len(list) > 0 {
		if _, _, err := j.Replay(context.Background(), list[0].ID, func(loop.Event) { n++ }); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func checkRemains(t *testing.T, dir string) {
	t.Helper()
	j, err := journal.Open(journal.Path(filepath.Join(dir, "state"), filepath.Join(dir, "ws")))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	list, err := j.Sessions(context.Background(), 2, "", "")
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	events, _, err := j.Events(context.Background(), list[0].ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends, finished := 0, map[string]int{}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has seq %d", i, e.Seq)
		}
		switch e.Type {
		case report.RunFinished:
			ends++
		case report.ToolFinished:
			finished[e.CallID]++
		}
	}
	if ends != 1 || events[len(events)-1].Type != report.RunFinished {
		t.Errorf("%d ends, the last event is %s", ends, events[len(events)-1].Type)
	}
	for id, n := range finished {
		if n != 1 {
			t.Errorf("call %s has %d results", id, n)
		}
	}
	effects, err := os.ReadFile(filepath.Join(dir, "ws", "effects.log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(effects)) {
		if seen[line] {
			t.Errorf("the effect %q happened twice", line)
		}
		seen[line] = true
	}
	var state loop.State
	if _, _, err := j.Replay(context.Background(), list[0].ID, func(e loop.Event) { state, _ = loop.Apply(state, e) }); err != nil {
		t.Fatal(err)
	}
	if err := loop.WellFormed(state.History.Messages()); err != nil {
		t.Error(err)
	}
}
