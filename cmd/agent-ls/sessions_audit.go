package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agent-ls/loop/agent"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

func newSessionsAuditCommand(dirs *folders) *cobra.Command {
	var (
		verify, asJSON bool
		heads          []string
	)
	cmd := &cobra.Command{
		Use:   "audit [SESSION|RUN]",
		Short: "Print who decided what, call by call; --verify checks that nothing of it was changed",
		Long: "Prints what hooks, rules, taint, grants and people said about each call of a session, or of one\n" +
			"run of it; without an id, of the newest session.\n\n" +
			"Every step of a session carries a SHA-256 link to the one before. --verify walks these links and\n" +
			"reports each step that was changed, taken out, put in or moved; exit status 1 says that there is\n" +
			"one. The newest link is printed as the head. Whoever can write the journal could also write all\n" +
			"links anew: note the head elsewhere, and give it back with --head, to find that out as well.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, h := range heads {
				if b, err := hex.DecodeString(h); err != nil || len(b) != 32 {
					return &statusError{statusUsage, fmt.Sprintf("--head %s: a head has 64 hexadecimal digits", h)}
				}
			}
			return withAgent(dirs, func(a *agent.Agent) error {
				id, err := sessionOrNewest(cmd, a, args)
				if err != nil {
					return err
				}
				audit, err := a.Audit(cmd.Context(), id, heads...)
				if err != nil {
					return failed("audit: %v", err)
				}
				switch {
				case asJSON:
					err = printJSON(cmd, audit)
				case verify:
					printChain(cmd.OutOrStdout(), audit)
				default:
					printAudit(cmd.OutOrStdout(), audit)
				}
				if err == nil && (verify || len(heads) > 0) && !audit.Holds() {
					return &statusError{statusFailed, ""}
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "check the chain; exit status 1 if it does not hold")
	cmd.Flags().StringSliceVar(&heads, "head", nil, "a head noted before, which the chain must still have")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// sessionOrNewest is the session that was named, or else the newest.
func sessionOrNewest(cmd *cobra.Command, a *agent.Agent, args []string) (string, error) {
	if len(args) > 0 {
		id, err := a.Named(cmd.Context(), args[0], true)
		if err != nil {
			return "", failed("audit: %v", err)
		}
		return id, nil
	}
	newest, _, err := a.Sessions(cmd.Context(), 1, "", "")
	if err != nil {
		return "", failed("list sessions: %v", err)
	}
	if len(newest) == 0 {
		return "", failed("there is no session yet")
	}
	return newest[0].SessionID, nil
}

func printAudit(out io.Writer, a run.Audit) {
	printDecisions(out, a)
	fmt.Fprintln(out)
	printChain(out, a)
}

func printDecisions(out io.Writer, a run.Audit) {
	fmt.Fprintf(out, "session %s\n", a.SessionID)
	for _, r := range a.Runs {
		fmt.Fprintf(out, "\nrun %s  %s  %s\n", r.RunID, r.At.Local().Format(time.DateTime), runEnd(r))
		fmt.Fprintf(out, "  %s\n  agent %s, model %s, mode %s\n", shorten(report.Visible(firstLine(r.Prompt))), r.Agent, r.Model, r.Mode)
		for _, s := range r.Steps {
			printAuditStep(out, "  ", s)
		}
		for _, c := range r.Calls {
			fmt.Fprintf(out, "  %s %s %s\n", c.CallID, c.Tool, shorten(report.Visible(string(c.Arguments))))
			for _, s := range c.Steps {
				printAuditStep(out, "    ", s)
			}
			if c.Outcome != "" {
				fmt.Fprintf(out, "    → %s\n", c.Outcome)
			}
		}
	}
	for _, child := range a.Children {
		fmt.Fprintln(out)
		printDecisions(out, child)
	}
}

func runEnd(r run.AuditRun) string {
	if r.Stop == "" || string(r.Stop) == "end" {
		return string(r.Status)
	}
	return fmt.Sprintf("%s (%s)", r.Status, r.Stop)
}

func printAuditStep(out io.Writer, indent string, s run.AuditStep) {
	text := fmt.Sprintf("%s%-8s  %-7s", indent, s.Layer, s.Outcome)
	for _, part := range []string{s.Source, s.Because} {
		if part != "" {
			text += "  " + report.Visible(strings.ReplaceAll(part, "\n", " "))
		}
	}
	if s.Grant != "" {
		text += "  granted: " + report.Visible(s.Grant)
	}
	fmt.Fprintln(out, strings.TrimRight(text, " "))
}

func printChain(out io.Writer, a run.Audit) {
	c := a.Chain
	if c.Steps == 0 {
		fmt.Fprintf(out, "no step of session %s has a link: an older version wrote them\n", a.SessionID)
	} else {
		fmt.Fprintf(out, "head %s\n", c.Head)
	}
	if c.Older > 0 && c.Steps > 0 {
		are := "are"
		if c.Older == 1 {
			are = "is"
		}
		fmt.Fprintf(out, "%s at the beginning %s older than the chain and not covered\n", counted(c.Older, "step"), are)
	}
	for _, b := range c.Breaks {
		fmt.Fprintf(out, "broken at step %d, behind event %d: %s\n", b.Step, b.Seq, b.What)
	}
	for head, there := range c.Noted {
		if !there {
			fmt.Fprintf(out, "the noted head %s is not in the chain, or something before it is broken\n", head)
		}
	}
	if c.Holds {
		fmt.Fprintf(out, "the chain of %s holds\n", counted(c.Steps, "step"))
	}
	for _, child := range a.Children {
		fmt.Fprintf(out, "sub-agent's session %s: ", child.SessionID)
		printChain(out, child)
	}
}
