package main

import (
	"os"

	"github.com/spf13/cobra"
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
		newHooksCommand(&dirs),
		newSessionsCommand(&dirs),
		newInitCommand(&dirs),
		newDoctorCommand(&dirs),
		newConfigCommand(&dirs),
		newDemoCommand(),
		newVersionCommand(),
	)
	return root
}
