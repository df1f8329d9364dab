package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"agent-ls/hooks/contract"
	"agent-ls/loop/agent"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/loop/trust"
)

func newHooksExplainCommand(dirs *folders) *cobra.Command {
	var stage string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain TOOL [ARGUMENTS]",
		Short: "Say what would happen to a call, and which layer would decide it",
		Long:  "Say what would happen to a call, and which layer would decide it. ARGUMENTS is a JSON object. Scripts run on a batch of this one call; nothing else does, and nothing is recorded.",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments := json.RawMessage("{}")
			if len(args) > 1 {
				arguments = json.RawMessage(args[1])
			}
			var object map[string]any
			if err := json.Unmarshal(arguments, &object); err != nil {
				return &statusError{statusUsage, fmt.Sprintf("the arguments are no JSON object: %v", err)}
			}
			return withAgent(dirs, func(a *agent.Agent) error {
				got, err := a.Explain(cmd.Context(), args[0], arguments, stage)
				if err != nil {
					return failed("explain: %v", err)
				}
				if asJSON {
					return printJSON(cmd, got)
				}
				table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				for _, s := range got.Steps {
					fired := "fired"
					if !s.Fired {
						fired = "-"
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Layer, fired, s.Outcome, s.Source, s.Because)
				}
				if err := table.Flush(); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), got.Outcome)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&stage, "stage", "", "the stage that the call is made in; the first one by default")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func newHooksTrustCommand(dirs *folders) *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use:   "trust [ID]",
		Short: "Trust a command of the workspace as it is now, or list what waits for trust",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAgent(dirs, func(a *agent.Agent) error {
				cfg, _ := manifest.Load(cmd.Context(), dirs.sources())
				if cfg == nil {
					return failed("there is no manifest here")
				}
				waiting := 0
				for _, t := range cfg.Starters() {
					if !t.Workspace || len(args) > 0 && t.ID != args[0] {
						continue
					}
					if len(args) == 0 {
						fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", t.ID, t.State, starts(t.Item))
						if !t.State.Allows() {
							waiting++
						}
						continue
					}
					if err := a.Trust(cmd.Context(), t.ID, t.Digest, !revoke); err != nil {
						return failed("%v", err)
					}
					said := "is trusted as it is now"
					if revoke {
						said = "is not trusted any more"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s\n", t.ID, said, starts(t.Item))
					return nil
				}
				if len(args) > 0 {
					if err := a.Trust(cmd.Context(), args[0], "", false); err != nil && errors.Is(err, run.ErrUnknownID) {
						return failed("%v", err)
					}
				} else if waiting == 0 {
					fmt.Fprintln(os.Stderr, "nothing of this workspace waits for trust")
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take trust back")
	return cmd
}

// starts is what an entry that wants trust would do: the command line or the
// words that no shell reads, or the address, and the variables that it sets.
func starts(i trust.Item) string {
	what := i.Line
	switch {
	case len(i.Argv) > 0:
		words := make([]string, len(i.Argv))
		for n, w := range i.Argv {
			if words[n] = w; w == "" || strings.ContainsAny(w, " \t\n\"'\\") {
				words[n] = strconv.Quote(w)
			}
		}
		what = strings.Join(words, " ")
	case what == "":
		what = "connects to " + i.URL
	}
	if len(i.Env) > 0 {
		what += " (sets " + strings.Join(slices.Sorted(maps.Keys(i.Env)), ", ") + ")"
	}
	return report.Visible(strings.ReplaceAll(what, "\n", "\\n"))
}

func newHooksSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [EVENT]",
		Short: "Print the JSON schema of an event: what its hooks are given and may answer",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				for _, e := range contract.Events() {
					fmt.Fprintln(cmd.OutOrStdout(), e.Name)
				}
				return nil
			}
			e := contract.ByName(args[0])
			if e == nil {
				e = contract.ByFunction(args[0])
			}
			if e == nil {
				var names []string
				for _, e := range contract.Events() {
					names = append(names, e.Name)
				}
				return &statusError{statusUsage, fmt.Sprintf("there is no event %q%s", args[0], contract.DidYouMean(args[0], names))}
			}
			encoder := json.NewEncoder(os.Stdout)
			encoder.SetIndent("", "  ")
			return encoder.Encode(e.Schema())
		},
	}
}
