package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"agent-ls/hooks/textfile"
	"agent-ls/loop"
	"agent-ls/loop/agent"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/loop/sandbox"
)

func newRunCommand(dirs *folders) *cobra.Command {
	var (
		params  run.StartParams
		mode    string
		asJSON  bool
		session string
		schema  string
	)
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT",
		Short: "Run the agent once in this workspace",
		Long: "Runs the agent on a prompt. The final text goes to standard output, everything else to\n" +
			"standard error. Approvals are asked on the terminal; where there is none they are denied.\n\n" +
			"Exit status: 0 done, 1 failed, 2 usage, 3 ended by a hook or a policy, 130 interrupted.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if params.Prompt, err = promptOf(cmd, args); err != nil {
				return err
			}
			switch params.Mode = loop.Mode(mode); params.Mode {
			case loop.ModeAsk, loop.ModePlan, loop.ModeAuto:
			default:
				return &statusError{statusUsage, fmt.Sprintf("unknown mode %q; the modes are ask, plan and auto", mode)}
			}
			if !cmd.Flags().Changed("mode") {
				params.Mode = "" // the session's own, else ask
			}
			if err := refuseInSandbox("run --mode auto", params.Mode == loop.ModeAuto); err != nil {
				return err
			}
			if schema != "" {
				text, err := textfile.Read(schema, textfile.Max)
				if err != nil {
					return &statusError{statusUsage, fmt.Sprintf("read the output schema: %v", err)}
				}
				params.OutputSchema = text
			}
			if err := dirs.resolve(); err != nil {
				return err
			}
			return runOnce(cmd.Context(), dirs, asJSON, func(ctx context.Context, a *agent.Agent) (run.Started, error) {
				if session != "" {
					var err error
					if params.SessionID, err = a.Named(ctx, session, false); err != nil {
						return run.Started{}, err
					}
				}
				started, err := a.Start(ctx, params)
				return started, blameModel(err, params.Model)
			})
		},
	}
	cmd.Flags().StringVarP(&params.Agent, "agent", "a", "", "the agent (default: the workspace's)")
	cmd.Flags().StringVarP(&params.Model, "model", "m", "", "a model under [models] instead of the agent's")
	cmd.Flags().StringVar(&mode, "mode", string(loop.ModeAsk), "ask, plan (refuses write and execute) or auto (allows what would ask)")
	cmd.Flags().StringVar(&session, "session", "", "go on in this session")
	cmd.Flags().StringVar(&schema, "output-schema", "", "a file with a JSON schema; the run ends with JSON that fits it, or fails")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON on standard output")
	return cmd
}

// promptOf is what the run is asked: the words of the command line, or with -
// what standard input has.
func promptOf(cmd *cobra.Command, args []string) (string, error) {
	prompt := strings.Join(args, " ")
	if prompt == "-" {
		text, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return "", failed("read the prompt: %v", err)
		}
		prompt = string(text)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", &statusError{statusUsage, "the prompt is empty"}
	}
	return prompt, nil
}

// runOnce starts a run through start, shows it until it ends and turns its
// end into an exit status.
func runOnce(ctx context.Context, dirs *folders, asJSON bool, start func(context.Context, *agent.Agent) (run.Started, error)) error {
	screen := newTerminal(dirs.root, os.Stderr)
	if asJSON {
		screen.json = os.Stdout
	}
	// Whether the sandbox works here is found out by starting it, which need not
	// wait until the journal is open; the run asks for what was found.
	var trying sync.WaitGroup
	trying.Go(func() { sandbox.Detect(manifest.Sandbox{}, sandbox.Dirs{Root: dirs.root}) })
	defer trying.Wait()
	a, err := dirs.open(screen, quiet())
	if err != nil {
		return failed("%v", err)
	}
	defer a.Close()
	started, err := start(ctx, a)
	if err != nil {
		return startError(err, dirs.root)
	}
	defer func() { screen.session(started.SessionID) }()
	end, err := waitOrCancel(ctx, a, started.RunID)
	if err != nil {
		return failed("%v", err)
	}
	a.Drain() // a bell that was rung is to be heard
	// What a run said before it failed is no result.
	if !asJSON && end.Status == report.Done && end.Output != nil {
		if text := strings.TrimRight(*end.Output, "\n"); text != "" && !screen.showed(text, os.Stdout) {
			fmt.Fprintln(os.Stdout, text)
		}
	}
	return endStatus(end, screen.gateBroke())
}

// waitOrCancel waits for the end of a run; an interrupt cancels it first.
func waitOrCancel(ctx context.Context, a *agent.Agent, runID string) (report.Event, error) {
	end, err := a.Wait(ctx, runID)
	if err == nil || ctx.Err() == nil {
		return end, err
	}
	over := context.WithoutCancel(ctx)
	if _, err := a.Cancel(over, runID, ""); err != nil {
		return report.Event{}, err
	}
	return a.Wait(over, runID)
}

// endStatus is the exit status of a run's end. A hook that decided to end the
// run and a hook that broke both stop it for the reason "hook"; only the
// first is a decision.
func endStatus(end report.Event, gateBroke bool) error {
	switch {
	case end.Status == report.Done:
		return nil
	case end.Status == report.Cancelled:
		return &statusError{statusInterrupted, ""}
	case end.StopReason == report.StopHook && !gateBroke, end.StopReason == report.StopPolicy:
		return &statusError{statusDecided, ""}
	}
	return &statusError{statusFailed, ""}
}

// blameModel makes an unknown model that a flag named the flag's fault.
func blameModel(err error, name string) error {
	var cannot *run.CannotStart
	if name == "" || !errors.As(err, &cannot) {
		return err
	}
	for i := range cannot.Findings {
		if f := &cannot.Findings[i]; f.Path == "" {
			if rest, ok := strings.CutPrefix(f.Message, fmt.Sprintf("unknown model %q", name)); ok {
				f.Path, f.Message = "--model "+name, "no such model"+rest
			}
		}
	}
	return err
}

// startError prints every finding of a run that cannot start, each with its
// place.
func startError(err error, root string) error {
	var cannot *run.CannotStart
	if errors.As(err, &cannot) {
		printFindings(os.Stderr, cannot.Findings, readText)
		if len(cannot.Findings) > 0 {
			return failed("the run cannot start")
		}
	}
	return failed("%v", err)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// refuseInSandbox refuses what the agent's own commands must not do. The
// sandbox says so in their environment; a command that hides that meets the
// sandbox itself, which hides the state folder.
func refuseInSandbox(what string, applies bool) error {
	if applies && os.Getenv("AGENT_LS_SANDBOX") != "" {
		return failed("%s: refused inside the sandbox of the agent's own commands", what)
	}
	return nil
}
