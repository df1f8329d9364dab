package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"agent-ls/hooks"
	"agent-ls/loop/agent"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

func newSessionsCommand(dirs *folders) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "Past runs of this workspace",
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return refuseInSandbox("sessions", true)
		},
	}
	cmd.AddCommand(newSessionsListCommand(dirs), newSessionsShowCommand(dirs), newSessionsExportCommand(dirs), newSessionsResumeCommand(dirs),
		newSessionsForkCommand(dirs), newSessionsSetCommand(dirs), newSessionsUndoCommand(dirs), newSessionsDeleteCommand(dirs), newSessionsAuditCommand(dirs))
	return group(cmd)
}

// withAgent opens the service for a command that only reads or writes the
// journal.
func withAgent(dirs *folders, do func(*agent.Agent) error) error {
	return withFrontend(dirs, func() run.Frontend { return newTerminal(dirs.root, os.Stderr) }, do)
}

// withFrontend is withAgent with something else that is told what happens.
func withFrontend(dirs *folders, frontend func() run.Frontend, do func(*agent.Agent) error) error {
	if err := dirs.resolve(); err != nil {
		return err
	}
	a, err := dirs.open(frontend(), quiet())
	if err != nil {
		return failed("%v", err)
	}
	defer a.Close()
	return do(a)
}

// unseen is the front end of a command whose events mean nothing to whoever
// called it.
type unseen struct{}

func (unseen) Event(report.Event)      {}
func (unseen) Decision(hooks.Decision) {}
func (unseen) Approve(context.Context, report.Approval) (report.Answer, error) {
	return report.Answer{}, run.ErrNoApprover
}

// withSession is withAgent for a command about one session, which word names
// by the beginning of its id.
func withSession(cmd *cobra.Command, dirs *folders, word string, do func(a *agent.Agent, id string) error) error {
	return withAgent(dirs, func(a *agent.Agent) error {
		id, err := a.Named(cmd.Context(), word, false)
		if err != nil {
			return failed("%v", err)
		}
		return do(a, id)
	})
}

func printJSON(cmd *cobra.Command, v any) error {
	out := json.NewEncoder(cmd.OutOrStdout())
	out.SetIndent("", "  ")
	return out.Encode(v)
}

func newSessionsListCommand(dirs *folders) *cobra.Command {
	var (
		limit  int
		query  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAgent(dirs, func(a *agent.Agent) error {
				sessions, _, err := a.Sessions(cmd.Context(), limit, "", query)
				if err != nil {
					return failed("list sessions: %v", err)
				}
				if asJSON {
					return printJSON(cmd, sessions)
				}
				table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				for _, s := range sessions {
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.SessionID,
						s.StartedAt.Local().Format(time.DateTime), s.Status, counted(s.Turns, "turn"), shorten(report.Visible(firstLine(s.Title))))
				}
				if len(sessions) == 0 {
					said := "there is no session of this workspace yet"
					if query != "" {
						said = fmt.Sprintf("no session has %q in its title or text", query)
					}
					fmt.Fprintln(os.Stderr, said)
				}
				return table.Flush()
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "at most this many")
	cmd.Flags().StringVar(&query, "search", "", "only sessions whose title or text has this")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// shown is a session as `sessions show --json` prints it.
type shown struct {
	Events    []report.Event   `json:"events"`
	Decisions []hooks.Decision `json:"decisions"`
}

func newSessionsShowCommand(dirs *folders) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show what happened in a session, each hook decision included",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(cmd, dirs, args[0], func(a *agent.Agent, id string) error {
				s, err := readSession(cmd.Context(), a, id)
				if err != nil {
					return failed("%v", err)
				}
				if asJSON {
					return printJSON(cmd, s)
				}
				show(newTerminal(dirs.root, os.Stdout), id, s)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// readSession reads a whole session, page by page.
func readSession(ctx context.Context, a *agent.Agent, id string) (shown, error) {
	var s shown
	for after := int64(0); ; {
		page, last, err := a.Events(ctx, id, after, 1000)
		if err != nil {
			return s, err
		}
		s.Events = append(s.Events, page...)
		if len(page) == 0 || page[len(page)-1].Seq >= last {
			break
		}
		after = page[len(page)-1].Seq
	}
	runs := map[string]bool{}
	for _, e := range s.Events {
		if runs[e.RunID] {
			continue
		}
		runs[e.RunID] = true
		for cursor := ""; ; {
			page, next, err := a.Decisions(ctx, run.DecisionQuery{RunID: e.RunID, Limit: 1000, Cursor: cursor})
			if err != nil {
				return s, err
			}
			s.Decisions = append(s.Decisions, page...)
			if next == "" {
				break
			}
			cursor = next
		}
	}
	return s, nil
}

// show prints events and decisions in the order in which they happened: a
// decision stands before the first event that came after it. Each run of the
// session begins with its id, its date and its prompt.
func show(t *terminal, id string, s shown) {
	next := 0
	t.line("%s %s", t.bold("session"), id)
	for _, e := range s.Events {
		for next < len(s.Decisions) && s.Decisions[next].At.Before(e.At) {
			t.Decision(s.Decisions[next])
			next++
		}
		if e.Type == report.RunStarted {
			t.line("\n%s  %s", e.RunID, e.At.Local().Format(time.DateTime))
			t.line("%s %s", t.bold("prompt:"), strings.ReplaceAll(strings.TrimRight(e.Prompt, "\n"), "\n", "\n  "))
		}
		t.Event(e)
	}
	for ; next < len(s.Decisions); next++ {
		t.Decision(s.Decisions[next])
	}
}

func newSessionsResumeCommand(dirs *folders) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resume SESSION",
		Short: "Go on with a run that was cut off",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := dirs.resolve(); err != nil {
				return err
			}
			return runOnce(cmd.Context(), dirs, asJSON, func(ctx context.Context, a *agent.Agent) (run.Started, error) {
				id, err := a.Named(ctx, args[0], false)
				if err != nil {
					return run.Started{}, err
				}
				resumed, err := a.Resume(ctx, id)
				if err == nil && resumed.RunID == "" {
					err = fmt.Errorf("nothing to resume: %s", resumed.Reason)
				}
				return run.Started{RunID: resumed.RunID, SessionID: id}, err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON on standard output")
	return cmd
}

func newSessionsUndoCommand(dirs *folders) *cobra.Command {
	var (
		call   string
		dryRun bool
	)
	cmd := &cobra.Command{
		Use:   "undo RUN|SESSION",
		Short: "Put back what a run changed; files changed since stay as they are",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAgent(dirs, func(a *agent.Agent) error {
				runID, err := a.Named(cmd.Context(), args[0], true)
				if err != nil {
					return failed("undo: %v", err)
				}
				if events, _, err := a.Events(cmd.Context(), runID, 0, 1000); err == nil {
					for _, e := range events { // a session: its newest run
						runID = e.RunID
					}
				}
				undone, err := a.Undo(cmd.Context(), runID, call, dryRun)
				if err != nil {
					return failed("undo %s: %v", args[0], err)
				}
				t := newTerminal(dirs.root, os.Stdout)
				for _, edit := range undone.Edits {
					t.line("%s", t.diff(edit.Diff))
				}
				for _, path := range undone.Conflicts {
					t.line("changed since, left as it is: %s", relative(path))
				}
				if len(undone.Conflicts) > 0 {
					return &statusError{statusFailed, ""}
				}
				if len(undone.Edits) == 0 {
					fmt.Fprintf(os.Stderr, "nothing to undo: run %s changed no file, or it is undone already\n", runID)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&call, "call", "", "only this call")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show it, change nothing")
	return cmd
}
