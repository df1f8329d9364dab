package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
	"agent-ls/lsp/lsptest"
)

// killVariable makes the program of a test kill itself, as SIGKILL does, when
// it is about to write its nth event into the journal: what the events before
// led to is done by then, and not on record.
const killVariable = "AGENT_LS_TEST_KILL_AT"

func dieAtEvent(n int64) {
	var events atomic.Int64
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		conn.(sqlite.HookRegisterer).RegisterPreUpdateHook(func(d sqlite.SQLitePreUpdateData) {
			if d.TableName != "steps" || d.Op != sqlite3.SQLITE_INSERT || events.Add(1) != n {
				return
			}
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // the signal is on its way
		})
		return nil
	})
}

// crashTurns are what the model answers: by whether a sub-agent asks, and by
// how often it answered.
var crashTurns = map[bool][]string{
	false: {
		`{"content":"I look.","tool_calls":[` + crashCall(0, "read_file", `{"path":"a.txt"}`) + `,` + crashCall(1, "shell", `{"command":"echo first >> effects.log"}`) + `]}`,
		`{"tool_calls":[` + crashCall(0, "spawn", `{"prompt":"note the child"}`) + `]}`,
		`{"tool_calls":[` + crashCall(0, "shell", `{"command":"echo last >> effects.log"}`) + `]}`,
		`{"content":"` + crashAnswer + `"}`,
	},
	true: {
		`{"tool_calls":[` + crashCall(0, "shell", `{"command":"echo child >> effects.log"}`) + `]}`,
		`{"content":"noted"}`,
	},
}

const crashAnswer = "all is done"

func crashCall(i int, tool, arguments string) string {
	quoted, _ := json.Marshal(arguments)
	return fmt.Sprintf(`{"index":%d,"id":"call_%d","type":"function","function":{"name":%q,"arguments":%s}}`, i, i, tool, quoted)
}

// crashModel answers by the turns above, over HTTP, and refuses a history in
// which a call lacks its result or a result its call.
type crashModel struct {
	mu     sync.Mutex // guards faults
	faults []string
}

type crashMessage struct {
	Role       string
	Content    any
	ToolCalls  []struct{ ID string } `json:"tool_calls"`
	ToolCallID string                `json:"tool_call_id"`
}

func (m *crashModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct{ Messages []crashMessage }
	err := json.NewDecoder(r.Body).Decode(&req)
	if err == nil {
		err = wellFormed(req.Messages)
	}
	child, answers := false, 0
	for _, msg := range req.Messages {
		switch msg.Role {
		case "assistant":
			answers++
		case "user":
			child = child || answers == 0 && strings.Contains(fmt.Sprint(msg.Content), "note the child")
		}
	}
	if err == nil && answers >= len(crashTurns[child]) {
		err = fmt.Errorf("asked again after answer %d", answers)
	}
	if err != nil {
		m.mu.Lock()
		m.faults = append(m.faults, r.URL.Path+": "+err.Error())
		m.mu.Unlock()
		http.Error(w, `{"error":{"message":"`+err.Error()+`"}}`, http.StatusBadRequest)
		return
	}
	delta, finish := crashTurns[child][answers], "stop"
	if strings.Contains(delta, "tool_calls") {
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", delta, finish)
}

func wellFormed(messages []crashMessage) error {
	open := map[string]bool{}
	for i, m := range messages {
		switch {
		case m.Role == "tool" && !open[m.ToolCallID]:
			return fmt.Errorf("message %d is a result of no open call", i)
		case m.Role == "tool":
			delete(open, m.ToolCallID)
		case len(open) > 0:
			return fmt.Errorf("message %d (%s) comes before the results of %d calls", i, m.Role, len(open))
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls have no result", len(open))
	}
	return nil
}

// TestKilledAtEveryIndex kills the program in front of each event of a run
// with two tools, approvals and a sub-agent, and resumes it with another one:
// the model gets a well-formed history and comes to the same answer, nothing
// runs twice, and what may or may not have happened is said to be that.
func TestKilledAtEveryIndex(t *testing.T) {
	model := &crashModel{}
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	whole := t.TempDir()
	live(t, whole, server.URL+"/whole", 0)
	events := checkCrash(t, whole)
	if events < 30 {
		t.Fatalf("the whole run has %d events only", events)
	}
	var killed atomic.Int64
	t.Run("at", func(t *testing.T) {
		for n := 1; n <= events; n++ {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				at := fmt.Sprintf("%s/%d", server.URL, n)
				if live(t, dir, at, n) {
					killed.Add(1)
					live(t, dir, at, 0)
				}
				checkCrash(t, dir)
			})
		}
	})
	// Two events may share a commit, or one may be missing at times.
	if n := int(killed.Load()); n < events-3 {
		t.Errorf("%d of %d kills hit the run", n, events)
	}
	model.mu.Lock()
	defer model.mu.Unlock()
	for _, fault := range model.faults {
		t.Errorf("the model got a broken request: %s", fault)
	}
}

