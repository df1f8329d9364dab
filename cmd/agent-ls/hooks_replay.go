package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/hooks/replay"
	"agent-ls/hooks/textfile"
	"agent-ls/loop/agent"
	"agent-ls/loop/redact"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/loop/sandbox"
)

func newHooksReplayCommand(dirs *folders) *cobra.Command {
	var (
		p      run.ReplayParams
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "replay SCRIPT",
		Short: "Say what a hook script, as it is now, would decide otherwise about what was recorded",
		Long: "Say what a hook script, as it is now, would decide otherwise about what was recorded. Recorded events go\n" +
			"through the script with what it saw then; no tool runs and no model is asked. Exit status 0: nothing\n" +
			"would change; 1: something would, or the script fails; 2: it could not be looked at.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := replayFlags(cmd, &p); err != nil {
				return err
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return &statusError{statusUsage, err.Error()}
			}
			if p.Text, err = textfile.Read(path, textfile.Max); err != nil {
				return &statusError{statusUsage, fmt.Sprintf("read the script: %v", err)}
			}
			if p.Text == nil {
				p.Text = []byte{}
			}
			p.Path = path
			return withAgent(dirs, func(a *agent.Agent) error { return playAgain(cmd, a, p, asJSON) })
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&p.Last, "last", 0, "only the newest `N` sessions")
	flags.StringArrayVar(&p.Sessions, "session", nil, "only the session whose id begins with `ID`, with its sub-agents; may be given again")
	flags.StringVar(&p.Function, "function", "", "only this function of the script")
	flags.IntVar(&p.Limit, "limit", 0, fmt.Sprintf("only the newest `N` events (10000 by default, %d at most)", run.ReplayMost))
	flags.BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func replayFlags(cmd *cobra.Command, p *run.ReplayParams) error {
	wrong := func(format string, args ...any) error {
		return &statusError{statusUsage, fmt.Sprintf(format, args...)}
	}
	switch flags := cmd.Flags(); {
	case flags.Changed("last") && len(p.Sessions) > 0:
		return wrong("--last and --session say two different things")
	case flags.Changed("last") && (p.Last < 1 || p.Last > run.ReplaySessions):
		return wrong("--last is a number from 1 to %d", run.ReplaySessions)
	case flags.Changed("limit") && (p.Limit < 1 || p.Limit > run.ReplayMost):
		return wrong("--limit is a number from 1 to %d", run.ReplayMost)
	case len(p.Sessions) > run.ReplaySessions:
		return wrong("at most %d sessions can be named", run.ReplaySessions)
	}
	for _, id := range p.Sessions {
		if id == "" {
			return wrong("--session is empty")
		}
	}
	return nil
}

// playAgain replays and prints what came of it.
func playAgain(cmd *cobra.Command, a *agent.Agent, p run.ReplayParams, asJSON bool) error {
	for i, word := range p.Sessions {
		id, err := a.Named(cmd.Context(), word, false)
		if err != nil {
			return &statusError{statusUsage, err.Error()}
		}
		p.Sessions[i] = id
	}
	got, err := a.Replay(cmd.Context(), p)
	switch {
	case errors.Is(err, context.Canceled):
		return &statusError{statusInterrupted, "interrupted"}
	case errors.Is(err, run.ErrUnknownID):
		return &statusError{statusUsage, err.Error()}
	case err != nil:
		return &statusError{statusUsage, fmt.Sprintf("replay: %v", err)}
	}
	out := replayReport(got)
	if asJSON {
		err = printJSON(cmd, out)
	} else {
		err = printReplay(cmd.OutOrStdout(), got, out)
	}
	if err != nil {
		return err
	}
	switch n := got.Unrecorded; {
	case n > 0:
		fmt.Fprintf(os.Stderr, "%d recorded decisions were not played: what the script saw then is not on record, being too old or more than is kept\n", n)
	case got.Checked == 0 && len(got.Findings) == 0:
		fmt.Fprintln(os.Stderr, "nothing is recorded that this script could decide about")
	}
	if len(out.Changed)+len(out.Errors) > 0 {
		return &statusError{statusFailed, ""}
	}
	return nil
}

// replayed is the JSON form, with paths where agent/replay has URIs.
type replayedJSON struct {
	Checked    int                 `json:"checked"`
	Unchanged  int                 `json:"unchanged"`
	Changed    []replayChangedJSON `json:"changed"`
	Errors     []replayErrorJSON   `json:"errors"`
	NotListed  int                 `json:"notListed,omitempty"`
	Unrecorded int                 `json:"unrecorded,omitempty"`
}

type replayChangedJSON struct {
	Decision  hooks.Decision `json:"decision"`
	Now       hooks.Decision `json:"now"`
	SessionID string         `json:"sessionId"`
	Seq       int64          `json:"seq"`
	Because   string         `json:"because"`
}

