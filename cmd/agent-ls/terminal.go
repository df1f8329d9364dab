package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop"
	"agent-ls/loop/mcp"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// terminal shows a run to a person, line by line, and asks on the same
// terminal. It implements run.Frontend.
type terminal struct {
	root    string
	json    io.Writer // events as lines of JSON, nil = none
	answers func(report.Approval) (report.Answer, bool)
	lines   *lineReader // nil: nobody can be asked

	outMu     sync.Mutex
	out       io.Writer
	color     bool
	streaming bool              // text_delta has left the cursor in a line
	streamed  bool              // the message that comes next has been shown already
	last      string            // the newest message of the run itself
	titles    map[string]string // of calls that run, by id
	seen      counts
	broke     bool // a gate or transform hook broke
}

// counts is what the demo sums up.
type counts struct {
	events, decisions, approvals int
	hooks                        map[string]hookTime
}

type hookTime struct {
	fired int
	total time.Duration
}

// newTerminal shows on out; it asks where standard input is a terminal too.
func newTerminal(root string, out *os.File) *terminal {
	t := &terminal{root: root, out: out, titles: map[string]string{}, seen: counts{hooks: map[string]hookTime{}}}
	t.color = term.IsTerminal(int(out.Fd())) && os.Getenv("NO_COLOR") == ""
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(out.Fd())) {
		t.lines = newLineReader(os.Stdin)
	}
	return t
}

// Event shows one event.
func (t *terminal) Event(e report.Event) {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	if t.json != nil {
		if line, err := json.Marshal(e); err == nil {
			t.json.Write(append(line, '\n'))
		}
	}
	if e.Seq > 0 {
		t.seen.events++
	}
	indent := strings.Repeat("  ", e.Depth)
	switch e.Type {
	case report.TextDelta:
		if e.Depth > 0 {
			return // several may speak at once; the message has the whole text
		}
		fmt.Fprint(t.out, report.Visible(e.Text))
		t.streaming, t.streamed = true, true
	case report.RunStarted:
		t.line("%s%s  agent %s, model %s, sandbox: %s", indent, t.bold("run"), e.Agent, e.Model, e.Sandbox)
	case report.StageEntered:
		t.line("%s%s %s", indent, t.bold("stage"), e.Stage)
	case report.Message:
		if e.Depth > 0 {
			t.line("%s%s", indent, e.Text)
			return
		}
		if !t.streamed {
			t.line("%s", e.Text)
		}
		t.breakLine()
		t.streamed, t.last = false, e.Text
	case report.ToolStarted:
		t.titles[e.CallID] = e.Title
		t.line("%s%s %s", indent, t.bold("→ "+e.Tool), e.Title)
	case report.ToolFinished:
		text := outcomeText(e)
		if title := t.titles[e.CallID]; title != "" {
			text += ": " + title
		}
		delete(t.titles, e.CallID)
		t.line("%s  %s%s", indent, text, t.tail(e))
	case report.AgentSpawned:
		t.line("%s%s %s", indent, t.bold("sub-agent"), e.Agent)
	case report.FileChanged:
		t.line("%s", t.diff(e.Diff))
	case report.Retrying:
		t.line("%sretrying (attempt %d): %s", indent, e.Attempt, e.Because)
	case report.Notice:
		t.line("%s%s: %s", indent, e.Level, e.Text)
	case report.ApprovalWithdrawn:
		t.line("%sapproval withdrawn (%s)", indent, e.By)
	case report.RunFinished:
		t.breakLine()
		t.line("%s%s %s", indent, t.bold("run"), endText(e))
	}
}

// endText says how a run ended.
func endText(e report.Event) string {
	text := fmt.Sprintf("%s (%s)", e.Status, e.StopReason)
	if e.Error != "" {
		text += ": " + e.Error
	}
	return text
}

// Decision shows one hook's answer and where it came from.
func (t *terminal) Decision(d hooks.Decision) {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	t.seen.decisions++
	if event := contract.ByName(d.Event); d.Error != nil && (event == nil || event.Class != contract.Observe) {
		t.broke = true
	}
	took := t.seen.hooks[t.hookName(d)+" "+d.Event]
	took.fired++
	took.total += time.Duration(d.DurationUs) * time.Microsecond
	t.seen.hooks[t.hookName(d)+" "+d.Event] = took
	t.line("  %s", t.dim(t.decision(d)))
	for _, line := range nonEmptyLines(d.Printed) {
		t.line("    %s", t.dim("printed: "+line))
	}
}