// live starts the program in dir, with its run or to resume the one that is
// there, and waits for the run's end or the program's, at its nth event. It
// tells whether it was that.
func live(t *testing.T, dir, model string, n int) (killed bool) {
	t.Helper()
	root := filepath.Join(dir, "calc")
	for path, text := range map[string]string{
		filepath.Join(root, ".agent-ls", "agent.toml"):          "[agent]\nname = \"coder\"\nmodel = \"wire\"\n\n[stages.work]\ntools = [\"*\"]\n",
		filepath.Join(root, "a.txt"):                            "one\n",
		filepath.Join(dir, "config", "agent-ls", "config.toml"): fmt.Sprintf("[models.wire]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = %q\n", model),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--stdio")
	cmd.Env = append(crashEnv(dir), programVariable+"=1", "OPENAI_API_KEY=x", fmt.Sprintf("%s=%d", killVariable, n))
	cmd.Stderr = os.Stderr
	editor := lsptest.Command(t, cmd)
	ended, gone := make(chan struct{}), make(chan struct{})
	editor.On("agent/approve", func(json.RawMessage) (any, error) { return map[string]any{"outcome": "allowOnce"}, nil })
	editor.On("agent/event", func(raw json.RawMessage) (any, error) {
		var e report.Event
		if json.Unmarshal(raw, &e) == nil && e.Type == report.RunFinished && e.Depth == 0 {
			close(ended)
		}
		return nil, nil
	})
	go func() { defer close(gone); _ = editor.Wait() }()
	editor.Initialize(map[string]any{"experimental": map[string]any{"agent": map[string]any{"version": 1, "approvals": true, "events": true}}},
		lsptest.Folder((&url.URL{Scheme: "file", Path: root}).String()))
	if !goOn(t, editor) {
		return false
	}
	select {
	case <-ended:
	case <-gone:
		if n == 0 {
			t.Fatalf("the program ended before its run; events:\n%s", lastEvents(editor))
		}
		return true
	}
	// A kill may come with the very last event, behind what was shown.
	editor.Hangup()
	<-gone
	return false
}

// goOn starts the run, or resumes the one that is there; false if that is over.
func goOn(t *testing.T, editor *lsptest.Editor) bool {
	t.Helper()
	start := map[string]any{"prompt": "go"}
	var list struct{ Sessions []report.Session }
	editor.Must("agent/sessions", map[string]any{"limit": 1}, &list)
	if len(list.Sessions) > 0 {
		s := list.Sessions[0]
		var resumed struct{ RunID *string }
		editor.Must("agent/resume", map[string]any{"sessionId": s.SessionID}, &resumed)
		if resumed.RunID != nil || s.Status == report.Done {
			return resumed.RunID != nil
		}
		start["sessionId"] = s.SessionID // it was killed before the run was admitted, and is asked again
	}
	_ = editor.Send("agent/start", start) // a kill may come before the answer does
	return true
}

// checkCrash reads what is on record when all is over, and says how many
// events that are.
func checkCrash(t *testing.T, dir string) (events int) {
	t.Helper()
	ctx := t.Context()
	root := filepath.Join(dir, "calc")
	j, err := journal.Open(journal.Path(filepath.Join(dir, "state", "agent-ls"), root))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	list, err := j.Sessions(ctx, 2, "", "")
	if err != nil || len(list) != 1 {
		t.Fatalf("sessions %+v, %v", list, err)
	}
	children, err := j.ChildrenOf(ctx, list[0].RunID)
	if err != nil || len(children) > 1 {
		t.Errorf("%d sub-agents were started: %v", len(children), err)
	}
	effects, err := os.ReadFile(filepath.Join(root, "effects.log"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, row := range append(children, list...) {
		shown, _, err := j.Events(ctx, row.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		checkShown(t, shown, string(effects))
		var state loop.State
		if _, _, err := j.Replay(ctx, row.ID, func(e loop.Event) { events++; state, _ = loop.Apply(state, e) }); err != nil {
			t.Fatal(err)
		}
		if err := loop.WellFormed(state.History.Messages()); err != nil {
			t.Errorf("session %s: %v", row.ID, err)
		}
		if verified, err := j.Verify(ctx, row.ID); err != nil || !verified.OK() {
			t.Errorf("session %s: the chain is %+v, %v", row.ID, verified, err)
		}
		want := crashAnswer
		if row.ID != list[0].ID {
			want = "noted"
		}
		if row.Status != report.Done || state.Output != want {
			t.Errorf("session %s is %s: %q, want %q", row.ID, row.Status, state.Output, want)
		}
	}
	if open, err := j.OpenApprovals(ctx); err != nil || len(open) > 0 {
		t.Errorf("approvals are open still: %+v, %v", open, err)
	}
	return events
}

// checkShown holds what a session showed against what its commands did.
func checkShown(t *testing.T, shown []report.Event, effects string) {
	t.Helper()
	commands := map[string]string{}
	for i, e := range shown {
		if e.Seq != int64(i+1) || (e.Type == report.RunFinished) != (i == len(shown)-1) {
			t.Errorf("event %d is %s with seq %d", i, e.Type, e.Seq)
		}
		var a struct{ Command string }
		switch e.Type {
		case report.ToolStarted:
			if err := json.Unmarshal(e.Arguments, &a); err != nil {
				t.Error(err)
			}
			if _, again := commands[e.CallID]; again && a.Command != "" {
				t.Errorf("the call %s began twice", e.Title)
			}
			commands[e.CallID] = a.Command
		case report.ToolFinished:
			word := strings.Fields(commands[e.CallID] + " nothing nothing")[1]
			done := strings.Count(effects, word+"\n")
			switch loop.CallOutcome(e.Outcome) {
			case loop.CallOK:
				if commands[e.CallID] != "" && done != 1 {
					t.Errorf("%q is said to be done and happened %d times", commands[e.CallID], done)
				}
			case loop.CallInterrupted:
				if done > 1 || !strings.Contains(*e.Output, "may or may not have happened") {
					t.Errorf("%q happened %d times, and its result says %q", commands[e.CallID], done, *e.Output)
				}
			default:
				t.Errorf("%q ended as %s: %s", commands[e.CallID], e.Outcome, *e.Output)
			}
		}
	}
}
