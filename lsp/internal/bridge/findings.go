package bridge

import (
	"context"
	"maps"
	"slices"
	"sync"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/server"
)

// runFindings shows where scripts failed in their last run
// (`failed-at-run-time`) and which of their functions are slow (`slow`). The
// server drops them when the file is edited.
type runFindings struct {
	sink server.Findings

	mu    sync.Mutex
	files map[string]*fileFindings   // by path of the script
	used  map[string]map[string]bool // the scripts of the runs that go on, by run
}

// fileFindings are what the last run that used a script found in it, and what
// the runs before it said of its speed.
type fileFindings struct {
	runID  string
	failed foundIn
	slow   foundIn
}

// foundIn are findings about the text with a digest.
type foundIn struct {
	digest   string
	findings []check.Finding
}

func newRunFindings(sink server.Findings) *runFindings {
	return &runFindings{sink: sink, files: map[string]*fileFindings{}, used: map[string]map[string]bool{}}
}

// decided follows a decision. The first one of another run clears what the run
// before had found in that script.
func (r *runFindings) decided(d hooks.Decision) {
	at := d.Hook.At
	if d.Error != nil && d.Error.At != nil {
		at = d.Error.At
	}
	if at == nil || at.Path == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use(d.RunID, at.Path)
	f := r.files[at.Path]
	switch {
	case f == nil && d.Error == nil:
		return
	case f == nil:
		f = &fileFindings{}
		r.files[at.Path] = f
	case f.runID == d.RunID && d.Error == nil:
		return
	}
	if f.runID != d.RunID {
		f.runID, f.failed = d.RunID, foundIn{}
	}
	if failed, ok := d.FailedFinding(); ok {
		failed.Message = show(failed.Message)
		f.failed.digest = d.Hook.Digest
		f.failed.findings = append(f.failed.findings, failed)
	}
	r.publish(at.Path, f)
}

// use notes that a run uses a script. The caller holds mu.
func (r *runFindings) use(runID, path string) {
	if r.used[runID] == nil {
		r.used[runID] = map[string]bool{}
	}
	r.used[runID][path] = true
}

// finished gives the scripts that a run used, once.
func (r *runFindings) finished(runID string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	paths := slices.Sorted(maps.Keys(r.used[runID]))
	delete(r.used, runID)
	return paths
}

// slow replaces what is known of the speed of a script with this text.
func (r *runFindings) slow(path, digest string, findings []check.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.files[path]
	if f == nil {
		if len(findings) == 0 {
			return
		}
		f = &fileFindings{}
		r.files[path] = f
	} else if len(findings) == 0 && len(f.slow.findings) == 0 {
		return
	}
	f.slow = foundIn{digest, findings}
	r.publish(path, f)
}

// publish shows what a file has. Both kinds are about one text; if they are
// not, the file was edited meanwhile, and the newer digest is that of the
// failures: it is the one that a run has just used. The caller holds mu.
func (r *runFindings) publish(path string, f *fileFindings) {
	shown := f.failed
	switch {
	case len(f.failed.findings) == 0:
		shown = f.slow
	case f.slow.digest == f.failed.digest:
		shown.findings = slices.Concat(f.failed.findings, f.slow.findings)
	}
	if len(f.failed.findings)+len(f.slow.findings) == 0 {
		delete(r.files, path)
	}
	r.sink.SetRunFindings(path, shown.digest, slices.Clone(shown.findings))
}

// measure looks how long the scripts took that a run used, when it is over.
// Nothing waits for it.
func (b *bridge) measure(runID string) {
	paths := b.findings.finished(runID)
	f := b.runs.folderOf(runID)
	if len(paths) == 0 || f == nil {
		return
	}
	b.background(func(ctx context.Context) {
		api, err := f.service(ctx)
		if err != nil {
			return // it is said where the folder is opened
		}
		for _, path := range paths {
			decisions, _, err := api.Decisions(ctx, run.DecisionQuery{Path: path, Newest: true, Limit: hooks.RecordedDecisions})
			if err != nil {
				b.log.Warn("look how long a hook took", "script", path, "error", err)
				continue
			}
			source := b.files.source(path)
			if source == nil {
				continue // deleted meanwhile
			}
			text := []byte(source.Text())
			b.findings.slow(path, hooks.Digest(text), hooks.SlowFindings(path, text, decisions))
		}
	})
}