// session says how to look at the session again.
func (t *terminal) session(id string) {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	t.line("session %s: agent-ls sessions show %s", id, id)
}

// showed tells whether a result stands on the same terminal already, as the
// newest message that was shown.
func (t *terminal) showed(text string, on *os.File) bool {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	out, ok := t.out.(*os.File)
	if !ok || strings.TrimRight(t.last, "\n") != text || !term.IsTerminal(int(on.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return false
	}
	a, errA := on.Stat()
	b, errB := out.Stat()
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// gateBroke tells whether a hook that can stop the run was broken.
func (t *terminal) gateBroke() bool {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	return t.broke
}

// decision is one line: event, action, where, why, how long.
func (t *terminal) decision(d hooks.Decision) string {
	where := t.hookName(d)
	if d.Hook.At != nil && d.Hook.At.Start.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", where, d.Hook.At.Start.Line, d.Hook.At.Start.Column)
	}
	text := fmt.Sprintf("hook %s: %s at %s (%.1f ms)", d.Event, d.Action, where, float64(d.DurationUs)/1000)
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	if d.Error != nil {
		message := d.Error.Message
		if at := d.Hook.At; at != nil { // the place stands there already
			message = strings.TrimPrefix(message, fmt.Sprintf("%s:%d:%d: ", at.Path, at.Start.Line, at.Start.Column))
		}
		text += ": " + message
	}
	for _, c := range d.Changes {
		text += fmt.Sprintf("\n    %s: %s → %s", c.Path, shorten(string(c.Before)), shorten(string(c.After)))
	}
	return text
}

func (t *terminal) hookName(d hooks.Decision) string {
	switch {
	case d.Hook.At != nil:
		if rel, err := filepath.Rel(t.root, d.Hook.At.Path); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.ToSlash(rel)
		}
		return d.Hook.At.Path
	case d.Hook.Command != "":
		return d.Hook.Command
	}
	return d.HookID
}

// OpenPage implements run.PageOpener: the person opens the page, if there is one.
func (t *terminal) OpenPage(_ context.Context, why, url string) error {
	if t.lines == nil {
		return mcp.ErrNobody
	}
	t.outMu.Lock()
	defer t.outMu.Unlock()
	fmt.Fprintf(t.out, "to %s, open %s\n", why, url)
	return nil
}

// Approve shows what is asked and reads one line. Only a whole word or its
// first letter counts as consent; anything else is asked again, and the end
// of input is a denial.
func (t *terminal) Approve(ctx context.Context, a report.Approval) (report.Answer, error) {
	t.outMu.Lock()
	t.seen.approvals++
	t.showApproval(a)
	t.outMu.Unlock()
	if t.answers != nil {
		if answer, ok := t.answers(a); ok {
			return answer, nil
		}
	}
	if t.lines == nil {
		return report.Answer{}, run.ErrNoApprover
	}
	for {
		t.outMu.Lock()
		t.prompt(question(a))
		t.outMu.Unlock()
		line, err := t.lines.next(ctx)
		if err == io.EOF {
			return report.Answer{Outcome: report.DenyOnce, By: "end of input"}, nil
		}
		if err != nil {
			return report.Answer{}, err
		}
		if answer, ok := parseAnswer(line, a.Outcomes); ok {
			return answer, nil
		}
		t.outMu.Lock()
		t.line("%s", notUnderstood(line, a.Outcomes))
		t.outMu.Unlock()
	}
}

func (t *terminal) prompt(text string) { fmt.Fprintf(t.out, "%s ", t.bold(text)) }

func (t *terminal) showApproval(a report.Approval) {
	t.line("%s %s (%s)", t.bold("approval needed:"), a.Title, a.Risk)
	for _, why := range a.Why {
		t.line("  because: %s", why)
	}
	if a.Command != nil {
		t.line("  command: %s", a.Command.Line)
		t.line("  in: %s", a.Command.Cwd)
		for _, c := range a.Command.Commands {
			t.line("    runs: %s", c)
		}
	}
	for _, edit := range a.Edits {
		t.line("%s", t.diff(edit.Diff))
	}
	if a.Command == nil && len(a.Edits) == 0 {
		t.line("  arguments: %s", a.Arguments)
	}
	for _, d := range a.Hooks {
		t.line("  %s", t.decision(d))
	}
	if a.Covers.Session != "" {
		t.line("  for this session would cover: %s", a.Covers.Session)
	}
	if a.Covers.Always != "" {
		t.line("  always would cover: %s", a.Covers.Always)
	}
}

