package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.lsp.dev/protocol"

	"agent-ls/hooks/check"
	"agent-ls/loop/run"
	"agent-ls/loop/trust"
)

// trust serves agent/trust: a person trusts a command of the workspace, or
// takes that back.
func (b *bridge) trust(ctx context.Context, p TrustParams) (OK, error) {
	if err := needID("id", p.ID); err != nil {
		return OK{}, err
	}
	if p.Trust && p.Digest == "" {
		return OK{}, invalid("digest is missing: trust is in the content that was shown")
	}
	var known *folder
	if p.Folder != "" {
		f, err := b.pick(p.Folder)
		if err != nil {
			return OK{}, err
		}
		known = f
	}
	var refused error
	err := b.find(ctx, known, func(api run.API) error {
		err := api.Trust(ctx, p.ID, p.Digest, p.Trust)
		if errors.Is(err, run.ErrNotAsShown) { // another folder may have one that is
			refused = err
			return run.ErrUnknownID
		}
		return err
	})
	if errors.Is(err, run.ErrUnknownID) && refused != nil {
		err = refused
	}
	if errors.Is(err, run.ErrNotAsShown) || errors.Is(err, trust.ErrSandboxed) {
		return OK{}, failure(CodeNotTrusted, show(err.Error()), NotTrustedData{ID: p.ID, Reason: show(err.Error())})
	}
	if err != nil {
		return OK{}, b.answer(err, "entry", p.ID)
	}
	b.host.Workspace.Reload(trust.New(b.opts.StateDir).Path())
	return OK{OK: true}, nil
}

// trustTitle is the one answer that trusts.
const trustTitle = "Trust"

// commandTrust asks the person at the editor whether they trust an entry, as
// it is now, and records it if so. The question is asked because an editor may
// be set to run such commands by itself, by settings of the workspace even.
func (b *bridge) commandTrust(ctx context.Context, args []json.RawMessage) (any, error) {
	var words [3]string // id, digest, a document of the folder
	if len(args) < 2 || len(args) > len(words) {
		return nil, invalid("agent.trust takes the entry's id, its digest and a document of its folder; got %d arguments", len(args))
	}
	for i, raw := range args {
		if err := json.Unmarshal(raw, &words[i]); err != nil {
			return nil, invalid("agent.trust: argument %d is a string: %v", i+1, err)
		}
	}
	p := TrustParams{ID: words[0], Digest: words[1], Trust: true}
	p.Folder = words[2]
	asked := b.trustAsked(ctx, p)
	if asked == nil {
		return nil, b.answer(fmt.Errorf("nothing called %q waits for trust with that digest: %w", p.ID, run.ErrUnknownID), "entry", p.ID)
	}
	params := protocol.ShowMessageRequestParams{
		Type:    protocol.MessageTypeWarning,
		Message: fmt.Sprintf("Trust %s of this workspace? It would %s", show(asked.ID), show(asked.Does)),
		Actions: []protocol.MessageActionItem{{Title: trustTitle}, {Title: "Cancel"}},
	}
	var answer struct {
		Title string `json:"title"`
	}
	if err := b.call(ctx, protocol.MethodWindowShowMessageRequest, &params, &answer); err != nil {
		return nil, err
	}
	if answer.Title != trustTitle {
		return OK{}, nil
	}
	return b.trust(ctx, p)
}

// trustAsked is what waits for trust under that id and digest.
func (b *bridge) trustAsked(ctx context.Context, p TrustParams) *check.TrustAsk {
	folders, err := b.allFolders()
	if err != nil {
		return nil
	}
	for _, f := range folders {
		_, findings := b.host.Workspace.Manifest(ctx, f.Root)
		for _, found := range findings {
			if t := found.Trust; t != nil && t.ID == p.ID && t.Digest == p.Digest {
				return t
			}
		}
	}
	return nil
}
