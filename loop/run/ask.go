package run

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
)

//go:embed ask_user.md
var askDoc string

// Asker is what a Frontend also is when it can put questions to a person. The
// context ends when the question was answered elsewhere or withdrawn, with a
// *Settled as its cause. ErrNoApprover says that nobody can be asked here.
type Asker interface {
	Ask(context.Context, report.Question) (report.Reply, error)
}

// maxReply bounds an answer, in bytes.
const maxReply = 64 << 10

// askTool puts a question to a person.
type askTool struct{}

type askArguments struct {
	Header  string          `json:"header"`
	Prompt  string          `json:"prompt"`
	Options []report.Option `json:"options"`
}

func (askTool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "ask_user", Description: strings.TrimSpace(askDoc), Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["header","prompt"],"properties":{
"header":{"type":"string","minLength":1,"maxLength":80,"description":"A title of a few words."},
"prompt":{"type":"string","minLength":1,"maxLength":16384,"description":"The question."},
"options":{"type":"array","maxItems":10,"items":{"type":"object","additionalProperties":false,"required":["label"],"properties":{
"label":{"type":"string","minLength":1,"maxLength":120},
"description":{"type":"string","maxLength":1000}}}}}}`)}
}

// Prepare is what the call would do: nothing but wait.
func (askTool) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	var a askArguments
	if err := json.Unmarshal(args, &a); err != nil {
		return loop.Plan{}, fmt.Errorf("read the arguments: %w", err)
	}
	known := map[string]bool{}
	for _, o := range a.Options {
		if known[o.Label] {
			return loop.Plan{}, fmt.Errorf("the option %q is there twice", o.Label)
		}
		known[o.Label] = true
	}
	return loop.Plan{Effect: loop.Read, Title: "ask: " + titleOf(a.Header)}, nil
}

// Run is never called: the tool needs a run to act on.
func (askTool) Run(context.Context, loop.Invocation) loop.ToolResult {
	return *refusal(loop.CallError, "there is no run to ask from")
}

// runIn asks, or takes up the question that a process that is gone had asked.
// There is no limit of time: no answer yet is no answer.
func (askTool) runIn(ctx context.Context, d *dispatched, call loop.Invocation) loop.ToolResult {
	var a askArguments
	if err := json.Unmarshal(call.Arguments, &a); err != nil {
		return *refusal(loop.CallError, err.Error())
	}
	r := d.run
	q, reply, err := r.question(ctx, d, a)
	if err != nil {
		if ctx.Err() != nil {
			return *d.stopped(ctx)
		}
		return *refusal(loop.CallError, "the question could not be asked: "+err.Error())
	}
	if reply == nil {
		given, err := r.awaitReply(ctx, q)
		if err != nil {
			return *d.stopped(ctx)
		}
		reply = &given
	}
	return replied(*reply)
}

// question journals the question before anybody sees it, or finds the one
// that the call had asked.
func (r *activeRun) question(ctx context.Context, d *dispatched, a askArguments) (report.Question, *report.Reply, error) {
	old, err := r.svc.opt.Journal.QuestionOf(ctx, d.call.ID)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return report.Question{}, nil, err
	}
	q, p := old.Question, posted{}
	if err != nil {
		q = report.Question{
			ID: newID("qst"), RunID: r.id, SessionID: r.session, CallID: d.call.ID, ParentRunID: d.state.ParentRunID,
			Header: a.Header, Prompt: a.Prompt, Options: a.Options, FreeText: true,
		}
		p.question = &q
	}
	if old.Reply != nil {
		return q, old.Reply, nil
	}
	p.event = loop.Event{Kind: loop.Questioned, CallID: d.call.ID, ID: q.ID, Waits: true}
	s, ok := r.tell(p)
	if c, found := s.Call(d.call.ID); !ok || !found || c.QuestionID != q.ID {
		return q, nil, errStopped
	}
	return q, nil, nil
}

// replied is what the model is told.
func replied(reply report.Reply) loop.ToolResult {
	switch {
	case reply.By == "no approver":
		text := "no approver: nobody could be asked; decide yourself and say what you assumed"
		return *refusal(loop.CallDenied, text)
	case reply.Dismissed:
		return *refusal(loop.CallDenied, "the user dismissed the question without an answer; decide yourself and say what you assumed")
	}
	text, cut := bothEnds(reply.Text, maxReply)
	return loop.ToolResult{Text: "the user answers: " + text, Truncated: cut, Outcome: loop.CallOK}
}

// openQuestion is a question that this process shows.
type openQuestion struct {
	won chan wonReply // gets the reply that won, once
}

// wonReply is the reply that counts, and who gave it.
type wonReply struct {
	report.Reply
	by string
}

// awaitReply shows the question and waits for the first reply, wherever it
// comes from.
func (r *activeRun) awaitReply(ctx context.Context, q report.Question) (report.Reply, error) {
	s := r.svc
	show, takeDown := context.WithCancelCause(ctx)
	defer takeDown(nil)
	open := &openQuestion{won: make(chan wonReply, 1)}
	s.asksMu.Lock()
	s.questions[q.ID] = open
	s.asksMu.Unlock()
	defer func() {
		s.asksMu.Lock()
		delete(s.questions, q.ID)
		s.asksMu.Unlock()
	}()
	r.busy.Go(func() { s.showQuestion(show, q) })
	select {
	case won := <-open.won:
		takeDown(&Settled{By: won.by}) // before the call goes on: whoever shows it learns why it goes
		return won.Reply, nil
	case <-ctx.Done():
		select {
		case won := <-open.won:
			return won.Reply, nil
		default:
			return report.Reply{}, context.Cause(ctx)
		}
	}
}

// showQuestion asks the front end. What it says counts only if nobody was
// faster.
func (s *Service) showQuestion(ctx context.Context, q report.Question) {
	reply, err := report.Reply{}, ErrNoApprover
	if asker, ok := s.opt.Frontend.(Asker); ok {
		reply, err = asker.Ask(ctx, q)
	}
	if ctx.Err() != nil {
		return
	}
	switch {
	case err != nil:
		reply = report.Reply{Dismissed: true, By: "no approver"}
		if !errors.Is(err, ErrNoApprover) {
			s.log.Warn("ask a question", "question", q.ID, "error", err)
		}
	case reply.By == "":
		reply.By = "here"
	}
	if err := s.settleQuestion(context.WithoutCancel(ctx), q.ID, reply); err != nil && !errors.Is(err, ErrAlreadyResolved) {
		s.log.Error("record an answer", "question", q.ID, "error", err)
		s.deliverReply(q.ID, report.Reply{Dismissed: true, By: "no approver"}, "here")
	}
}

// settleQuestion records the reply, unless one was recorded before, and hands
// it to the call that waits, if it waits here.
func (s *Service) settleQuestion(ctx context.Context, id string, reply report.Reply) error {
	reply.Text, _ = bothEnds(strings.ToValidUTF8(reply.Text, "\uFFFD"), maxReply)
	switch err := s.opt.Journal.AnswerQuestion(ctx, id, reply); {
	case errors.Is(err, journal.ErrSettled):
		return ErrAlreadyResolved
	case errors.Is(err, journal.ErrNotFound):
		return ErrUnknownID
	case err != nil:
		return err
	}
	s.deliverReply(id, reply, reply.By)
	return nil
}

func (s *Service) deliverReply(id string, reply report.Reply, by string) {
	s.asksMu.Lock()
	open := s.questions[id]
	delete(s.questions, id)
	s.asksMu.Unlock()
	if open != nil {
		open.won <- wonReply{reply, by}
	}
}

// takeReplies looks for replies that another process wrote.
func (s *Service) takeReplies(ctx context.Context) {
	s.asksMu.Lock()
	ids := make([]string, 0, len(s.questions))
	for id := range s.questions {
		ids = append(ids, id)
	}
	s.asksMu.Unlock()
	for _, id := range ids {
		p, err := s.opt.Journal.Question(ctx, id)
		if err != nil {
			s.log.Error("look for an answer", "question", id, "error", err)
			continue
		}
		if p.Reply != nil {
			s.deliverReply(id, *p.Reply, "elsewhere")
		}
	}
}

// openQuestions are those of all windows and of runs that were left behind.
func (s *Service) openQuestions(ctx context.Context) ([]report.Question, error) {
	open, err := s.opt.Journal.OpenQuestions(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]report.Question, len(open))
	for i, p := range open {
		out[i] = p.Question
		out[i].Elsewhere = p.Owner == journal.Elsewhere
	}
	return out, nil
}

// resolveQuestion answers an open question, wherever its run is driven. Where
// nobody drives it any more, the run is resumed with the answer.
func (s *Service) resolveQuestion(ctx context.Context, id string, answer report.Answer) error {
	p, err := s.opt.Journal.Question(ctx, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return fmt.Errorf("approval or question %s: %w", id, ErrUnknownID)
	case err != nil:
		return err
	case p.State != "open":
		return fmt.Errorf("question %s: %w", id, ErrAlreadyResolved)
	}
	reply := report.Reply{Dismissed: answer.Reply == nil, By: answer.By}
	if reply.By == "" {
		reply.By = "here"
	}
	if answer.Reply != nil {
		reply.Text = *answer.Reply
	}
	s.mu.Lock()
	driven := p.Owner == journal.Elsewhere || s.sessions[p.SessionID] != nil
	s.mu.Unlock()
	if err := s.settleQuestion(ctx, id, reply); err != nil || driven {
		return err
	}
	return s.resumeFamily(ctx, p.SessionID)
}

// resumeFamily goes on with the run that a session belongs to: of a
// sub-agent's, the one that spawned it.
func (s *Service) resumeFamily(ctx context.Context, sessionID string) error {
	root, err := s.opt.Journal.RootOf(ctx, sessionID)
	if err != nil {
		return err
	}
	_, err = s.Resume(ctx, root)
	return err
}

// unasked are the calls whose open questions end with them.
func (r *activeRun) unasked(commands []loop.Command) []string {
	var ids []string
	for _, c := range commands {
		if c.Kind != loop.Tell || c.What != loop.TellCall {
			continue
		}
		if call, ok := r.state.Call(c.CallID); ok && call.QuestionID != "" {
			ids = append(ids, c.CallID)
		}
	}
	return ids
}
