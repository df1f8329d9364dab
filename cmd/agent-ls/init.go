package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"
)

//go:embed init/workspace.txtar
var initArchive []byte

func newInitCommand(dirs *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a first agent with a guard hook into this folder",
		Long: "Writes .agent-ls/agent.toml, a guard hook and a rehearsal to try it with. A file that is\n" +
			"there already is kept as it is and named.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dirs.root == "" {
				dirs.root = "."
			}
			if err := dirs.resolve(); err != nil {
				return err
			}
			for _, f := range txtar.Parse(initArchive).Files {
				path := filepath.Join(dirs.root, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					return failed("init: %v", err)
				}
				switch err := writeNew(path, f.Data); {
				case errors.Is(err, fs.ErrExist):
					fmt.Fprintf(cmd.OutOrStdout(), "kept    %s\n", f.Name)
				case err != nil:
					return failed("init: %v", err)
				default:
					fmt.Fprintf(cmd.OutOrStdout(), "created %s\n", f.Name)
				}
			}
			fmt.Fprintln(cmd.OutOrStdout(), "\nTry it without a key:  agent-ls run --model rehearsal \"say hello\"\nCheck the hooks:       agent-ls check")
			return nil
		},
	}
}

// writeNew writes a file that must not exist yet, following no link.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