type replayErrorJSON struct {
	Message   string            `json:"message"`
	Kind      hooks.FailureKind `json:"kind"`
	At        string            `json:"at,omitempty"` // file:line:column
	SessionID string            `json:"sessionId,omitempty"`
	Seq       int64             `json:"seq,omitempty"`
	Decision  *hooks.Decision   `json:"decision,omitempty"`
}

// replayReport is what is printed, with secrets masked: it may end in the log
// of a build.
func replayReport(got *run.Replayed) replayedJSON {
	rules := redact.New(os.Environ(), sandbox.Secret)
	out := replayedJSON{Checked: got.Checked, Unchanged: got.Unchanged, Changed: []replayChangedJSON{}, Errors: []replayErrorJSON{}, NotListed: got.More, Unrecorded: got.Unrecorded}
	for _, f := range got.Findings {
		line, column := place(f, readText(f.Path))
		out.Errors = append(out.Errors, replayErrorJSON{Message: f.Message, Kind: "finding", At: fmt.Sprintf("%s:%d:%d", relative(f.Path), line, column)})
	}
	for _, r := range got.Changed {
		out.Changed = append(out.Changed, replayChangedJSON{
			Decision: masked(rules, r.Was), Now: masked(rules, r.Now), SessionID: r.Was.SessionID, Seq: r.Was.Seq, Because: rules.Text(r.Because),
		})
	}
	for _, r := range got.Broken {
		was := masked(rules, r.Was)
		e := replayErrorJSON{Message: rules.Text(withoutPlace(r)), Kind: r.Now.Error.Kind, SessionID: r.Was.SessionID, Seq: r.Was.Seq, Decision: &was}
		if at := r.Now.Error.At; at != nil {
			e.At = fmt.Sprintf("%s:%d:%d", relative(at.Path), at.Start.Line, at.Start.Column)
		}
		out.Errors = append(out.Errors, e)
	}
	return out
}

// withoutPlace is why an event is broken, without the place that it begins
// with.
func withoutPlace(r replay.Result) string {
	at := r.Now.Error.At
	if at == nil {
		return r.Because
	}
	return strings.TrimPrefix(r.Because, fmt.Sprintf("%s:%d:%d: ", at.Path, at.Start.Line, at.Start.Column))
}

func masked(rules *redact.Rules, d hooks.Decision) hooks.Decision {
	d.Reason, d.Printed = rules.Text(d.Reason), rules.Text(d.Printed)
	changes := d.Changes
	d.Changes = nil
	for _, c := range changes {
		c.Before, c.After = maskedJSON(rules, c.Before), maskedJSON(rules, c.After)
		d.Changes = append(d.Changes, c)
	}
	if d.Error != nil {
		f := *d.Error
		f.Message = rules.Text(f.Message)
		d.Error = &f
	}
	return d
}

func maskedJSON(rules *redact.Rules, raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	v, err := contract.ReadPlain(raw)
	if err == nil {
		raw, err = contract.WritePlain(rules.Value(v))
	}
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// printReplay writes the table for people: what would change, what fails, and
// a line that counts.
func printReplay(w io.Writer, got *run.Replayed, out replayedJSON) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(d hooks.Decision, now, where, why string) {
		about := cmp.Or(d.CallID, d.Stage)
		fmt.Fprintf(table, "%s\t%s#%d\t%s\t%s\t%s → %s\t%s\t%s\n", d.At.Local().Format(time.DateTime), d.SessionID, d.Seq, d.Event, about, d.Action, now, where, report.Visible(why))
	}
	if len(got.Changed)+len(got.Broken) > 0 {
		fmt.Fprintln(table, "WHEN\tSESSION#SEQ\tEVENT\tCALL OR STAGE\tTHEN → NOW\tWHERE\tWHY")
	}
	for _, c := range out.Changed {
		row(c.Decision, c.Now.Action, placeOf(c.Now), c.Because)
	}
	for _, e := range out.Errors {
		if e.Decision == nil {
			fmt.Fprintf(table, "%s: error: %s\n", e.At, report.Visible(e.Message))
			continue
		}
		row(*e.Decision, "error", e.At, e.Message)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if got.More > 0 {
		fmt.Fprintf(w, "… and %d more that are not listed\n", got.More)
	}
	if len(got.Findings) > 0 {
		return nil
	}
	listed := func(n int) string { return plural(n, "event") }
	more := ""
	if n := len(got.Broken); n > 0 {
		more = fmt.Sprintf(", %d cannot be decided", n)
	}
	_, err := fmt.Fprintf(w, "%s checked: %d unchanged, %d would change%s\n", listed(got.Checked), got.Unchanged, len(got.Changed), more)
	return err
}

func placeOf(d hooks.Decision) string {
	if d.Hook.At == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", relative(d.Hook.At.Path), d.Hook.At.Start.Line, d.Hook.At.Start.Column)
}
