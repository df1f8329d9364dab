package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agent-ls/loop"
	"agent-ls/loop/agent"
	"agent-ls/loop/run"
)

func newSessionsExportCommand(dirs *folders) *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session out as Markdown or JSON, secrets masked",
		Long: "Writes a session out. What looks like a key or a password is masked, and so are the values that\n" +
			"the environment has for names that look secret; hooks on tracing:redact can mask more. A secret\n" +
			"that looks like any other word is not found: read an export before you give it away.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			form := run.Format(format)
			switch {
			case format == "" && filepath.Ext(file) == ".json":
				form = run.JSON
			case format == "" || format == "md":
				form = run.Markdown
			case form != run.Markdown && form != run.JSON:
				return &statusError{statusUsage, fmt.Sprintf("unknown format %q; there are markdown (md) and json", format)}
			}
			return withSession(cmd, dirs, args[0], func(a *agent.Agent, id string) error {
				text, err := a.Export(cmd.Context(), id, form)
				if err != nil {
					return startError(err, dirs.root)
				}
				if file == "" || file == "-" {
					_, err = cmd.OutOrStdout().Write(text)
				} else {
					err = os.WriteFile(file, text, 0o600)
				}
				if err != nil {
					return failed("export: %v", err)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "", "markdown (md) or json (default: by the name of the file, else markdown)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "the file to write (default: standard output)")
	return cmd
}

func newSessionsForkCommand(dirs *folders) *cobra.Command {
	var (
		at     int64
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Make a new session of what happened in another one up to some point",
		Long: "Makes a new session of what happened in another one, up to the event that --at names by its seq\n" +
			"(see sessions show --json), and prints its id. Go on in it with: agent-ls run --session ID PROMPT.\n" +
			"Files stay as they are.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at < 0 {
				return &statusError{statusUsage, "--at is negative"}
			}
			// What a fork at some point cuts off is no failure, so nobody is told of it.
			return withFrontend(dirs, func() run.Frontend { return unseen{} }, func(a *agent.Agent) error {
				id, err := a.Named(cmd.Context(), args[0], false)
				if err == nil {
					id, err = a.Fork(cmd.Context(), id, at)
				}
				if err != nil {
					return failed("fork: %v", err)
				}
				if asJSON {
					return printJSON(cmd, map[string]string{"sessionId": id})
				}
				fmt.Fprintln(cmd.OutOrStdout(), id)
				return nil
			})
		},
	}
	cmd.Flags().Int64Var(&at, "at", 0, "the seq of the last event to take along (default: all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func newSessionsSetCommand(dirs *folders) *cobra.Command {
	var mode, model string
	cmd := &cobra.Command{
		Use:   "set SESSION",
		Short: "Choose the mode or the model of a session, from its next turn on",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch loop.Mode(mode) {
			case "", loop.ModeAsk, loop.ModePlan, loop.ModeAuto:
			default:
				return &statusError{statusUsage, fmt.Sprintf("unknown mode %q; the modes are ask, plan and auto", mode)}
			}
			if mode == "" && model == "" {
				return &statusError{statusUsage, "nothing to set: give --mode, --model or both"}
			}
			return withSession(cmd, dirs, args[0], func(a *agent.Agent, id string) error {
				if err := a.Set(cmd.Context(), id, loop.Mode(mode), model); err != nil {
					return startError(err, dirs.root)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "ask, plan or auto")
	cmd.Flags().StringVarP(&model, "model", "m", "", "a model under [models]")
	return cmd
}

func newSessionsDeleteCommand(dirs *folders) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete SESSION…",
		Short: "Delete sessions with everything that was recorded of them; files stay as they are",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAgent(dirs, func(a *agent.Agent) error {
				var wrong []string
				for _, id := range args {
					id, err := a.Named(cmd.Context(), id, false)
					if err == nil {
						err = a.Delete(cmd.Context(), id)
					}
					switch {
					case errors.Is(err, run.ErrSessionBusy):
						wrong = append(wrong, fmt.Sprintf("session %s is under way: cancel it first", id))
					case err != nil:
						wrong = append(wrong, err.Error())
					}
				}
				if len(wrong) > 0 {
					return failed("delete: %s", strings.Join(wrong, "; "))
				}
				return nil
			})
		},
	}
	return cmd
}
