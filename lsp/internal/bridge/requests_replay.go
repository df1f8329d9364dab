package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"agent-ls/hooks"
	"agent-ls/hooks/check"
	"agent-ls/hooks/replay"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/text"
)

// replay serves agent/replay: recorded events through a script as it stands in
// the editor. It ends with its request or when its progress is cancelled.
func (b *bridge) replay(ctx context.Context, p ReplayParams) (ReplayResult, error) {
	q, err := b.replayQuery(ctx, p)
	if err != nil {
		return ReplayResult{}, err
	}
	f, err := b.pick(p.Folder, p.URI)
	if err != nil {
		return ReplayResult{}, err
	}
	api, err := f.service(ctx)
	if err != nil {
		return ReplayResult{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !isNull(p.WorkDoneToken) {
		end := b.showReplay(p.WorkDoneToken, &q, func() { cancel(errReplayCancelled) })
		defer end()
	}
	got, err := api.Replay(ctx, q)
	switch {
	case errors.Is(context.Cause(ctx), errReplayCancelled):
		return ReplayResult{}, protocol.ErrRequestCancelled
	case ctx.Err() != nil:
		return ReplayResult{}, ctx.Err()
	case errors.Is(err, run.ErrUnknownID):
		return ReplayResult{}, b.answer(err, "session", strings.Join(q.Sessions, ", "))
	case errors.Is(err, fs.ErrNotExist):
		return ReplayResult{}, invalid("%s cannot be read", show(p.URI))
	case err != nil:
		return ReplayResult{}, invalid("%s", show(err.Error()))
	}
	return b.replayed(q, got), nil
}

var errReplayCancelled = errors.New("the replay was cancelled")

// replayQuery reads the parameters. The script's text is the given one, else
// that of the open document, else that of the file.
func (b *bridge) replayQuery(ctx context.Context, p ReplayParams) (run.ReplayParams, error) {
	q := run.ReplayParams{Function: p.Function}
	if p.URI == "" {
		return q, invalid("uri is missing")
	}
	if q.Path = b.host.Workspace.Path(p.URI); q.Path == "" {
		return q, invalid("%s is no file", show(p.URI))
	}
	if token := p.WorkDoneToken; !isNull(token) && !isToken(token) {
		return q, invalid("workDoneToken is a string or an integer")
	}
	var err error
	if q.Limit, err = limited(p.Limit, 0, run.ReplayMost); err != nil {
		return q, err
	}
	if err := replaySessions(p.Sessions, &q); err != nil {
		return q, err
	}
	q.Read = func(path string) ([]byte, error) {
		t, err := b.files.Read(ctx, path)
		return t.Bytes, err
	}
	if p.Text != nil {
		q.Text = []byte(*p.Text)
		return q, nil
	}
	if q.Text, err = q.Read(q.Path); err != nil {
		return q, invalid("%s cannot be read: %v", show(p.URI), err)
	}
	if q.Text == nil {
		q.Text = []byte{}
	}
	return q, nil
}

// replaySessions reads a list of ids or "last:N".
func replaySessions(raw json.RawMessage, q *run.ReplayParams) error {
	if isNull(raw) {
		return nil
	}
	if json.Unmarshal(raw, &q.Sessions) == nil {
		if len(q.Sessions) == 0 {
			return invalid("sessions is an empty list")
		}
		for _, id := range q.Sessions {
			if err := needID("sessions", id); err != nil {
				return err
			}
		}
		return nil
	}
	var last string
	if json.Unmarshal(raw, &last) == nil {
		if digits, ok := strings.CutPrefix(last, "last:"); ok {
			if n, err := strconv.Atoi(digits); err == nil && n > 0 {
				q.Last = n
				return nil
			}
		}
	}
	return invalid(`sessions is a list of ids or "last:N"`)
}

// replayTold is how often a replay's progress is shown at most.
const replayTold = 100 * time.Millisecond

// showReplay shows a replay as progress and lets that be cancelled. The result
// ends it.
func (b *bridge) showReplay(token json.RawMessage, q *run.ReplayParams, cancel func()) (end func()) {
	token = compact(token)
	key := string(token)
	b.replaysMu.Lock()
	b.replays[key] = cancel
	b.replaysMu.Unlock()
	send := func(v progressValue) { b.out.notify(protocol.MethodProgress, progressParams{token, v}) }
	yes := true
	send(progressValue{Kind: "begin", Title: "replay", Cancellable: &yes})
	last := time.Now()
	latest := ""
	q.Progress = func(done, all int) {
		latest = fmt.Sprintf("%d of %d events", done, all)
		if now := time.Now(); done == 0 || now.Sub(last) >= replayTold {
			last = now
			send(progressValue{Kind: "report", Message: latest})
		}
	}
	return func() {
		b.replaysMu.Lock()
		delete(b.replays, key)
		b.replaysMu.Unlock()
		send(progressValue{Kind: "end", Message: latest})
	}
}

// cancelReplay ends the replay that is shown under a token, if there is one.
func (b *bridge) cancelReplay(token string) bool {
	b.replaysMu.Lock()
	cancel := b.replays[token]
	b.replaysMu.Unlock()
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}

func (b *bridge) replayed(q run.ReplayParams, got *run.Replayed) ReplayResult {
	out := ReplayResult{Checked: got.Checked, Unchanged: got.Unchanged, Changed: []ReplayChange{}, Errors: []ReplayError{}}
	for _, f := range got.Findings {
		out.Errors = append(out.Errors, b.replayFinding(q, f))
	}
	for _, r := range got.Changed {
		out.Changed = append(out.Changed, ReplayChange{
			Decision: b.wire.decision(r.Was), Now: b.wire.decision(r.Now), SessionID: r.Was.SessionID, Seq: r.Was.Seq, Because: show(r.Because),
		})
	}
	for _, r := range got.Broken {
		out.Errors = append(out.Errors, b.replayBroken(r))
	}
	if got.More > 0 {
		out.Errors = append(out.Errors, ReplayError{Kind: "notShown", Message: fmt.Sprintf("%d more changes and errors are counted and not listed", got.More)})
	}
	if got.Unrecorded > 0 {
		out.Errors = append(out.Errors, ReplayError{Kind: string(hooks.Unrecorded), Message: unrecordedText(got.Unrecorded), URI: b.wire.uri(q.Path)})
	}
	return out
}

func unrecordedText(n int) string {
	return fmt.Sprintf("%d recorded decisions were not played: what the script saw then is not on record, being too old or more than is kept", n)
}

func (b *bridge) replayBroken(r replay.Result) ReplayError {
	was := b.wire.decision(r.Was)
	e := ReplayError{Message: show(r.Because), Kind: string(r.Now.Error.Kind), SessionID: r.Was.SessionID, Seq: r.Was.Seq, Decision: &was}
	if l := b.wire.location(r.Now.Error.At); l != nil {
		e.URI, e.Range = l.URI, &l.Range
	}
	return e
}

// replayFinding is an error in the script as it stands. Its place counts in
// the text that was played.
func (b *bridge) replayFinding(q run.ReplayParams, f check.Finding) ReplayError {
	e := ReplayError{Message: show(f.Message), Kind: "finding", URI: b.wire.uri(f.Path)}
	if f.Path != q.Path {
		at := b.rangeOf(f.Path, f.Span)
		e.Range = &at
		return e
	}
	source := text.NewSource(string(q.Text))
	r := source.SpanRange(b.wire.encoding(), text.Span{Start: f.Span.Start, End: f.Span.End})
	e.Range = &Range{Position(r.Start), Position(r.End)}
	return e
}
