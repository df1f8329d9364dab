package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.lsp.dev/protocol"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// This file puts the agent's questions to the user: by agent/ask, else by a
// message with the options as actions. A plain editor answers in the user's
// own words with the command agent.answer.

// dismissTitle is the action of a message that leaves a question unanswered.
const dismissTitle = "Dismiss"

// Ask implements run.Asker.
func (f *front) Ask(ctx context.Context, q report.Question) (report.Reply, error) {
	b := f.bridge
	b.out.flush(ctx) // question_asked comes first
	b.shown.Store(q.ID, true)
	defer b.shown.Delete(q.ID)
	return b.askQuestion(ctx, q)
}

// askQuestion asks by the best way that the editor has.
func (b *bridge) askQuestion(ctx context.Context, q report.Question) (report.Reply, error) {
	if b.host.Client.Capabilities().Agent.Questions {
		var raw json.RawMessage
		err := b.call(ctx, methodAsk, question(q), &raw)
		if !isMethodNotFound(err) {
			return b.reply(ctx, raw, err, q)
		}
		b.log.Warn("the editor declared questions and does not know agent/ask")
	}
	params := protocol.ShowMessageRequestParams{Type: protocol.MessageTypeInfo, Message: b.questionMessage(ctx, q)}
	for _, o := range q.Options {
		params.Actions = append(params.Actions, protocol.MessageActionItem{Title: show(o.Label)})
	}
	params.Actions = append(params.Actions, protocol.MessageActionItem{Title: dismissTitle})
	var raw json.RawMessage
	err := b.call(ctx, protocol.MethodWindowShowMessageRequest, &params, &raw)
	if isMethodNotFound(err) {
		return report.Reply{}, fmt.Errorf("this editor can show neither agent/ask nor window/showMessageRequest: %w", run.ErrNoApprover)
	}
	if err != nil || isNull(raw) {
		return b.reply(ctx, raw, err, q)
	}
	var action struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(raw, &action) == nil {
		for _, o := range q.Options {
			if show(o.Label) == action.Title {
				return report.Reply{Text: o.Label, By: byHere}, nil
			}
		}
	}
	return report.Reply{Dismissed: true, By: byHere}, nil
}

// reply reads an answer of the editor. What is none leaves the question
// unanswered; a lost connection leaves it open.
func (b *bridge) reply(ctx context.Context, raw json.RawMessage, err error, q report.Question) (report.Reply, error) {
	dismissed := report.Reply{Dismissed: true, By: byHere}
	if err != nil {
		_, err := b.unanswered(ctx, err)
		return dismissed, err
	}
	if isNull(raw) {
		return dismissed, nil
	}
	var got AskResult
	if err := json.Unmarshal(raw, &got); err != nil || got.Answer == nil && !got.Dismissed {
		b.logMessage(protocol.MessageTypeWarning, fmt.Sprintf("the editor's answer to %q could not be read, so it counts as dismissed", show(q.Header)))
		return dismissed, nil
	}
	if got.Dismissed {
		return dismissed, nil
	}
	return report.Reply{Text: *got.Answer, By: byHere}, nil
}

// questionMessage is the text of the message box.
func (b *bridge) questionMessage(ctx context.Context, q report.Question) string {
	var s strings.Builder
	fmt.Fprintf(&s, "The agent asks: %s\n%s\n", show(q.Header), show(q.Prompt))
	for _, o := range q.Options {
		if o.Description != "" {
			fmt.Fprintf(&s, "“%s”: %s\n", show(o.Label), show(o.Description))
		}
	}
	s.WriteString("In your own words: run the command agent.answer with the text.")
	lines := strings.Split(s.String(), "\n")
	if len(lines) <= maxMessageLines {
		return s.String()
	}
	place := b.content.present(ctx, approvalURI(q.ID), s.String())
	return fmt.Sprintf("%s\n… %d more lines in %s", strings.Join(lines[:maxMessageLines], "\n"), len(lines)-maxMessageLines, place)
}

// openQuestion is a pending one and the service that has it.
type openQuestion struct {
	question report.Question
	api      run.API
}

func (b *bridge) openQuestions(ctx context.Context) ([]openQuestion, error) {
	var out []openQuestion
	err := b.eachPending(ctx, func(api run.API, _ []report.Approval, questions []report.Question) {
		for _, q := range questions {
			out = append(out, openQuestion{q, api})
		}
	})
	return out, err
}

// resolveQuestion answers an open question out of band; false means that no
// open question has that id.
func (b *bridge) resolveQuestion(ctx context.Context, p ResolveParams) (bool, error) {
	open, err := b.openQuestions(ctx)
	if err != nil {
		return false, err
	}
	for _, o := range open {
		if o.question.ID != p.ID {
			continue
		}
		answer := report.Answer{By: byHere}
		switch {
		case !isNull(p.Answer):
			var text string
			if err := json.Unmarshal(p.Answer, &text); err != nil {
				return true, invalid("the answer to a question is a string")
			}
			answer.Reply = &text
		case p.Outcome != report.DenyOnce:
			return true, invalid("a question takes an answer; the outcome deny dismisses it")
		}
		return true, b.answer(o.api.Resolve(ctx, p.ID, answer), "question", p.ID)
	}
	return false, nil
}

// askQuestionsAgain shows what no run of this process waits for.
func (b *bridge) askQuestionsAgain(ctx context.Context) error {
	open, err := b.openQuestions(ctx)
	if err != nil {
		return err
	}
	for _, o := range open {
		if _, shown := b.shown.LoadOrStore(o.question.ID, true); shown || o.question.Elsewhere {
			continue
		}
		b.background(func(ctx context.Context) {
			defer b.shown.Delete(o.question.ID)
			reply, err := b.askQuestion(ctx, o.question)
			if err != nil {
				return // it stays open
			}
			answer := report.Answer{By: byHere}
			if !reply.Dismissed {
				answer.Reply = &reply.Text
			}
			if err := o.api.Resolve(ctx, o.question.ID, answer); err != nil && ctx.Err() == nil {
				b.showMessage(protocol.MessageTypeWarning, show(err.Error()))
			}
		})
	}
	return nil
}

// commandAnswer answers a question in the user's own words: the text, and the
// question's id where several are open.
func (b *bridge) commandAnswer(ctx context.Context, args []json.RawMessage) (any, error) {
	var text, id string
	if len(args) == 0 || len(args) > 2 {
		return nil, invalid("agent.answer takes the text, and a question's id where several are open; got %d arguments", len(args))
	}
	if err := json.Unmarshal(args[0], &text); err != nil {
		return nil, invalid("agent.answer: the text is a string: %v", err)
	}
	if len(args) == 2 {
		if err := json.Unmarshal(args[1], &id); err != nil {
			return nil, invalid("agent.answer: the question's id is a string: %v", err)
		}
	}
	open, err := b.openQuestions(ctx)
	if err != nil {
		return nil, err
	}
	if id == "" {
		if len(open) != 1 {
			return nil, invalid("agent.answer: %d questions are open; agent.pending lists them, name one", len(open))
		}
		id = open[0].question.ID
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return b.resolve(ctx, ResolveParams{ID: id, Answer: raw})
}
