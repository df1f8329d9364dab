package bridge

import (
	"context"
	"errors"
	"slices"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/run"
)

// This file serves the requests that move a run: start, steer, cancel, resume
// and undo.

func (b *bridge) start(ctx context.Context, p StartParams) (StartResult, error) {
	started, err := b.startRun(ctx, p)
	if err == nil && !isNull(p.WorkDoneToken) {
		b.follow(started.RunID, p.Prompt, p.WorkDoneToken)
	}
	return started, err
}

// startRun starts a run without showing its progress.
func (b *bridge) startRun(ctx context.Context, p StartParams) (StartResult, error) {
	if strings.TrimSpace(p.Prompt) == "" {
		return StartResult{}, invalid("the prompt is empty")
	}
	if p.Mode != "" && !slices.Contains([]loop.Mode{loop.ModeAsk, loop.ModePlan, loop.ModeAuto}, p.Mode) {
		return StartResult{}, invalid("unknown mode %q; there are ask, plan and auto", p.Mode)
	}
	if token := p.WorkDoneToken; !isNull(token) && !isToken(token) {
		return StartResult{}, invalid("workDoneToken is a string or an integer")
	}
	params := run.StartParams{Prompt: p.Prompt, Agent: p.Agent, SessionID: p.SessionID, Model: p.Model, Mode: p.Mode}
	if !isNull(p.OutputSchema) {
		params.OutputSchema = p.OutputSchema
	}
	var documents []string
	for _, item := range p.Context {
		file, err := b.contextFile(item)
		if err != nil {
			return StartResult{}, err
		}
		params.Context = append(params.Context, file)
		documents = append(documents, item.URI)
	}
	f, err := b.pick(p.Folder, documents...)
	if err != nil {
		return StartResult{}, err
	}
	if p.SessionID != "" && p.Folder == "" {
		f = b.runs.folderOfSession(p.SessionID) // nil: each is asked
	}
	var started run.Started
	err = b.find(ctx, f, func(api run.API) error {
		var err error
		started, err = api.Start(ctx, params)
		return err
	})
	if err != nil {
		if kind, id := startSubject(p); id != "" || !errors.Is(err, run.ErrUnknownID) {
			return StartResult{}, b.answer(err, kind, id)
		}
		return StartResult{}, b.answer(err, "agent", p.Agent)
	}
	b.runs.started(started.RunID, started.SessionID, f, p.Prompt)
	return StartResult(started), nil
}

// startSubject is what a start that knows an id not was about.
func startSubject(p StartParams) (kind, id string) {
	switch {
	case p.SessionID != "":
		return "session", p.SessionID
	case p.Agent != "":
		return "agent", p.Agent
	}
	return "model", p.Model
}

func isToken(raw []byte) bool {
	switch c := compact(raw)[0]; {
	case c == '"':
		return true
	case c == '-', c >= '0' && c <= '9':
		return !strings.ContainsAny(string(raw), ".eE")
	}
	return false
}

// contextFile turns a document or a part of one into lines of a file. A range
// that ends at the start of a line does not reach into that line.
func (b *bridge) contextFile(item ContextItem) (run.ContextFile, error) {
	path := b.host.Workspace.Path(item.URI)
	if path == "" {
		return run.ContextFile{}, invalid("context: %s is no file", item.URI)
	}
	file := run.ContextFile{Path: resolved(path)}
	if r := item.Range; r != nil {
		file.StartLine, file.EndLine = int(r.Start.Line)+1, int(r.End.Line)+1
		if r.End.Character == 0 && r.End.Line > r.Start.Line {
			file.EndLine--
		}
		if file.EndLine < file.StartLine {
			return run.ContextFile{}, invalid("context: the range of %s ends before it starts", item.URI)
		}
	}
	return file, nil
}

func (b *bridge) steerRun(ctx context.Context, p SteerParams) (SteerResult, error) {
	if err := needID("runId", p.RunID); err != nil {
		return SteerResult{}, err
	}
	if strings.TrimSpace(p.Text) == "" {
		return SteerResult{}, invalid("the text is empty")
	}
	if !slices.Contains([]string{"", "now", "followUp"}, p.When) {
		return SteerResult{}, invalid("unknown when %q; there are now and followUp", p.When)
	}
	var out SteerResult
	err := b.find(ctx, b.runs.folderOf(p.RunID), func(api run.API) (err error) {
		out.ID, err = api.Steer(ctx, p.RunID, p.Text, p.When == "followUp")
		return err
	})
	return out, b.answer(err, "run", p.RunID)
}

func (b *bridge) cancelRun(ctx context.Context, p CancelParams) (CancelResult, error) {
	if err := needID("runId", p.RunID); err != nil {
		return CancelResult{}, err
	}
	var out CancelResult
	err := b.find(ctx, b.runs.folderOf(p.RunID), func(api run.API) (err error) {
		out.Cancelled, err = api.Cancel(ctx, p.RunID, p.CallID)
		return err
	})
	return out, b.answer(err, "run", p.RunID)
}

func (b *bridge) compactSession(ctx context.Context, p CompactParams) (CompactResult, error) {
	if err := needID("sessionId", p.SessionID); err != nil {
		return CompactResult{}, err
	}
	var out CompactResult
	err := b.find(ctx, b.runs.folderOfSession(p.SessionID), func(api run.API) error {
		done, err := api.Compact(ctx, p.SessionID)
		out = CompactResult(done)
		return err
	})
	return out, b.answer(err, "session", p.SessionID)
}

func (b *bridge) resumeRun(ctx context.Context, p ResumeParams) (ResumeResult, error) {
	if err := needID("sessionId", p.SessionID); err != nil {
		return ResumeResult{}, err
	}
	out := ResumeResult{Resuming: []string{}, Done: []string{}}
	err := b.find(ctx, b.runs.folderOfSession(p.SessionID), func(api run.API) error {
		resumed, err := api.Resume(ctx, p.SessionID)
		if err != nil {
			return err
		}
		out.Resuming = append(out.Resuming, resumed.Resuming...)
		out.Done = append(out.Done, resumed.Done...)
		if out.Reason = resumed.Reason; resumed.RunID != "" {
			out.RunID = &resumed.RunID
		}
		return nil
	})
	return out, b.answer(err, "session", p.SessionID)
}

func (b *bridge) undoRun(ctx context.Context, p UndoParams) (UndoResult, error) {
	if err := needID("runId", p.RunID); err != nil {
		return UndoResult{}, err
	}
	out := UndoResult{Edits: []UndoEdit{}, Conflicts: []string{}}
	err := b.find(ctx, b.runs.folderOf(p.RunID), func(api run.API) error {
		undone, err := api.Undo(ctx, p.RunID, p.CallID, p.DryRun)
		if err != nil {
			return err
		}
		for _, e := range undone.Edits {
			out.Edits = append(out.Edits, UndoEdit{URI: b.wire.editURI(e), Diff: showDiff(e.Diff)})
		}
		for _, path := range undone.Conflicts {
			out.Conflicts = append(out.Conflicts, b.wire.uri(path))
		}
		return nil
	})
	return out, b.answer(err, "run", p.RunID)
}

func needID(name, id string) error {
	if id == "" {
		return invalid("%s is missing", name)
	}
	return nil
}
