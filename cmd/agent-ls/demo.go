package main

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"agent-ls/hooks/check"
	"agent-ls/loop"
	"agent-ls/loop/agent"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

//go:embed demo/workspace.txtar
var demoArchive []byte

// fixedGuard is the archive's file that replaces the faulty guard.
const fixedGuard = "guard.fixed.risor"

const demoPrompt = "The tests of this module fail. Find out why, fix it, and run them."

func newDemoCommand() *cobra.Command {
	var modelName, keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole idea in a scratch workspace",
		Long: "Checks a faulty hook, mends it, runs the agent on a Go module with a failing test, asks for\n" +
			"approval with a diff, runs the tests and undoes the run. It plays a rehearsal unless a model\n" +
			"is named or ANTHROPIC_API_KEY or OPENAI_API_KEY is set. It asks only on a terminal;\n" +
			"DEMO_YES=1 answers by itself.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &demo{out: os.Stdout, model: modelName}
			return d.run(cmd.Context(), keep)
		},
	}
	cmd.Flags().StringVarP(&modelName, "model", "m", "", "a model of your configuration instead of the rehearsal")
	cmd.Flags().StringVar(&keep, "dir", "", "make the scratch workspace in this folder, which must be empty or new")
	return cmd
}

// demo walks through the main job, a step a method.
type demo struct {
	out    *os.File
	model  string
	dirs   folders
	screen *terminal
	agent  *agent.Agent
	runID  string
	sessID string
	step   int
	// refused is how often the person said no: the module is then not mended,
	// and rightly so.
	refused atomic.Int32
}

// demoScreen is the terminal of a demo that notes refusals.
type demoScreen struct {
	*terminal
	refused *atomic.Int32
}

func (s demoScreen) Approve(ctx context.Context, a report.Approval) (report.Answer, error) {
	answer, err := s.terminal.Approve(ctx, a)
	if err == nil && answer.Outcome == report.DenyOnce {
		s.refused.Add(1)
	}
	return answer, err
}

func (d *demo) run(ctx context.Context, dir string) error {
	begun := time.Now()
	if err := d.prepare(dir); err != nil {
		return failed("demo: %v", err)
	}
	if err := d.mendHook(ctx); err != nil {
		return failed("demo: %v", err)
	}
	if err := d.expectTests(ctx, false); err != nil {
		return failed("demo: %v", err)
	}
	if err := d.openAgent(); err != nil {
		return failed("demo: %v", err)
	}
	defer d.agent.Close()
	end, err := d.work(ctx)
	if err != nil {
		return startError(err, d.dirs.root)
	}
	if end.Status != report.Done {
		d.summary(begun)
		return endStatus(end, d.screen.gateBroke())
	}
	if err := d.expectTests(ctx, true); err != nil {
		return failed("demo: %v", err)
	}
	if err := d.undo(ctx); err != nil {
		return failed("demo: %v", err)
	}
	d.summary(begun)
	return nil
}

func (d *demo) heading(format string, args ...any) {
	d.step++
	d.screen.line("")
	d.screen.line("%s", d.screen.bold(fmt.Sprintf("%d. ", d.step)+fmt.Sprintf(format, args...)))
}

