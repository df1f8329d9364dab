package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"agent-ls/loop/agent"
)

func newHooksCommand(dirs *folders) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "What hooks are declared and what they did",
	}
	cmd.AddCommand(newHooksListCommand(dirs), newHooksExplainCommand(dirs), newHooksTrustCommand(dirs), newHooksSchemaCommand(), newHooksImportCommand(dirs),
		newHooksTestCommand(dirs), newHooksReplayCommand(dirs))
	return group(cmd)
}

func newHooksListCommand(dirs *folders) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List declared hooks: can each run, did it ever, with what result",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAgent(dirs, func(a *agent.Agent) error {
				rows, err := a.Hooks(cmd.Context())
				if err != nil {
					return failed("list hooks: %v", err)
				}
				if asJSON {
					return printJSON(cmd, rows)
				}
				broken := false
				table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
				for _, h := range rows {
					where := h.Hook.Command
					if h.Hook.At != nil {
						where = relative(h.Hook.At.Path)
					}
					last := "never ran"
					if h.LastRun != nil {
						last = fmt.Sprintf("%s: %s", h.LastRun.At.Local().Format(time.DateTime), h.LastRun.Action)
					}
					state := "ready"
					if h.Trust == "untrusted" || h.Trust == "changed" {
						state = h.Error // not broken: a person has to look at it
					} else if h.Error != "" {
						state, broken = h.Error, true
					} else if !h.Enabled {
						state = "disabled"
					}
					fmt.Fprintf(table, "%s\t%s\t%s\t%d fired\t%d denied\t%d failed\t%s\t%s\n",
						h.Event, orAll(h.Stage), where, h.Counts.Fired, h.Counts.Denied, h.Counts.Failed, last, state)
				}
				if err := table.Flush(); err != nil {
					return err
				}
				if len(rows) == 0 {
					fmt.Fprintln(os.Stderr, "no hooks are declared; see the [stages.NAME.hooks] table of .agent-ls/agent.toml")
				}
				if broken {
					return &statusError{statusFailed, ""}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func orAll(stage string) string {
	if stage == "" {
		return "every stage"
	}
	return stage
}
