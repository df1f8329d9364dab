package run

import (
	"context"
	"errors"
	"fmt"

	"agent-ls/hooks"
	"agent-ls/hooks/contract"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

// over says that the session's newest run has its end.
func over(row journal.SessionRow) bool {
	return row.Status != report.Running && row.Status != report.Waiting
}

// standing is how a session stands: one whose run is not over and that nobody
// drives was interrupted.
func (s *Service) standing(row journal.SessionRow) report.Status {
	if over(row) || row.Owner == journal.Elsewhere {
		return row.Status
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[row.ID] != nil {
		return row.Status
	}
	return report.Interrupted
}

// Sessions lists sessions, newest first, whose title or text contains query; limit is
// 50 if it is not positive. The second result is the cursor to go on with, ""
// at the end.
func (s *Service) Sessions(ctx context.Context, limit int, cursor, query string) ([]report.Session, string, error) {
	if limit <= 0 {
		limit = 50
	}
	rows, err := s.opt.Journal.Sessions(ctx, limit+1, cursor, query)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].ID
	}
	list := make([]report.Session, len(rows))
	for i, r := range rows {
		list[i] = s.sessionOf(r)
	}
	return list, next, nil
}

func (s *Service) sessionOf(r journal.SessionRow) report.Session {
	return report.Session{
		SessionID: r.ID, Title: r.Title, StartedAt: r.StartedAt, Status: s.standing(r), Turns: r.Turns, Usage: r.Usage,
	}
}

// Events gives what a session showed after a seq, at most limit events (all if
// it is not positive), and the session's newest seq.
func (s *Service) Events(ctx context.Context, sessionID string, afterSeq int64, limit int) ([]report.Event, int64, error) {
	if _, err := s.opt.Journal.Session(ctx, sessionID); err != nil {
		if errors.Is(err, journal.ErrNotFound) {
			return nil, 0, fmt.Errorf("session %s: %w", sessionID, ErrUnknownID)
		}
		return nil, 0, err
	}
	events, last, err := s.opt.Journal.Events(ctx, sessionID, afterSeq, limit)
	if events == nil {
		events = []report.Event{}
	}
	return events, last, err
}

// Pending gives what is still open, in all windows and of runs that a process
// left behind, oldest first.
func (s *Service) Pending(ctx context.Context) ([]report.Approval, []report.Question, error) {
	open, err := s.opt.Journal.OpenApprovals(ctx)
	if err != nil {
		return nil, nil, err
	}
	approvals := make([]report.Approval, len(open))
	for i, p := range open {
		approvals[i] = p.Approval
		approvals[i].Elsewhere = p.Owner == journal.Elsewhere
	}
	questions, err := s.openQuestions(ctx)
	return approvals, questions, err
}

// Resolve answers an open approval or question, wherever its run is driven. Where nobody
// drives it any more, the run is resumed with the answer.
func (s *Service) Resolve(ctx context.Context, id string, answer report.Answer) error {
	p, err := s.opt.Journal.Approval(ctx, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return s.resolveQuestion(ctx, id, answer)
	case err != nil:
		return err
	case p.State != "open":
		return fmt.Errorf("approval %s: %w", id, ErrAlreadyResolved)
	}
	if answer.By == "" {
		answer.By = "here"
	}
	s.mu.Lock()
	driven := p.Owner == journal.Elsewhere || s.sessions[p.SessionID] != nil
	s.mu.Unlock()
	if err := s.settle(ctx, p.Approval, answer); err != nil || driven {
		return err
	}
	return s.resumeFamily(ctx, p.SessionID)
}

// Decisions gives recorded decisions, oldest first, 100 by default, and the
// cursor to go on with. A run that is not known is ErrUnknownID.
func (s *Service) Decisions(ctx context.Context, q DecisionQuery) ([]hooks.Decision, string, error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	if q.RunID != "" {
		if _, err := s.opt.Journal.SessionOf(ctx, q.RunID); errors.Is(err, journal.ErrNotFound) {
			return nil, "", fmt.Errorf("run %s: %w", q.RunID, ErrUnknownID)
		} else if err != nil {
			return nil, "", err
		}
	}
	found, next, err := s.opt.Journal.Decisions(ctx, journal.DecisionFilter{
		Path: q.Path, RunID: q.RunID, Event: q.Event, After: q.Cursor, Limit: q.Limit, Newest: q.Newest,
	})
	if found == nil {
		found = []hooks.Decision{}
	}
	return found, next, err
}

// Hooks lists what the manifest declares now, with what each hook did so far.
func (s *Service) Hooks(ctx context.Context) ([]HookStatus, error) {
	cfg, _ := s.opt.Manifest(ctx)
	list := []HookStatus{}
	if cfg == nil {
		return list, nil
	}
	known := map[string]bool{}
	for i := range cfg.Agents {
		broken, err := s.brokenHooks(ctx, cfg.Agents[i].Hooks, cfg.HookLimits)
		if err != nil {
			return nil, err
		}
		for _, d := range cfg.Agents[i].Hooks {
			key := d.ID + "\x00" + d.Path
			if known[key] {
				continue
			}
			known[key] = true
			h, err := s.hookStatus(ctx, d)
			if err != nil {
				return nil, err
			}
			h.Error = broken[d.Path]
			list = append(list, h)
		}
	}
	commands, err := s.commandStatuses(ctx, cfg)
	if err != nil {
		return nil, err
	}
	handlers, err := s.goStatuses(ctx)
	return append(append(list, commands...), handlers...), err
}

func (s *Service) brokenHooks(ctx context.Context, declared []hooks.Declaration, limits hooks.Limits) (map[string]string, error) {
	broken := map[string]string{}
	if s.opt.Hooks == nil || len(declared) == 0 {
		return broken, nil
	}
	_, findings, err := s.opt.Hooks.Load(ctx, declared, limits)
	if err != nil {
		return nil, fmt.Errorf("load hooks: %w", err)
	}
	for _, f := range errorsOf(findings) {
		if broken[f.Path] == "" {
			broken[f.Path] = f.Message
		}
	}
	return broken, nil
}

func (s *Service) hookStatus(ctx context.Context, d hooks.Declaration) (HookStatus, error) {
	h := HookStatus{
		ID: d.ID, Event: d.Event, Stage: d.Stage, Kind: "event", Enabled: !s.hookOff(d.ID), Trust: "notNeeded", Declared: d.Declared,
		Hook: hooks.Source{At: &hooks.Location{Path: d.Path}},
	}
	if e := contract.ByName(d.Event); e != nil {
		h.Function = e.Function
		if e.Stage {
			h.Kind = "stage"
		}
	}
	counts, last, err := s.opt.Journal.HookCounts(ctx, d.ID)
	if err != nil {
		return h, err
	}
	h.LastRun = last
	for action, n := range counts {
		h.Counts.Fired += n
		switch action {
		case "modify", "substitute":
			h.Counts.Modified += n
		case "deny":
			h.Counts.Denied += n
		case "cancel":
			h.Counts.Cancelled += n
		case "error":
			h.Counts.Failed += n
		}
	}
	return h, nil
}
