package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/replay"
	"agent-ls/hooks/syntax"
	"agent-ls/hooks/textfile"
	"agent-ls/loop/manifest"
	"agent-ls/loop/run"
)

// looked is what a check looked at and found.
type looked struct {
	findings                                 []check.Finding
	scripts, manifests, rehearsals, fixtures int // files
}

// workspaceFindings is what lookAt finds.
func workspaceFindings(ctx context.Context, dirs *folders, named []string) ([]check.Finding, error) {
	l, err := lookAt(ctx, dirs, named)
	return l.findings, err
}

// lookAt checks the workspace's agents and every hook script and
// fixture below .agent-ls, or just the files and folders that are named. It fails when it
// cannot look at what was named.
func lookAt(ctx context.Context, dirs *folders, named []string) (looked, error) {
	config, findings := manifest.Load(ctx, dirs.sources())
	scripts, chosen, err := scriptsToCheck(dirs.root, named)
	if err != nil {
		return looked{}, err
	}
	fixtures, err := fixturesToCheck(dirs.root, chosen)
	if err != nil {
		return looked{}, err
	}
	l := looked{scripts: len(scripts), fixtures: len(fixtures)}
	if len(named) == 0 {
		l.manifests = manifestsOf(dirs.root)
	} else {
		findings = slices.DeleteFunc(findings, func(f check.Finding) bool { return !chosen[f.Path] })
		for path := range chosen {
			if filepath.Ext(path) != ".toml" || slices.Contains(fixtures, path) {
				continue
			}
			l.manifests++
			if _, ours := manifest.AgentFile(path); !ours {
				text, err := textfile.Read(path, textfile.Max)
				if err != nil {
					return looked{}, err
				}
				findings = append(findings, manifest.Check(path, text, dirs.sources())...)
			}
		}
	}
	for _, path := range scripts {
		findings = append(findings, scriptFindings(path, dirs.root, config)...)
	}
	for _, path := range fixtures {
		_, _, found := readFixture(path)
		findings = append(findings, found...)
	}
	scriptsOf := map[string]bool{}
	for _, m := range config.Models {
		if chosen[m.Script] && !scriptsOf[m.Script] {
			scriptsOf[m.Script] = true
			l.rehearsals++
		}
	}
	byPlace(findings)
	l.findings = findings
	return l, nil
}

// manifestsOf counts the workspace's own manifests.
func manifestsOf(root string) int {
	n := 0
	for _, pattern := range []string{"agent.toml", "agents/*.toml"} {
		found, _ := fs.Glob(os.DirFS(filepath.Join(root, ".agent-ls")), pattern) // the patterns are well formed
		n += len(found)
	}
	return n
}

// byPlace sorts findings by where they are.
func byPlace(findings []check.Finding) {
	sort.SliceStable(findings, func(i, j int) bool {
		a, b := findings[i], findings[j]
		return a.Path < b.Path || a.Path == b.Path && a.Span.Start < b.Span.Start
	})
}

// scriptsToCheck lists the workspace's hook scripts, or those among what is
// named, whose files chosen gives.
func scriptsToCheck(root string, named []string) (scripts []string, chosen map[string]bool, err error) {
	if len(named) == 0 {
		scripts, err = scriptsBelow(filepath.Join(root, ".agent-ls"))
		return scripts, nil, err
	}
	chosen, err = choose(named)
	if err != nil {
		return nil, nil, err
	}
	for path := range chosen {
		if filepath.Ext(path) == ".risor" {
			scripts = append(scripts, path)
		}
	}
	sort.Strings(scripts)
	return scripts, chosen, nil
}

// fixturesToCheck lists the workspace's fixtures, or those among what is chosen:
// files called as fixtures are that belong to other programs are not.
func fixturesToCheck(root string, chosen map[string]bool) ([]string, error) {
	own := filepath.Join(root, ".agent-ls")
	if chosen == nil {
		if _, err := os.Stat(own); os.IsNotExist(err) {
			return nil, nil
		}
		return fixturesBelow(own)
	}
	var out []string
	for path := range chosen {
		script, ok := replay.IsFixture(path)
		if !ok {
			continue
		}
		_, err := os.Stat(script)
		if err == nil || strings.HasPrefix(path, own+string(filepath.Separator)) {
			out = append(out, path)
		}
	}
	return out, nil
}

// recordedFindings are what the recorded runs say of scripts that are still as
// they were in them.
func recordedFindings(ctx context.Context, dirs *folders, named []string) ([]check.Finding, error) {
	scripts, _, err := scriptsToCheck(dirs.root, named)
	if err != nil {
		return nil, err
	}
	a, err := dirs.open(newTerminal(dirs.root, os.Stderr), quiet())
	if err != nil {
		return nil, fmt.Errorf("open the recorded runs: %w", err)
	}
	defer a.Close()
	var findings []check.Finding
	for _, path := range scripts {
		decisions, _, err := a.Decisions(ctx, run.DecisionQuery{Path: path, Newest: true, Limit: hooks.RecordedDecisions})
		if err != nil {
			return nil, fmt.Errorf("%s: read its recorded decisions: %w", path, err)
		}
		if len(decisions) == 0 {
			continue
		}
		text, err := textfile.Read(path, textfile.Max)
		if err != nil {
			return nil, err
		}
		findings = append(findings, hooks.RecordedFindings(path, text, decisions)...)
	}
	return findings, nil
}

// scriptFindings checks one script with what the agents want of it. A script
// that cannot be read is a finding by itself: its neighbours are checked all
// the same.
func scriptFindings(path, root string, config *manifest.Config) []check.Finding {
	unreadable := func(why string) []check.Finding {
		return []check.Finding{check.NewFinding(check.CodeSyntax, path, check.Span{}, "the script cannot be read: "+why)}
	}
	info, err := os.Stat(path)
	if err != nil {
		return unreadable(err.Error())
	}
	if !info.Mode().IsRegular() {
		return unreadable("it is not a regular file")
	}
	if info.Size() > syntax.DefaultSource {
		return unreadable(fmt.Sprintf("it has %d bytes, more than %d", info.Size(), syntax.DefaultSource))
	}
	text, err := textfile.Read(path, textfile.Max)
	if err != nil {
		return unreadable(err.Error())
	}
	dir := filepath.Dir(path)
	opts := check.Options{
		ManifestKnown: strings.HasPrefix(path, filepath.Join(root, ".agent-ls")+string(filepath.Separator)),
		Sibling: func(name string) bool {
			info, err := os.Stat(filepath.Join(dir, name+".risor"))
			return name == filepath.Base(name) && err == nil && info.Mode().IsRegular()
		},
	}
	for _, line := range config.ScriptLines(path) {
		point := check.Point{Event: line.Event, Function: line.Function, Path: line.Path, Span: line.Span}
		if !slices.Contains(opts.Points, point) {
			opts.Points = append(opts.Points, point)
		}
	}
	return check.Script(path, text, opts)
}

// scriptsBelow lists the hook scripts in a folder, which need not exist.
func scriptsBelow(dir string) ([]string, error) {
	var scripts []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		if !entry.IsDir() && filepath.Ext(path) == ".risor" {
			scripts = append(scripts, path)
		}
		return nil
	})
	return scripts, err
}

// choose turns the paths of the command line into files.
func choose(named []string) (map[string]bool, error) {
	chosen := map[string]bool{}
	for _, name := range named {
		path, err := filepath.Abs(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		err = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				chosen[path] = true
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return chosen, nil
}