// prepare unpacks the workspace and gives the demo state and
// configuration of its own, so that it never touches the user's.
func (d *demo) prepare(dir string) error {
	if dir == "" {
		made, err := os.MkdirTemp("", "agent-ls-demo-")
		if err != nil {
			return err
		}
		dir = made
	} else if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	base, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	// The cache is the user's: what a compiler has cached is worth keeping.
	d.dirs = folders{root: filepath.Join(base, "calc"), state: filepath.Join(base, "state", "agent-ls")}
	for _, f := range txtar.Parse(demoArchive).Files {
		if f.Name == fixedGuard {
			continue
		}
		path := filepath.Join(d.dirs.root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	if err := d.chooseModel(base); err != nil {
		return err
	}
	if err := d.dirs.resolve(); err != nil {
		return err
	}
	d.screen = newTerminal(d.dirs.root, d.out)
	if os.Getenv("DEMO_YES") != "" || d.screen.lines == nil {
		d.screen.answers = func(a report.Approval) (report.Answer, bool) {
			d.screen.line("%s", d.screen.bold("answered by the demo itself: allow once"))
			return report.Answer{Outcome: report.AllowOnce, By: "demo"}, true
		}
	}
	d.screen.line("agent-ls %s, in a scratch copy of a Go module: %s", version, d.dirs.root)
	return nil
}

// chooseModel decides who plays: a model of the user's by name, a provider
// whose key is there, else the rehearsal that the workspace names.
func (d *demo) chooseModel(base string) error {
	if d.model != "" {
		return nil // the user's own configuration has it
	}
	for _, p := range []struct{ key, model string }{
		{"ANTHROPIC_API_KEY", "claude"}, // built-in models
		{"OPENAI_API_KEY", "gpt"},
	} {
		if os.Getenv(p.key) != "" {
			d.model = p.model
			break
		}
	}
	d.dirs.userConfig = filepath.Join(base, "config.toml")
	return os.WriteFile(d.dirs.userConfig, []byte("# The demo's own: nothing of yours is read.\n"), 0o600)
}

// mendHook shows what the checker says of the faulty guard and replaces it.
func (d *demo) mendHook(ctx context.Context) error {
	d.heading("A hook script with mistakes, as the editor underlines it")
	findings, err := workspaceFindings(ctx, &d.dirs, nil)
	if err != nil {
		return err
	}
	shown := 0
	for _, f := range findings {
		if f.Severity <= check.Warning {
			d.screen.line("%s", styled(codeFrame(d.screen, f, readText, d.relative)))
			shown++
		}
	}
	if shown == 0 {
		return fmt.Errorf("the faulty guard went unnoticed")
	}
	for _, f := range txtar.Parse(demoArchive).Files {
		if f.Name == fixedGuard {
			path := filepath.Join(d.dirs.root, ".agent-ls", "hooks", "guard.risor")
			if err := os.WriteFile(path, f.Data, 0o644); err != nil {
				return err
			}
		}
	}
	findings, err = workspaceFindings(ctx, &d.dirs, nil)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Severity == check.Error {
			return fmt.Errorf("the mended workspace still has: %s", findingLine(f, readText, d.relative))
		}
	}
	d.screen.line("Mended: the corrected guard is in its place, and nothing is left to say.")
	return nil
}

// relative names a file as somebody in the scratch workspace would.
func (d *demo) relative(path string) string {
	rel, err := filepath.Rel(d.dirs.root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

func (d *demo) openAgent() error {
	var err error
	d.agent, err = d.dirs.open(demoScreen{d.screen, &d.refused}, slog.New(masking(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	return err
}

// work is the run itself.
func (d *demo) work(ctx context.Context) (report.Event, error) {
	d.heading("A run: each hook decision with the line that made it, each approval with what it covers")
	d.screen.line("prompt: %s", demoPrompt)
	started, err := d.agent.Start(ctx, run.StartParams{Prompt: demoPrompt, Model: d.model, Mode: loop.ModeAsk})
	if err != nil {
		return report.Event{}, err
	}
	d.runID, d.sessID = started.RunID, started.SessionID
	return waitOrCancel(ctx, d.agent, d.runID)
}

// expectTests runs the module's own tests outside the agent.
func (d *demo) expectTests(ctx context.Context, pass bool) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		d.screen.line("go is not on PATH: the demo cannot show the module's tests itself")
		return nil
	}
	cmd := exec.CommandContext(ctx, goTool, "test", "./...")
	cmd.Dir = d.dirs.root
	// The cache that the sandbox uses, so that nothing is compiled twice.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOCACHE="+filepath.Join(d.dirs.cache, "tools", "go-build"))
	out, err := cmd.CombinedOutput()
	if pass {
		d.heading("The module's tests, run by you")
	} else {
		d.heading("The module's tests before the run")
	}
	for _, line := range nonEmptyLines(string(out)) {
		d.screen.line("    %s", d.screen.dim(line))
	}
	if pass && err != nil && d.refused.Load() > 0 {
		d.screen.line("They fail still: what would have mended them was refused.")
		return nil
	}
	if (err == nil) != pass {
		return fmt.Errorf("the tests should pass: %v, they say: %v", pass, err)
	}
	return nil
}

// undo puts the file back and shows it.
func (d *demo) undo(ctx context.Context) error {
	d.heading("The run undone")
	undone, err := d.agent.Undo(ctx, d.runID, "", false)
	if err != nil {
		return err
	}
	if len(undone.Edits) == 0 && d.refused.Load() > 0 {
		d.screen.line("You refused the change, so there is nothing to undo.")
		return nil
	}
	if len(undone.Edits) == 0 || len(undone.Conflicts) > 0 {
		return fmt.Errorf("undo put back %d files and left %d", len(undone.Edits), len(undone.Conflicts))
	}
	for _, edit := range undone.Edits {
		d.screen.line("%s", d.screen.diff(edit.Diff))
	}
	return nil
}

func (d *demo) summary(begun time.Time) {
	d.heading("Summary")
	seen := d.screen.seen
	d.screen.line("events: %d, hook decisions: %d, approvals: %d, time: %.1f s",
		seen.events, seen.decisions, seen.approvals, time.Since(begun).Seconds())
	names := make([]string, 0, len(seen.hooks))
	for name := range seen.hooks {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		h := seen.hooks[name]
		d.screen.line("  hook %s: %d × %.2f ms", name, h.fired, float64(h.total.Microseconds())/1000/float64(h.fired))
	}
	d.screen.line("transcript: session %s in %s", d.sessID, journal.Path(d.dirs.state, d.dirs.root))
	d.screen.line("workspace: %s", d.dirs.root)
	d.screen.line("read it again: XDG_STATE_HOME=%s %s -C %s sessions show %s",
		filepath.Dir(d.dirs.state), os.Args[0], d.dirs.root, d.sessID)
}
