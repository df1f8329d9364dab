package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"agent-ls/hooks/contract"
)

// newRootCommand builds the whole command line. Without a subcommand it is
// the language server, since that is how editors start it.
func newRootCommand() *cobra.Command {
	var dirs folders
	serve := newServeCommand(&dirs)
	root := &cobra.Command{
		Use:   "agent-ls",
		Short: "A coding agent inside a language server, with hooks that you can read, check and trust",
		Long: "agent-ls is a language server that embeds a coding agent. Hook scripts decide what the agent\n" +
			"may do; the editor checks them while they are typed and shows each decision.\n\n" +
			"Without a command it serves the Language Server Protocol on standard input and output.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          serve.RunE,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.SetOut(os.Stdout)
	root.SetErr(os.Stderr)
	dirs.addFlags(root.PersistentFlags())
	root.AddCommand(
		serve,
		newRunCommand(&dirs),
		newCheckCommand(&dirs),
		newFmtCommand(&dirs),
		newHooksCommand(&dirs),
		newSessionsCommand(&dirs),
		newInitCommand(&dirs),
		newDoctorCommand(&dirs),
		newConfigCommand(&dirs),
		newDemoCommand(),
		newVersionCommand(),
	)
	explainUsage(root)
	return root
}

// group makes a command that only holds others refuse words that it does not
// know, with the nearest one.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		if len(args) == 0 {
			return &statusError{statusUsage, fmt.Sprintf("%s needs one of: %s", cmd.CommandPath(), strings.Join(names, ", "))}
		}
		message := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
		if near := contract.Nearest(args[0], names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		} else {
			message += "; it has: " + strings.Join(names, ", ")
		}
		return &statusError{statusUsage, message}
	}
	return cmd
}
