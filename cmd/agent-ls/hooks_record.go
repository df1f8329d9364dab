package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"agent-ls/hooks/replay"
	"agent-ls/hooks/textfile"
	"agent-ls/loop/agent"
	"agent-ls/loop/redact"
	"agent-ls/loop/run"
	"agent-ls/loop/sandbox"
)

// newest is what --record takes for the newest decision of a script.
const newest = "last"

// recordCases adds a recorded decision of a script to the fixture beside it,
// with secrets masked. What the fixture has stays as it is.
func recordCases(cmd *cobra.Command, dirs *folders, which, name string, args []string) error {
	wrong := func(err error) error { return &statusError{statusUsage, "hooks test: " + err.Error()} }
	if len(args) != 1 || filepath.Ext(args[0]) != ".risor" {
		return wrong(errors.New("--record takes one script, whose decision it is about"))
	}
	script, err := filepath.Abs(args[0])
	if err != nil {
		return wrong(err)
	}
	if _, err := os.Stat(script); err != nil {
		return wrong(err)
	}
	session, seq, err := momentOf(which)
	if err != nil {
		return wrong(err)
	}
	return withAgent(dirs, func(a *agent.Agent) error {
		if session != "" {
			if session, err = a.Named(cmd.Context(), session, false); err != nil {
				return wrong(err)
			}
		}
		events, err := a.Recorded(cmd.Context(), script, session, seq)
		if errors.Is(err, run.ErrUnknownID) {
			return wrong(err)
		}
		if err != nil {
			return failed("hooks test: %v", err)
		}
		return writeCases(cmd, replay.FixtureOf(script), name, events)
	})
}

// momentOf reads SESSION#SEQ, SESSION, or the word for the newest.
func momentOf(which string) (session string, seq int64, err error) {
	if which == newest {
		return "", 0, nil
	}
	session, number, given := strings.Cut(which, "#")
	if given {
		if seq, err = strconv.ParseInt(number, 10, 64); err != nil || seq < 1 {
			return "", 0, fmt.Errorf("--record %s: what follows # is a number from 1, as hooks replay prints it", which)
		}
	}
	if session == "" {
		return "", 0, fmt.Errorf("--record takes SESSION#SEQ, SESSION or %q", newest)
	}
	return session, seq, nil
}

func writeCases(cmd *cobra.Command, fixture, name string, events []*replay.Event) error {
	text, err := textfile.Read(fixture, textfile.Max)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("hooks test: %v", err)
	}
	isNew := err != nil
	mask := redact.New(os.Environ(), sandbox.Secret).Text
	var names []string
	for _, e := range events {
		called := name
		if called == "" {
			called = strings.TrimSpace(e.Was.Event + " " + e.Was.Action)
		}
		one, err := replay.CaseOf(e, called, mask)
		if err != nil {
			return failed("hooks test: the decision at %s#%d: %v", e.Was.SessionID, e.Was.Seq, err)
		}
		added, as, err := replay.AppendCase(fixture, text, one, nil)
		if err != nil {
			return failed("hooks test: %v", err)
		}
		text, names = added, append(names, as)
	}
	if err := saveFixture(fixture, text, isNew); err != nil {
		return failed("hooks test: %v", err)
	}
	for _, n := range names {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", relative(fixture), n)
	}
	return nil
}

// saveFixture writes a fixture, and never over one that came up meanwhile.
func saveFixture(path string, text []byte, isNew bool) error {
	if !isNew {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return replaceFile(path, text, info.Mode().Perm())
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
