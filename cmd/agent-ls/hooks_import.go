package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"agent-ls/hooks/textfile"
	"agent-ls/loop/manifest"
)

// claudeSettings are the files in which Claude Code has the hooks of a
// workspace.
var claudeSettings = []string{".claude/settings.json", ".claude/settings.local.json"}

// importedFile is what one file came to, as `hooks import --json` prints it.
type importedFile struct {
	File    string                  `json:"file"`
	Hooks   []manifest.ImportedHook `json:"hooks"`
	Remarks []manifest.Remark       `json:"remarks"`
}

func newHooksImportCommand(dirs *folders) *cobra.Command {
	var write, asJSON bool
	cmd := &cobra.Command{
		Use:   "import [FILE…]",
		Short: "Turn the hooks of Claude Code or hotl into [[hook]] entries",
		Long: "Reads hook settings of Claude Code (settings.json, a plugin's hooks.json) or of hotl (config.toml); without FILE\n" +
			"those of the workspace: " + strings.Join(claudeSettings, " and ") + ". Prints the [[hook]] entries on standard\n" +
			"output and, line by line, what is not carried over or works otherwise here on standard error. With --write\n" +
			"they go behind the end of the workspace's agent.toml, where no command runs before you trusted it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseInSandbox("hooks import --write", write); err != nil {
				return err
			}
			if err := dirs.resolve(); err != nil {
				return err
			}
			files, err := readImports(dirs.root, args)
			if err != nil {
				return err
			}
			if asJSON {
				if err := printJSON(cmd, files); err != nil {
					return err
				}
			} else {
				printImports(cmd, files, write)
			}
			if write {
				return writeImports(cmd, dirs.root, files)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "add the entries to the workspace's agent.toml")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// readImports reads what is named, or the workspace's own settings.
func readImports(root string, named []string) ([]importedFile, error) {
	paths := named
	if len(named) == 0 {
		for _, name := range claudeSettings {
			path := filepath.Join(root, filepath.FromSlash(name))
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				paths = append(paths, path)
			}
		}
		if len(paths) == 0 {
			return nil, &statusError{statusUsage, fmt.Sprintf("hooks import: the workspace has no %s; name a file", strings.Join(claudeSettings, " and no "))}
		}
	}
	var files []importedFile
	for _, path := range paths {
		shown := path
		if len(named) == 0 {
			shown = relative(path)
		}
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("not a regular file")
		}
		if err != nil {
			return nil, &statusError{statusUsage, fmt.Sprintf("hooks import: %s: %v", shown, err)}
		}
		text, err := textfile.Read(path, textfile.Max)
		if err != nil {
			return nil, &statusError{statusUsage, fmt.Sprintf("hooks import: %v", err)}
		}
		got, err := manifest.ImportHooks(path, text)
		if err != nil {
			return nil, failed("hooks import: %s: %v", shown, err)
		}
		file := importedFile{File: filepath.ToSlash(shown), Hooks: got.Hooks, Remarks: got.Remarks}
		if file.Hooks == nil {
			file.Hooks = []manifest.ImportedHook{}
		}
		if file.Remarks == nil {
			file.Remarks = []manifest.Remark{}
		}
		files = append(files, file)
	}
	return files, nil
}

func printImports(cmd *cobra.Command, files []importedFile, written bool) {
	for _, f := range files {
		for _, r := range f.Remarks {
			kind := "note"
			if r.Lost {
				kind = "not carried over"
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: %s: %s\n", f.File, r.Line, kind, r.Text)
		}
		for _, h := range f.Hooks {
			if !written {
				fmt.Fprintln(cmd.OutOrStdout(), h.TOML(f.File))
			}
		}
		if len(f.Hooks) == 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: no hook of it can be carried over\n", f.File)
		}
	}
}

// writeImports adds the entries to the workspace's manifest, all or none.
func writeImports(cmd *cobra.Command, root string, files []importedFile) error {
	path := filepath.Join(root, ".agent-ls", "agent.toml")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return failed("hooks import: there is no %s to write to; agent-ls init makes one", relative(path))
	}
	if err != nil {
		return failed("hooks import: %v", err)
	}
	was, err := textfile.Read(path, textfile.Max)
	if err != nil {
		return failed("hooks import: %v", err)
	}
	text, count, already := was, 0, 0
	for _, f := range files {
		have := 0
		if text, have, err = manifest.AddHooks(relative(path), text, f.Hooks, f.File); err != nil {
			return failed("hooks import: %v", err)
		}
		count, already = count+len(f.Hooks)-have, already+have
	}
	if already > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s has %s already\n", relative(path), entries(already))
	}
	if count == 0 {
		return nil
	}
	if err := replaceFile(path, text, info.Mode().Perm()); err != nil {
		return failed("hooks import: write %s: %v", relative(path), err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s added, which wait for your trust: see agent-ls hooks trust\n", relative(path), entries(count))
	return nil
}

func entries(n int) string {
	if n == 1 {
		return "1 [[hook]] entry"
	}
	return fmt.Sprintf("%d [[hook]] entries", n)
}

// replaceFile gives a file another content, at once or not at all. A link
// stays one.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	beside, err := os.CreateTemp(filepath.Dir(path), ".agent-ls-*")
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	_, err = beside.Write(text)
	if err := errors.Join(err, beside.Chmod(mode), beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), path)
}
