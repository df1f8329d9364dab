package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agent-ls/hooks/contract"
)

// explainUsage makes every command below say which argument it lacks or does
// not take, how it is called and where its own help is.
func explainUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(cmd, err.Error())
	})
	if args := cmd.Args; args != nil {
		cmd.Args = func(cmd *cobra.Command, got []string) error {
			if err := args(cmd, got); err != nil {
				return usageError(cmd, wrongArguments(cmd, got))
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		explainUsage(sub)
	}
}

// wrongArguments says what is wrong with a number of arguments, by the names
// that the command's own usage line gives them.
func wrongArguments(cmd *cobra.Command, got []string) string {
	if !cmd.HasParent() {
		names := []string{"help", "completion"}
		for _, sub := range cmd.Commands() {
			names = append(names, sub.Name())
		}
		return fmt.Sprintf("unknown command %q%s", got[0], contract.DidYouMean(got[0], names))
	}
	var wanted []string
	taken := 0
	for _, word := range strings.Fields(cmd.Use)[1:] {
		switch {
		case word == "[flags]":
		case strings.HasPrefix(word, "["):
			taken++
		default:
			wanted = append(wanted, strings.TrimSuffix(word, "…"))
			taken++
		}
	}
	if len(got) < len(wanted) {
		return "it lacks " + strings.Join(wanted[len(got):], " and ")
	}
	return fmt.Sprintf("one argument too many: %q", got[min(taken, len(got)-1)])
}

// usageError is a wrong call of a command, with how it is called.
func usageError(cmd *cobra.Command, what string) error {
	if !cmd.HasParent() {
		return &statusError{statusUsage, fmt.Sprintf("%s\nSee '%s --help'.", what, cmd.CommandPath())}
	}
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	return &statusError{statusUsage, fmt.Sprintf("%s: %s\nUsage: %s\nSee '%s --help'.", name, what, cmd.UseLine(), cmd.CommandPath())}
}
