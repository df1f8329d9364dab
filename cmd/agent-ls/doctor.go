package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"agent-ls/hooks/check"
	"agent-ls/hooks/worker"
	"agent-ls/loop/manifest"
	"agent-ls/loop/policy"
	"agent-ls/loop/sandbox"
)

func newDoctorCommand(dirs *folders) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works on this machine: isolation, sandbox, models, editors",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := dirs.resolve(); err != nil {
				return err
			}
			config, findings := manifest.Load(cmd.Context(), dirs.sources())
			var rows []diagnosis
			rows = append(rows, diagnosis{"program", true, fmt.Sprintf("agent-ls %s, %s/%s", version, runtime.GOOS, runtime.GOARCH)})
			rows = append(rows, workerRows(cmd.Context())...)
			rows = append(rows, floorRows(dirs, config)...)
			rows = append(rows, folderRows(dirs)...)
			rows = append(rows, configRow(findings))
			rows = append(rows, modelRows(config)...)
			rows = append(rows, programRows()...)
			if asJSON {
				if err := printJSON(cmd, rows); err != nil {
					return err
				}
			} else {
				printDiagnoses(cmd.OutOrStdout(), rows)
			}
			if broken := slices.IndexFunc(rows, func(d diagnosis) bool { return !d.OK && slices.Contains(needed, d.What) }); broken >= 0 {
				return failed("no run can start here: %s", rows[broken].What)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// diagnosis is one row: what was looked at, whether it works, what to know.
type diagnosis struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Says string `json:"says"`
}

// needed are the rows without which no run starts.
var needed = []string{configurationRow, stateRow}

const configurationRow, stateRow = "configuration", "state folder"

func printDiagnoses(w io.Writer, rows []diagnosis) {
	for _, r := range rows {
		mark := "ok  "
		if !r.OK {
			mark = "no  "
		}
		fmt.Fprintf(w, "%s %-34s %s\n", mark, r.What, r.Says)
	}
}

// workerRows starts one script worker and has it try what it must not do.
func workerRows(ctx context.Context) []diagnosis {
	isolation, err := worker.Probe(ctx)
	if err != nil {
		return []diagnosis{{"hook scripts", false, "no worker starts, so no run with hooks can: " + err.Error()}}
	}
	rows := []diagnosis{{"hook scripts", isolation.Complete(), "run in worker processes; isolation is complete"}}
	if !isolation.Complete() {
		rows[0].Says = "run in worker processes; isolation on " + isolation.Platform + " is not complete"
	}
	for _, m := range isolation.Mechanisms {
		row := diagnosis{"  mechanism: " + m.Name, m.Active, "active"}
		if !m.Active {
			row.Says = m.Detail
		}
		rows = append(rows, row)
	}
	for _, a := range isolation.Attempts {
		rows = append(rows, diagnosis{"  a script's worker: " + a.Name, a.Stopped, a.How})
	}
	return rows
}

func floorRows(dirs *folders, config *manifest.Config) []diagnosis {
	home, _ := os.UserHomeDir()
	floor := sandbox.Detect(config.Sandbox, sandbox.Dirs{Root: dirs.root, State: dirs.state, Cache: dirs.cache, Home: home})
	rules, _ := policy.New(dirs.root, config.Policy, policy.Options{Home: home, StateDir: dirs.state, Taint: config.Taint})
	if denied, outside, some := rules.HiddenFromCommands(); some {
		floor = floor.Hide(denied, outside...)
	}
	rows := []diagnosis{{"commands", floor.InForce(), floor.Describe()}}
	for _, line := range floor.Report() {
		rows = append(rows, diagnosis{"  " + line.Name, line.OK, line.Text})
	}
	rows = append(rows, diagnosis{"  processes at once", true, fmt.Sprintf("%d, of commands, searches, hooks and diagnostics ([concurrency] subprocs)", config.Concurrency.Subprocs)})
	return rows
}

func folderRows(dirs *folders) []diagnosis {
	rows := []diagnosis{
		{"workspace", true, dirs.root},
		{"user configuration", true, dirs.userConfig + presence(dirs.userConfig)},
	}
	state := diagnosis{stateRow, true, dirs.state}
	if err := writable(dirs.state); err != nil {
		state.OK, state.Says = false, err.Error()
	}
	return append(rows, state)
}

func presence(path string) string {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return " (not there, which is fine)"
	}
	return ""
}

// writable makes the folder, private, and tries a file in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

func configRow(findings []check.Finding) diagnosis {
	errs := 0
	for _, f := range findings {
		if f.Severity == check.Error {
			errs++
		}
	}
	if errs > 0 {
		return diagnosis{configurationRow, false, plural(errs, "error") + "; agent-ls check prints them"}
	}
	return diagnosis{configurationRow, true, "no errors"}
}

// modelRows says which models could be asked; no request is made.
func modelRows(config *manifest.Config) []diagnosis {
	names := make([]string, 0, len(config.Models))
	for name := range config.Models {
		names = append(names, name)
	}
	sort.Strings(names)
	var rows []diagnosis
	for _, name := range names {
		m := config.Models[name]
		row := diagnosis{"model " + name, true, m.Provider + " " + m.Model}
		switch {
		case m.Provider == "rehearsal":
			row.Says = "rehearsal, " + relative(m.Script)
		case m.APIKeyEnv != "" && os.Getenv(m.APIKeyEnv) == "":
			row.OK, row.Says = false, row.Says+": "+m.APIKeyEnv+" is not set"
		case m.APIKeyEnv != "":
			row.Says += ": key in " + m.APIKeyEnv
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		rows = append(rows, diagnosis{"models", false, "none configured; see [models.NAME] in docs/manifest.md, or run agent-ls init"})
	}
	return rows
}

// programRows looks for what is used where it is present.
func programRows() []diagnosis {
	var rows []diagnosis
	for _, p := range []struct{ name, arg, use string }{
		{"rg", "--version", "faster grep"},
		{"nvim", "--version", "the Neovim plugin needs 0.11"},
		{"code", "--version", "the VS Code extension"},
		{"emacs", "--version", "eglot needs no plugin"},
	} {
		path, err := exec.LookPath(p.name)
		if err != nil {
			rows = append(rows, diagnosis{p.name, false, "not on PATH (" + p.use + ")"})
			continue
		}
		out, err := exec.Command(path, p.arg).Output()
		if err != nil {
			rows = append(rows, diagnosis{p.name, false, fmt.Sprintf("%s does not run: %v", path, err)})
			continue
		}
		rows = append(rows, diagnosis{p.name, true, strings.TrimSpace(firstLine(string(out))) + ", " + filepath.Clean(path)})
	}
	return rows
}
