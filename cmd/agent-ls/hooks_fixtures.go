package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/replay"
	"agent-ls/hooks/syntax"
	"agent-ls/hooks/textfile"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// testedFile is what one fixture came to, as `hooks test --json` prints it.
type testedFile struct {
	File     string       `json:"file"`
	Script   string       `json:"script"`
	Cases    []testedCase `json:"cases"`
	Findings []foundJSON  `json:"findings"` // why nothing of it was run

	text     []byte
	findings []check.Finding
}

type testedCase struct {
	Name       string           `json:"name"`
	Event      string           `json:"event"`
	Line       int              `json:"line"`
	Passed     bool             `json:"passed"`
	Failures   []testedMismatch `json:"failures,omitempty"`
	Action     string           `json:"action"`
	Reason     string           `json:"reason,omitempty"`
	At         string           `json:"at,omitempty"` // of the return that decided
	Printed    string           `json:"printed,omitempty"`
	DurationUs int64            `json:"durationUs"`
}

type testedMismatch struct {
	Line int    `json:"line"`
	What string `json:"what"`
	Got  string `json:"got"`
	Want string `json:"want,omitempty"`

	text string
}

func (f *testedFile) failed() int {
	n := 0
	for _, c := range f.Cases {
		if !c.Passed {
			n++
		}
	}
	return n
}

func newHooksTestCommand(dirs *folders) *cobra.Command {
	var (
		verbose, asJSON bool
		record, name    string
	)
	cmd := &cobra.Command{
		Use:   "test [FILE|FOLDER…] | --record SESSION#SEQ SCRIPT",
		Short: "Run the fixtures beside hook scripts: what each decides about given events",
		Long: "Runs the cases of guard_test.toml through guard.risor beside it, in a worker and within the limits that a\n" +
			"run has, and says which decision is not the wanted one. FILE is a fixture, or a script for the one beside\n" +
			"it; without any, all below .agent-ls. Exit status: 0 every case passed, 1 one did not, or a fixture or\n" +
			"script has errors, 2 it could not look, or there is nothing to run.\n\n" +
			"With --record it adds a case to the fixture beside SCRIPT: what the script saw at a recorded decision, and\n" +
			"what it decided then. It takes SESSION#SEQ as hooks replay prints it, SESSION for the newest there, or last.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("record") {
				if err := refuseInSandbox("hooks test --record", true); err != nil {
					return err
				}
				return recordCases(cmd, dirs, record, name, args)
			}
			if name != "" {
				return &statusError{statusUsage, "hooks test: --name goes with --record"}
			}
			if err := dirs.resolve(); err != nil {
				return err
			}
			fixtures, err := fixturesToTest(dirs.root, args)
			if err != nil {
				return &statusError{statusUsage, "hooks test: " + err.Error()}
			}
			files, err := testFixtures(cmd.Context(), dirs, fixtures)
			if err != nil {
				return failed("hooks test: %v", err)
			}
			if asJSON {
				err = printJSON(cmd, files)
			} else {
				printTested(cmd.OutOrStdout(), files, verbose)
			}
			if err != nil {
				return err
			}
			for _, f := range files {
				if f.failed() > 0 || len(f.Findings) > 0 {
					return &statusError{statusFailed, ""}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "name the cases that passed, too, with what each printed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().StringVar(&record, "record", "", "add a case to the fixture of a script from the recorded decision `SESSION#SEQ`, or last")
	cmd.Flags().StringVar(&name, "name", "", "what the recorded case is called")
	return cmd
}

// fixturesToTest lists the fixtures that are named, or all below .agent-ls.
func fixturesToTest(root string, named []string) ([]string, error) {
	where := "below .agent-ls"
	if len(named) == 0 {
		named = []string{filepath.Join(root, ".agent-ls")}
	} else {
		where = "in what is named"
	}
	var out []string
	for _, name := range named {
		path, err := filepath.Abs(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return nil, err
		}
		found, err := fixturesOf(path, name)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there is no fixture (NAME_test.toml beside NAME.risor) %s", where)
	}
	return out, nil
}

func fixturesOf(path, name string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return fixturesBelow(path)
	}
	if filepath.Ext(path) == ".risor" {
		fixture := replay.FixtureOf(path)
		if _, err := os.Stat(fixture); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s has no fixture: there is no %s beside it", name, filepath.Base(fixture))
		}
		path = fixture
	}
	if _, ok := replay.IsFixture(path); !ok {
		return nil, fmt.Errorf("%s is neither a script nor a fixture: one is called NAME_test.toml", name)
	}
	return []string{path}, nil
}

