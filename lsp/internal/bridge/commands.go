package bridge

import (
	"context"
	"encoding/json"
	"fmt"

	"go.lsp.dev/protocol"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/server"
)

// commands are those of workspace/executeCommand: the agent for an editor that
// knows nothing of us. Without a run's id they mean the newest run.
func (b *bridge) commands() map[string]server.CommandHandler {
	return map[string]server.CommandHandler{
		"agent.run":           b.commandRun,
		"agent.cancel":        b.commandCancel,
		"agent.steer":         b.commandSteer,
		"agent.undo":          b.commandUndo,
		"agent.showDecisions": b.commandShowDecisions,
		"agent.pending":       b.commandPending,
		"agent.answer":        b.commandAnswer,
		"agent.trust":         b.commandTrust,
	}
}

// commandRun takes the prompt, or an object as agent/start does.
func (b *bridge) commandRun(ctx context.Context, args []json.RawMessage) (any, error) {
	if len(args) != 1 {
		return nil, invalid("agent.run takes one argument, the prompt; got %d", len(args))
	}
	var p StartParams
	if isObject(args[0]) {
		if err := decode(args[0], &p); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(args[0], &p.Prompt); err != nil {
		return nil, invalid("agent.run: the prompt is a string: %v", err)
	}
	started, err := b.startRun(ctx, p)
	if err != nil {
		return nil, err
	}
	if isNull(p.WorkDoneToken) {
		b.follow(started.RunID, p.Prompt, nil)
	}
	if end := b.runs.startedByCommand(started.RunID); end != nil && b.runs.claimResult(started.RunID) {
		b.showResult(*end)
	}
	return started, nil
}

func (b *bridge) commandCancel(ctx context.Context, args []json.RawMessage) (any, error) {
	id, err := b.runArgument("agent.cancel", args, 0)
	if err != nil {
		return nil, err
	}
	return b.cancelRun(ctx, CancelParams{RunID: id})
}

func (b *bridge) commandSteer(ctx context.Context, args []json.RawMessage) (any, error) {
	var text string
	if len(args) == 0 {
		return nil, invalid("agent.steer takes the text, and a run's id if it is not the newest")
	}
	if err := json.Unmarshal(args[0], &text); err != nil {
		return nil, invalid("agent.steer: the text is a string: %v", err)
	}
	id, err := b.runArgument("agent.steer", args, 1)
	if err != nil {
		return nil, err
	}
	return b.steerRun(ctx, SteerParams{RunID: id, Text: text})
}

func (b *bridge) commandUndo(ctx context.Context, args []json.RawMessage) (any, error) {
	id, err := b.runArgument("agent.undo", args, 0)
	if err != nil {
		return nil, err
	}
	undone, err := b.undoRun(ctx, UndoParams{RunID: id})
	if err != nil {
		return nil, err
	}
	message, t := fmt.Sprintf("undone: %d files", len(undone.Edits)), protocol.MessageTypeInfo
	if len(undone.Edits) == 1 {
		message = "undone: 1 file"
	}
	for i, uri := range undone.Conflicts {
		if i == 0 {
			message, t = message+"; changed since, left as they are:", protocol.MessageTypeWarning
		}
		message += " " + show(uri)
	}
	b.showMessage(t, message)
	return undone, nil
}

// ShownDecisions is the result of the command agent.showDecisions.
type ShownDecisions struct {
	URI string `json:"uri"`
}

func (b *bridge) commandShowDecisions(ctx context.Context, args []json.RawMessage) (any, error) {
	id, err := b.runArgument("agent.showDecisions", args, 0)
	if err != nil {
		return nil, err
	}
	text, err := b.content.decisions(ctx, id)
	if err != nil {
		return nil, err
	}
	return ShownDecisions{URI: b.content.present(ctx, decisionsURI(id), text)}, nil
}

// commandPending lists what is open. An editor that has no view of approvals
// is asked again, about those that it is not asked about at this moment.
func (b *bridge) commandPending(ctx context.Context, args []json.RawMessage) (any, error) {
	if len(args) != 0 {
		return nil, invalid("agent.pending takes no arguments")
	}
	open, err := b.openApprovals(ctx)
	if err != nil {
		return nil, err
	}
	if !b.host.Client.Capabilities().Agent.Approvals {
		for _, o := range open {
			if b.approvals.shown(o.approval.ID) == nil {
				b.background(func(ctx context.Context) { b.askAgain(ctx, o) })
			}
		}
	}
	if !b.host.Client.Capabilities().Agent.Questions {
		if err := b.askQuestionsAgain(ctx); err != nil {
			return nil, err
		}
	}
	return b.pending(ctx)
}

// askAgain asks about an approval that no run of this process waits for, and
// gives the answer to the service, which goes on with the run.
func (b *bridge) askAgain(ctx context.Context, o openApproval) {
	ap := o.approval
	ctx, takeDown := context.WithCancel(ctx)
	defer takeDown()
	s := b.approvals.show(ap, takeDown)
	defer b.approvals.hide(s)
	answer, err := b.ask(ctx, ap)
	if err != nil {
		return // it stays open
	}
	if err := b.settleOutOfBand(ctx, ap.ID, s, o.api, answer); err != nil && ctx.Err() == nil {
		b.showMessage(protocol.MessageTypeWarning, show(err.Error()))
	}
}

// runArgument is the run that a command is about: argument i, else the newest.
func (b *bridge) runArgument(command string, args []json.RawMessage, i int) (string, error) {
	if len(args) > i+1 {
		return "", invalid("%s takes at most %d arguments; got %d", command, i+1, len(args))
	}
	if len(args) > i && !isNull(args[i]) {
		var id string
		if err := json.Unmarshal(args[i], &id); err != nil {
			return "", invalid("%s: the run's id is a string: %v", command, err)
		}
		return id, nil
	}
	if id := b.newestRun(); id != "" {
		return id, nil
	}
	return "", failure(codeRequestFailed, command+": no run was started here yet; name one", RefusedData{Reason: "service"})
}

// newestRun is the newest run of this connection, else of its services.
func (b *bridge) newestRun() string {
	if id := b.runs.newest(); id != "" {
		return id
	}
	folders, err := b.allFolders()
	if err != nil {
		return ""
	}
	for _, f := range folders {
		if api, err := f.service(b.ctx); err == nil {
			if id := api.Newest(); id != "" {
				return id
			}
		}
	}
	return ""
}

// openApproval is a pending one and the service that has it.
type openApproval struct {
	approval report.Approval
	api      run.API
}
