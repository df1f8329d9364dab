package bridge

import (
	"context"
	"errors"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// This file serves the requests that only look: list, sessions, events,
// decisions, hooks and explain.

func (b *bridge) list(ctx context.Context, p ListParams) (ListResult, error) {
	f, err := b.pick(p.Folder)
	if err != nil {
		return ListResult{}, err
	}
	out := ListResult{Agents: []Agent{}, Models: []Model{}}
	config, _ := b.host.Workspace.Manifest(ctx, f.Root)
	if config == nil {
		return out, nil // nothing that could be listed; the diagnostics say why
	}
	for _, a := range config.Agents {
		out.Agents = append(out.Agents, b.agent(a))
	}
	for _, name := range sortedKeys(config.Models) {
		m := config.Models[name]
		out.Models = append(out.Models, Model{Name: name, Provider: m.Provider, Model: m.Model})
	}
	return out, nil
}

func (b *bridge) agent(a manifest.Agent) Agent {
	out := Agent{Name: a.Name, URI: b.wire.uri(a.Path), Model: a.Model, Stages: []Stage{}}
	for _, s := range a.Stages {
		stage := Stage{
			Name: s.Name, URI: out.URI, Tools: append([]string{}, s.Tools...), Hooks: []StageHook{},
			Range: b.rangeOf(a.Path, s.At),
		}
		for _, d := range a.Hooks {
			if d.Stage == "" || d.Stage == s.Name {
				stage.Hooks = append(stage.Hooks, b.stageHook(d))
			}
		}
		out.Stages = append(out.Stages, stage)
	}
	return out
}

func (b *bridge) stageHook(d hooks.Declaration) StageHook {
	out := StageHook{Point: d.Event, URI: b.wire.uri(d.Path), Range: b.functionRange(d)}
	if l := b.wire.location(&d.Declared); l != nil {
		out.Declared = *l
	}
	return out
}

func (b *bridge) rangeOf(path string, span check.Span) Range {
	r := b.host.Workspace.Range(path, span)
	return Range{
		Start: Position{r.Start.Line, r.Start.Character},
		End:   Position{r.End.Line, r.End.Character},
	}
}

func (b *bridge) sessions(ctx context.Context, p SessionsParams) (SessionsResult, error) {
	limit, err := limited(p.Limit, 50, 1000)
	if err != nil {
		return SessionsResult{}, err
	}
	api, err := b.serviceOf(ctx, p.Folder)
	if err != nil {
		return SessionsResult{}, err
	}
	rows, next, err := api.Sessions(ctx, limit, p.Cursor, p.Query)
	if err != nil {
		return SessionsResult{}, b.answer(err, "session", p.Cursor)
	}
	out := SessionsResult{Sessions: []Session{}, Cursor: next}
	for _, s := range rows {
		out.Sessions = append(out.Sessions, b.wire.session(s))
	}
	return out, nil
}

func (b *bridge) events(ctx context.Context, p EventsParams) (EventsResult, error) {
	if err := needID("sessionId", p.SessionID); err != nil {
		return EventsResult{}, err
	}
	if p.AfterSeq < 0 {
		return EventsResult{}, invalid("afterSeq is negative")
	}
	limit, err := limited(p.Limit, 500, 5000)
	if err != nil {
		return EventsResult{}, err
	}
	var got []report.Event
	var last int64
	err = b.find(ctx, b.runs.folderOfSession(p.SessionID), func(api run.API) (err error) {
		got, last, err = api.Events(ctx, p.SessionID, p.AfterSeq, limit)
		return err
	})
	if err != nil {
		return EventsResult{}, b.answer(err, "session", p.SessionID)
	}
	out := EventsResult{Events: make([]Event, 0, len(got)), LastSeq: last}
	for _, e := range got {
		out.Events = append(out.Events, b.wire.event(e))
	}
	return out, nil
}

func (b *bridge) decisions(ctx context.Context, p DecisionsParams) (DecisionsResult, error) {
	limit, err := limited(p.Limit, 100, 1000)
	if err != nil {
		return DecisionsResult{}, err
	}
	q := run.DecisionQuery{RunID: p.RunID, Event: p.Event, Limit: limit, Cursor: p.Cursor}
	var documents []string
	if p.URI != "" {
		if q.Path = b.host.Workspace.Path(p.URI); q.Path == "" {
			return DecisionsResult{}, invalid("%s is no file", p.URI)
		}
		q.Path = resolved(q.Path)
		documents = []string{p.URI}
	}
	f := b.runs.folderOf(p.RunID)
	if f == nil || p.Folder != "" {
		if f, err = b.pick(p.Folder, documents...); err != nil {
			return DecisionsResult{}, err
		}
	}
	out := DecisionsResult{Decisions: []Decision{}}
	if p.RunID != "" && p.URI == "" && p.Folder == "" {
		f = b.runs.folderOf(p.RunID) // nil: each folder is asked
	}
	var got []hooks.Decision
	var next string
	err = b.find(ctx, f, func(api run.API) (err error) {
		got, next, err = api.Decisions(ctx, q)
		return err
	})
	if err != nil {
		return out, b.answer(err, "run", p.RunID)
	}
	out.Decisions, out.Cursor = b.wire.decisions(got), next
	return out, nil
}

func (b *bridge) hooks(ctx context.Context, p HooksParams) (HooksResult, error) {
	api, err := b.serviceOf(ctx, p.Folder)
	if err != nil {
		return HooksResult{}, err
	}
	rows, err := api.Hooks(ctx)
	if err != nil {
		return HooksResult{}, b.answer(err, "hook", "")
	}
	out := HooksResult{Hooks: []Hook{}}
	for _, h := range rows {
		row := Hook{
			ID: h.ID, Event: h.Event, Stage: h.Stage, Function: h.Function, Hook: b.wire.hookSource(h.Hook),
			Declared: b.wire.location(&h.Declared), Kind: h.Kind, Enabled: h.Enabled, Trust: h.Trust, Digest: h.Digest,
			Error: show(h.Error), Counts: HookCounts(h.Counts),
		}
		if d := h.LastRun; d != nil {
			row.LastRun = &LastRun{At: Time{d.At}, Action: d.Action, DurationUs: d.DurationUs}
		}
		out.Hooks = append(out.Hooks, row)
	}
	return out, nil
}

func (b *bridge) explain(ctx context.Context, p ExplainParams) (ExplainResult, error) {
	if p.Tool == "" {
		return ExplainResult{}, invalid("tool is missing")
	}
	if !isObject(p.Arguments) {
		return ExplainResult{}, invalid("arguments are an object")
	}
	api, err := b.serviceOf(ctx, p.Folder)
	if err != nil {
		return ExplainResult{}, err
	}
	got, err := api.Explain(ctx, p.Tool, p.Arguments, p.Stage)
	if err != nil {
		if p.Stage != "" && errors.Is(err, run.ErrUnknownID) {
			return ExplainResult{}, b.answer(err, "stage", p.Stage)
		}
		return ExplainResult{}, b.answer(err, "tool", p.Tool)
	}
	out := ExplainResult{Outcome: got.Outcome, Steps: []Step{}}
	for _, s := range got.Steps {
		out.Steps = append(out.Steps, Step{s.Layer, show(s.Source), s.Fired, s.Outcome, show(s.Because)})
	}
	return out, nil
}

func (b *bridge) serviceOf(ctx context.Context, named string) (run.API, error) {
	f, err := b.pick(named)
	if err != nil {
		return nil, err
	}
	return f.service(ctx)
}

// limited is a page's size: the default for 0, never over the most.
func limited(n, byDefault, most int) (int, error) {
	switch {
	case n < 0:
		return 0, invalid("limit is negative")
	case n == 0:
		return byDefault, nil
	}
	return min(n, most), nil
}
