package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"agent-ls/hooks/contract"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "agent-ls %s (hook contract %d, %s, %s/%s)\n",
				version, contract.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
