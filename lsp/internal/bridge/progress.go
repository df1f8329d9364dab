package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"go.lsp.dev/protocol"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// progress shows one run as $/progress, under the client's token or one that
// the server made.
type progress struct {
	bridge *bridge
	runID  string
	token  json.RawMessage

	mu     sync.Mutex
	begun  bool
	ended  bool
	title  string
	latest string
	end    *report.Event // the run ended before the client accepted the token
}

type progressParams struct {
	Token json.RawMessage `json:"token"`
	Value progressValue   `json:"value"`
}

type progressValue struct {
	Kind        string `json:"kind"`
	Title       string `json:"title,omitempty"`
	Message     string `json:"message,omitempty"`
	Cancellable *bool  `json:"cancellable,omitempty"`
}

// follow shows a run as progress. With no token, one is made where the client
// takes that.
func (b *bridge) follow(runID, prompt string, token json.RawMessage) {
	p := &progress{bridge: b, runID: runID, token: compact(token), title: "agent: " + firstWords(prompt, 60)}
	if !isNull(token) {
		b.runs.attach(runID, p)
		p.begin()
		return
	}
	if !b.host.Client.Capabilities().WorkDoneProgress {
		return
	}
	made, err := json.Marshal("agent-ls/" + runID)
	if err != nil {
		return
	}
	p.token = made
	b.runs.attach(runID, p)
	b.background(func(ctx context.Context) {
		params := map[string]json.RawMessage{"token": p.token}
		if err := b.call(ctx, protocol.MethodWindowWorkDoneProgressCreate, params, nil); err == nil {
			p.begin()
		}
	})
}

// begin opens the progress and catches up with what the run did meanwhile.
func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	yes := true
	p.begun = true
	p.send(progressValue{Kind: "begin", Title: p.title, Message: p.latest, Cancellable: &yes})
	if p.end != nil {
		p.finish(*p.end)
	}
}

// update follows an event.
func (p *progress) update(e report.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if e.Type == report.RunFinished {
		if p.begun {
			p.finish(e)
		} else {
			p.end = &e
		}
		return
	}
	line := progressLine(e)
	if line == "" || line == p.latest {
		return
	}
	if p.latest = line; p.begun {
		p.send(progressValue{Kind: "report", Message: line})
	}
}

func (p *progress) finish(e report.Event) {
	p.ended = true
	p.send(progressValue{Kind: "end", Message: finishedLine(p.bridge.wire.event(e))})
}

func (p *progress) send(v progressValue) {
	p.bridge.out.notify(protocol.MethodProgress, progressParams{p.token, v})
}

func progressLine(e report.Event) string {
	switch e.Type {
	case report.StageEntered:
		return "stage " + show(e.Stage)
	case report.ToolStarted:
		if e.Title != "" {
			return show(oneLine(e.Title))
		}
		return show(e.Tool)
	case report.ApprovalRequested:
		return "waits for your approval"
	case report.QuestionAsked:
		return "waits for your answer"
	case report.Retrying:
		return "asks the model again: " + show(oneLine(e.Because))
	case report.Message:
		return firstWords(e.Text, 80)
	}
	return ""
}

// attach makes a progress follow a run. One that is over already ends at once.
func (r *runs) attach(runID string, p *progress) {
	r.mu.Lock()
	s := r.get(runID)
	s.progress = p
	finished := s.finished
	r.mu.Unlock()
	if finished != nil {
		p.update(*finished)
	}
}

// byToken is the run that is shown under a progress token, "" if none is.
func (r *runs) byToken(token string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byID {
		if s.progress != nil && string(s.progress.token) == token && s.finished == nil {
			return s.id
		}
	}
	return ""
}

// progressCancelled ends the replay or the run whose progress the user
// cancelled.
func (b *bridge) progressCancelled(token string) {
	if b.cancelReplay(string(compact(json.RawMessage(token)))) {
		return
	}
	id := b.runs.byToken(string(compact(json.RawMessage(token))))
	if id == "" {
		return
	}
	b.background(func(ctx context.Context) {
		err := b.find(ctx, b.runs.folderOf(id), func(api run.API) error {
			_, err := api.Cancel(ctx, id, "")
			return err
		})
		if err != nil && ctx.Err() == nil {
			b.log.Warn("cancelling a run", "run", id, "err", err)
		}
	})
}

func compact(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}

// firstWords is the beginning of a text in one line, at most n characters.
func firstWords(s string, n int) string {
	line := []rune(show(strings.Join(strings.Fields(tailless(s, 8*n)), " ")))
	if len(line) > n {
		return string(line[:n-1]) + "…"
	}
	return string(line)
}

// tailless is the beginning of a text, at most n bytes.
func tailless(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
