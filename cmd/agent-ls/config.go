package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

func newConfigCommand(dirs *folders) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "The configuration in force",
	}
	var origin, asJSON bool
	show := &cobra.Command{
		Use:   "show",
		Short: "Print each setting, with --origin where it came from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := dirs.resolve(); err != nil {
				return err
			}
			config, findings := manifest.Load(cmd.Context(), dirs.sources())
			printFindings(os.Stderr, findings, readText)
			if asJSON {
				return printJSON(cmd, config.Origins)
			}
			keys := make([]string, 0, len(config.Origins))
			for key := range config.Origins {
				keys = append(keys, key)
			}
			sort.Strings(keys)
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, key := range keys {
				o := config.Origins[key]
				value, err := json.Marshal(o.Value)
				if err != nil {
					value = []byte(fmt.Sprint(o.Value))
				}
				if !origin {
					fmt.Fprintf(table, "%s\t%s\n", report.Visible(key), report.Visible(string(value)))
					continue
				}
				fmt.Fprintf(table, "%s\t%s\t%s\n", report.Visible(key), report.Visible(string(value)), originText(o))
			}
			return table.Flush()
		},
	}
	show.Flags().BoolVar(&origin, "origin", false, "say where each value came from")
	show.Flags().BoolVar(&asJSON, "json", false, "as JSON, origins included")
	cmd.AddCommand(show)
	return group(cmd)
}

func originText(o manifest.Origin) string {
	switch {
	case o.Path != "" && o.Line > 0:
		return fmt.Sprintf("%s (%s:%d)", o.Layer, relative(o.Path), o.Line)
	case o.Path != "":
		return fmt.Sprintf("%s (%s)", o.Layer, relative(o.Path))
	}
	return o.Layer
}