var answerWords = []struct {
	word    string
	outcome report.ApprovalOutcome
	means   string
}{
	{"once", report.AllowOnce, "allow this call"},
	{"session", report.AllowSession, "allow what is shown as covered for this session"},
	{"always", report.AllowAlways, "allow what is shown as covered from now on"},
	{"deny", report.DenyOnce, "refuse it; words behind it are told to the agent as the reason"},
}

func question(a report.Approval) string {
	var offers []string
	for _, w := range answerWords {
		for _, o := range a.Outcomes {
			if o == w.outcome {
				offers = append(offers, "["+w.word[:1]+"]"+w.word[1:])
			}
		}
	}
	return strings.Join(offers, " ") + " (deny may add a reason):"
}

// notUnderstood says what would be an answer, after a line that is none.
func notUnderstood(line string, offered []report.ApprovalOutcome) string {
	var known []string
	for _, w := range answerWords {
		if slices.Contains(offered, w.outcome) {
			known = append(known, fmt.Sprintf("%s or %s (%s)", w.word[:1], w.word, w.means))
		}
	}
	return fmt.Sprintf("%q is no answer; type %s", shorten(strings.TrimSpace(line)), strings.Join(known, ", "))
}

// parseAnswer reads "once", "o", "deny because …". It returns false for
// anything that is not offered.
func parseAnswer(line string, offered []report.ApprovalOutcome) (report.Answer, bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	for _, w := range answerWords {
		if word != w.word && word != w.word[:1] {
			continue
		}
		for _, o := range offered {
			if o == w.outcome {
				return report.Answer{Outcome: o, Feedback: strings.TrimSpace(rest), By: "here"}, true
			}
		}
	}
	return report.Answer{}, false
}

// line writes one line of its own; text from outside is made harmless here.
func (t *terminal) line(format string, args ...any) {
	t.breakLine()
	for i, a := range args {
		switch a := a.(type) {
		case styled:
		case string:
			args[i] = report.Visible(a)
		}
	}
	fmt.Fprintf(t.out, format+"\n", args...)
}

func (t *terminal) breakLine() {
	if t.streaming {
		fmt.Fprintln(t.out)
		t.streaming = false
	}
}

// styled is text that bears our own escape sequences and has been made
// visible before.
type styled string

func (t *terminal) style(code, s string) styled {
	s = report.Visible(s)
	if !t.color {
		return styled(s)
	}
	return styled("\x1b[" + code + "m" + s + "\x1b[0m")
}

func (t *terminal) bold(s string) styled { return t.style("1", s) }
func (t *terminal) dim(s string) styled  { return t.style("2", s) }

// diff colours a unified diff.
func (t *terminal) diff(diff string) styled {
	var b strings.Builder
	for _, line := range nonEmptyLines(diff) {
		code := "2"
		switch {
		case strings.HasPrefix(line, "+"):
			code = "32"
		case strings.HasPrefix(line, "-"):
			code = "31"
		}
		b.WriteString("    " + string(t.style(code, line)) + "\n")
	}
	return styled(strings.TrimSuffix(b.String(), "\n"))
}

func outcomeText(e report.Event) string {
	if e.Outcome == string(loop.CallOK) && e.DurationMs != nil {
		return fmt.Sprintf("ok in %d ms", *e.DurationMs)
	}
	return e.Outcome
}

// tail is the last lines of what a tool answered.
func (t *terminal) tail(e report.Event) styled {
	if e.Output == nil {
		return ""
	}
	lines := nonEmptyLines(*e.Output)
	const most = 6
	var b strings.Builder
	if len(lines) > most {
		fmt.Fprintf(&b, "\n    … %s more", counted(len(lines)-most, "line"))
		lines = lines[len(lines)-most:]
	}
	for _, line := range lines {
		b.WriteString("\n    " + string(t.style("2", shorten(line))))
	}
	return styled(b.String())
}

func nonEmptyLines(s string) []string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// counted is a number with its noun, which takes a plain s for more than one.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func shorten(s string) string {
	const most = 160
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// lineReader reads a terminal's lines in a goroutine of its own, since a read
// of a terminal cannot be given up. The goroutine ends with the process.
type lineReader struct {
	start sync.Once
	in    io.Reader
	lines chan string
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: in, lines: make(chan string)}
}

func (l *lineReader) next(ctx context.Context) (string, error) {
	l.start.Do(func() {
		go func() {
			scanner := bufio.NewScanner(l.in)
			for scanner.Scan() {
				l.lines <- scanner.Text()
			}
			close(l.lines)
		}()
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-l.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	}
}
