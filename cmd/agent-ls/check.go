package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"agent-ls/hooks/check"
)

func newCheckCommand(dirs *folders) *cobra.Command {
	var (
		format   string
		recorded bool
	)
	cmd := &cobra.Command{
		Use:   "check [PATH…]",
		Short: "Check hook scripts and manifests, as the editor does",
		Long: "Prints the findings of the workspace's agents and hook scripts, or of the files and folders\n" +
			"that are named. Exit status: 0 no error, 1 there is an error, 2 it could not look.",
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := findingFormats[format]
			if !ok {
				return &statusError{statusUsage, fmt.Sprintf("unknown format %q; the formats are text, json, sarif and github", format)}
			}
			if err := dirs.resolve(); err != nil {
				return err
			}
			look, err := lookAt(cmd.Context(), dirs, args)
			if err != nil {
				return &statusError{statusUsage, "check: " + err.Error()}
			}
			findings := look.findings
			if recorded {
				// The sandbox hides the journal: what is recorded would seem to be nothing.
				if err := refuseInSandbox("check --recorded", true); err != nil {
					return err
				}
				found, err := recordedFindings(cmd.Context(), dirs, args)
				if err != nil {
					return &statusError{statusUsage, "check: " + err.Error()}
				}
				findings = append(findings, found...)
				byPlace(findings)
			}
			if err := write(cmd.OutOrStdout(), findings, readText); err != nil {
				return failed("check: %v", err)
			}
			for _, f := range findings {
				if f.Severity == check.Error {
					return &statusError{statusFailed, ""}
				}
			}
			return look.sum(dirs.root, args, len(findings))
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "text", "text, json, sarif or github")
	cmd.Flags().BoolVar(&recorded, "recorded", false, "add where scripts failed in their last run and which are slow, if they are still as they were then")
	return cmd
}

// sum says on standard error what a check without findings looked at. A check
// that found nothing to look at is in the wrong place: it must not pass.
func (l looked) sum(root string, named []string, findings int) error {
	what := l.what()
	switch {
	case what == "" && len(named) > 0:
		return &statusError{statusUsage, fmt.Sprintf("check: there is nothing to check: %s has no hook script (.risor) and no manifest (.toml)", strings.Join(named, ", "))}
	case what == "":
		return &statusError{statusUsage, fmt.Sprintf("check: there is nothing to check: %s has no .agent-ls folder with a hook script or a manifest", root)}
	case findings == 0:
		fmt.Fprintf(os.Stderr, "%s checked, no findings\n", what)
	}
	return nil
}

// what counts the files, "" for none.
func (l looked) what() string {
	var parts []string
	for _, c := range []struct {
		n    int
		noun string
	}{{l.scripts, "script"}, {l.manifests, "manifest"}, {l.fixtures, "fixture"}, {l.rehearsals, "rehearsal"}} {
		if c.n > 0 {
			parts = append(parts, counted(c.n, c.noun))
		}
	}
	return strings.Join(parts, " and ")
}

var findingFormats = map[string]func(io.Writer, []check.Finding, textOf) error{
	"text":   writeText,
	"json":   writeJSON,
	"sarif":  writeSARIF,
	"github": writeGitHub,
}

func writeText(w io.Writer, findings []check.Finding, read textOf) error {
	printFindings(w, findings, read)
	return nil
}

// foundJSON is one finding as `check --format json` prints it.
type foundJSON struct {
	File     string     `json:"file"`
	Line     int        `json:"line"`
	Column   int        `json:"column"`
	EndLine  int        `json:"endLine"`
	EndCol   int        `json:"endColumn"`
	Severity string     `json:"severity"`
	Code     check.Code `json:"code"`
	Message  string     `json:"message"`
	Fixes    []string   `json:"fixes,omitempty"`
}

func foundOf(f check.Finding, read textOf) foundJSON {
	text := read(f.Path)
	line, column := place(f, text)
	end := f
	end.Span.Start = f.Span.End
	endLine, endCol := place(end, text)
	found := foundJSON{relative(f.Path), line, column, endLine, endCol, f.Severity.String(), f.Code, f.Message, nil}
	for _, fix := range f.Fixes {
		found.Fixes = append(found.Fixes, fix.Title)
	}
	return found
}

func writeJSON(w io.Writer, findings []check.Finding, read textOf) error {
	all := make([]foundJSON, 0, len(findings))
	for _, f := range findings {
		all = append(all, foundOf(f, read))
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(all)
}

// writeGitHub writes workflow commands, which become annotations.
func writeGitHub(w io.Writer, findings []check.Finding, read textOf) error {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, f := range findings {
		level := "notice"
		switch f.Severity {
		case check.Error:
			level = "error"
		case check.Warning:
			level = "warning"
		}
		at := foundOf(f, read)
		if _, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,endLine=%d,endColumn=%d,title=%s::%s\n", level,
			property.Replace(at.File), at.Line, at.Column, at.EndLine, at.EndCol,
			property.Replace("agent-ls "+string(f.Code)), message.Replace(f.Message)); err != nil {
			return err
		}
	}
	return nil
}
