package bridge

import (
	"sync"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/server"
)

// runFindings shows where scripts failed in their last run
// (`failed-at-run-time`). The server drops them when the file is edited.
type runFindings struct {
	sink server.Findings

	mu    sync.Mutex
	files map[string]*fileFindings // by path of the script
}

// fileFindings are what the last run that used a script found in it.
type fileFindings struct {
	runID    string
	digest   string
	findings []check.Finding
}

const failedAtRunTime check.Code = "failed-at-run-time"

func newRunFindings(sink server.Findings) *runFindings {
	return &runFindings{sink: sink, files: map[string]*fileFindings{}}
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
	f := r.files[at.Path]
	switch {
	case f == nil && d.Error == nil:
		return
	case f == nil:
		f = &fileFindings{runID: d.RunID}
		r.files[at.Path] = f
	case f.runID == d.RunID && d.Error == nil:
		return
	case f.runID != d.RunID:
		f = &fileFindings{runID: d.RunID}
		r.files[at.Path] = f
	}
	if d.Error != nil {
		// An imported file has a text of its own: its digest is not the hook's.
		if d.Hook.At == nil || d.Hook.At.Path == at.Path {
			f.digest = d.Hook.Digest
		}
		f.findings = append(f.findings, failedFinding(at, d.Error.Message))
	}
	if len(f.findings) == 0 {
		delete(r.files, at.Path)
	}
	r.sink.SetRunFindings(at.Path, f.digest, append([]check.Finding(nil), f.findings...))
}

func failedFinding(at *hooks.Location, message string) check.Finding {
	span := check.Span{Start: at.Start.Offset, End: max(at.End.Offset, at.Start.Offset)}
	return check.Finding{
		Path: at.Path, Span: span, Code: failedAtRunTime, Severity: check.Error,
		Message: show(message),
	}
}
