package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"github.com/spf13/cobra"

	"agent-ls/hooks/syntax"
	"agent-ls/hooks/textfile"
)

func newFmtCommand(dirs *folders) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format hook scripts",
		Long: "Formats hook scripts in place, and prints the names of those that changed: all below .agent-ls,\n" +
			"or the files and folders that are named; with - what comes in on standard input, to standard\n" +
			"output. Lines stay lines, strings and comments stay as they are. A script that does not parse\n" +
			"is left alone and said. Exit status: 1 if there is such a script, or with --check one that is\n" +
			"not formatted; 2 if what was named cannot be read.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				return formatInput(cmd.InOrStdin(), cmd.OutOrStdout())
			}
			if err := dirs.resolve(); err != nil {
				return &statusError{statusUsage, err.Error()}
			}
			scripts, err := scriptsToFormat(dirs.root, args)
			if err != nil {
				return &statusError{statusUsage, err.Error()}
			}
			wrong := false
			for _, path := range scripts {
				changed, err := formatFile(path, check)
				switch {
				case err != nil:
					wrong = true
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", relative(path), err)
				case changed:
					wrong = wrong || check
					fmt.Fprintln(cmd.OutOrStdout(), relative(path))
				}
			}
			if wrong {
				return &statusError{statusFailed, ""}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "change nothing; exit status 1 if something would change")
	return cmd
}

// scriptsToFormat are those that are named, whatever they are called, those in
// folders that are named, or all of the workspace.
func scriptsToFormat(root string, named []string) ([]string, error) {
	if len(named) == 0 {
		return scriptsBelow(filepath.Join(root, ".agent-ls"))
	}
	chosen := map[string]bool{}
	for _, name := range named {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			chosen[path] = true
			continue
		}
		below, err := scriptsBelow(path)
		if err != nil {
			return nil, err
		}
		for _, p := range below {
			chosen[p] = true
		}
	}
	scripts := make([]string, 0, len(chosen))
	for p := range chosen {
		scripts = append(scripts, p)
	}
	sort.Strings(scripts)
	return scripts, nil
}

func formatInput(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(in, syntax.DefaultSource+1))
	if err != nil {
		return &statusError{statusUsage, fmt.Sprintf("read the script: %v", err)}
	}
	formatted, err := syntax.Format(text)
	if err != nil {
		return failed("%v", err)
	}
	_, err = out.Write(formatted)
	return err
}

// formatFile formats one script and says whether it was, or would be, changed.
// The file is replaced at once or not at all.
func formatFile(path string, check bool) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() > syntax.DefaultSource {
		return false, fmt.Errorf("not a regular file of at most %d bytes", syntax.DefaultSource)
	}
	text, err := textfile.Read(path, textfile.Max)
	if err != nil {
		return false, err
	}
	formatted, err := syntax.Format(text)
	if err != nil || bytes.Equal(text, formatted) || check {
		return err == nil && !bytes.Equal(text, formatted), err
	}
	return true, replaceFile(path, formatted, info.Mode().Perm())
}