// fixturesBelow lists the fixtures in a folder.
func fixturesBelow(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, ok := replay.IsFixture(path); ok && !entry.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

// testFixtures runs them one after another: their output has an order, and each
// takes a few milliseconds.
func testFixtures(ctx context.Context, dirs *folders, fixtures []string) ([]*testedFile, error) {
	var limits hooks.Limits
	if config, _ := manifest.Load(ctx, dirs.sources()); config != nil {
		limits = config.HookLimits
	}
	engine := hooks.NewEngine(hooks.Options{Log: quiet()})
	defer engine.Close()
	var files []*testedFile
	for _, path := range fixtures {
		f, err := testFixture(ctx, engine, path, limits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", relative(path), err)
		}
		files = append(files, f)
	}
	return files, nil
}

func testFixture(ctx context.Context, engine *hooks.Engine, path string, limits hooks.Limits) (*testedFile, error) {
	script, _ := replay.IsFixture(path)
	f := &testedFile{File: relative(path), Script: relative(script), Cases: []testedCase{}, Findings: []foundJSON{}}
	var fixture *replay.Fixture
	fixture, f.text, f.findings = readFixture(path)
	if fixture != nil {
		ready, found, err := replay.Load(ctx, engine, script, nil, "", limits)
		found = slices.DeleteFunc(found, func(f check.Finding) bool { return f.Severity != check.Error })
		if ready == nil && len(found) == 0 {
			return nil, err
		}
		f.findings = append(f.findings, found...)
		for i := range fixture.Cases {
			if ready == nil {
				break
			}
			f.Cases = append(f.Cases, f.tested(ready.Test(ctx, &fixture.Cases[i])))
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
		}
	}
	for _, found := range f.findings {
		f.Findings = append(f.Findings, foundOf(found, readText))
	}
	return f, nil
}

// readFixture reads and checks a fixture; it is nil when it has errors.
func readFixture(path string) (*replay.Fixture, []byte, []check.Finding) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	var text []byte
	if err == nil {
		text, err = textfile.Read(path, textfile.Max)
	}
	if err != nil {
		return nil, nil, []check.Finding{check.NewFinding(check.CodeManifestSyntax, path, check.Span{}, "the fixture cannot be read: "+err.Error())}
	}
	fixture, findings := replay.ReadFixture(path, text, nil)
	return fixture, text, findings
}

func (f *testedFile) tested(r replay.CaseResult) testedCase {
	lines := syntax.NewLines(string(f.text))
	d := r.Decision
	out := testedCase{
		Name: r.Case.Name, Event: r.Case.Event, Line: lines.Position(r.Case.Span.Start).Line, Passed: len(r.Mismatches) == 0,
		Action: d.Action, Reason: d.Reason, Printed: d.Printed, DurationUs: d.DurationUs,
	}
	if d.Hook.At != nil {
		out.At = fmt.Sprintf("%s:%d:%d", relative(d.Hook.At.Path), d.Hook.At.Start.Line, d.Hook.At.Start.Column)
	}
	for _, m := range r.Mismatches {
		if script, _ := replay.IsFixture(f.File); d.Hook.At != nil { // messages name the script in full
			full := filepath.Dir(d.Hook.At.Path) + string(filepath.Separator)
			m.Got = strings.ReplaceAll(m.Got, full, strings.TrimSuffix(script, filepath.Base(script)))
		}
		out.Failures = append(out.Failures, testedMismatch{lines.Position(m.Span.Start).Line, m.What, m.Got, m.Want, m.String()})
	}
	return out
}

func printTested(w io.Writer, files []*testedFile, verbose bool) {
	cases, wrong, broken := 0, 0, 0
	for _, f := range files {
		printFindings(w, f.findings, readText)
		for _, c := range f.Cases {
			if c.Passed && !verbose {
				continue
			}
			word := "FAIL"
			if c.Passed {
				word = "pass"
			}
			about := c.Event
			if verbose {
				about += fmt.Sprintf(", %v", time.Duration(c.DurationUs)*time.Microsecond)
			}
			fmt.Fprintf(w, "%s  %s:%d: %s (%s)\n", word, f.File, c.Line, report.Visible(c.Name), about)
			for _, m := range c.Failures {
				fmt.Fprintf(w, "      %s:%d: %s\n", f.File, m.Line, report.Visible(m.text))
			}
			if c.At != "" && !c.Passed {
				fmt.Fprintf(w, "      decided at %s\n", c.At)
			}
			if c.Printed != "" {
				fmt.Fprintf(w, "      printed: %s\n", strings.ReplaceAll(report.Visible(strings.TrimRight(c.Printed, "\n")), "\n", "\n               "))
			}
		}
		cases, wrong = cases+len(f.Cases), wrong+f.failed()
		if len(f.Findings) > 0 {
			broken++
		}
	}
	fmt.Fprintf(w, "%s of %s, %d failed", plural(cases, "case"), plural(len(files), "fixture"), wrong)
	if broken > 0 {
		fmt.Fprintf(w, ", %s with errors that did not run", plural(broken, "fixture"))
	}
	fmt.Fprintln(w)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
