package bridge

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"

	"agent-ls/hooks"
	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// contentScheme is that of the documents which the server makes: text that is
// shown, never edited.
const contentScheme = "agent"

const (
	// keptFiles is how long a document in the state folder stays.
	keptFiles = 7 * 24 * time.Hour
	// listed bounds what one document lists.
	listed = 10_000
)

func approvalURI(id string) string {
	return contentScheme + ":/approvals/" + url.PathEscape(id) + ".txt"
}
func decisionsURI(runID string) string {
	return contentScheme + ":/runs/" + url.PathEscape(runID) + "/decisions.txt"
}
func transcriptURI(sessionID, runID string) string {
	return contentScheme + ":/sessions/" + url.PathEscape(sessionID) + "/" + url.PathEscape(runID) + ".txt"
}

// content makes and shows the documents of the agent: scheme.
type content struct {
	bridge *bridge
	tidy   sync.Once // old files go at the first write

	shownMu sync.Mutex
	shown   map[string]bool // URIs that the client may hold a text of
}

func newContent(b *bridge) *content { return &content{bridge: b, shown: map[string]bool{}} }

// read serves workspace/textDocumentContent: the text as it is now.
func (c *content) read(ctx context.Context, uri string) (string, error) {
	path, ok := strings.CutPrefix(uri, contentScheme+":")
	if !ok {
		return "", invalid("%s is no %s: document", uri, contentScheme)
	}
	parts := strings.Split(strings.TrimLeft(path, "/"), "/")
	for i, p := range parts {
		plain, err := url.PathUnescape(p)
		if err != nil {
			return "", invalid("%s: %v", uri, err)
		}
		parts[i] = plain
	}
	b := c.bridge
	last, isText := strings.CutSuffix(parts[len(parts)-1], ".txt")
	switch {
	case !isText:
	case len(parts) == 1 && last == "pending":
		return c.pending(ctx)
	case len(parts) == 2 && parts[0] == "approvals":
		return c.approval(ctx, last)
	case len(parts) == 3 && parts[0] == "runs" && last == "decisions":
		return c.decisions(ctx, parts[1])
	case len(parts) == 3 && parts[0] == "sessions":
		return c.transcript(ctx, parts[1], last)
	}
	return "", b.answer(fmt.Errorf("there is no document %s: %w", uri, run.ErrUnknownID), "document", uri)
}

func (c *content) pending(ctx context.Context) (string, error) {
	all, err := c.bridge.pending(ctx)
	if err != nil {
		return "", err
	}
	if len(all.Approvals) == 0 {
		return "Nothing waits for an answer.\n", nil
	}
	var s strings.Builder
	for _, a := range all.Approvals {
		s.WriteString(approvalText(a) + "\n\n")
	}
	return s.String(), nil
}

func (c *content) approval(ctx context.Context, id string) (string, error) {
	b := c.bridge
	if s := b.approvals.shown(id); s != nil {
		return approvalText(b.wire.approval(s.approval)) + "\n", nil
	}
	all, err := b.pending(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range all.Approvals {
		if a.ID == id {
			return approvalText(a) + "\n", nil
		}
	}
	return "This approval is no longer open.\n", nil
}

func (c *content) decisions(ctx context.Context, runID string) (string, error) {
	b := c.bridge
	var s strings.Builder
	count := 0
	err := b.find(ctx, b.runs.folderOf(runID), func(api run.API) error {
		s.Reset()
		count = 0
		q := run.DecisionQuery{RunID: runID, Limit: 500}
		for {
			page, next, err := api.Decisions(ctx, q)
			if err != nil {
				return err
			}
			for _, d := range page {
				s.WriteString(decisionLine(d) + "\n")
			}
			count += len(page)
			if next == "" || count >= listed {
				break
			}
			q.Cursor = next
		}
		if count == 0 {
			return run.ErrUnknownID // perhaps another folder's
		}
		return nil
	})
	if errors.Is(err, run.ErrUnknownID) {
		return "No hook has decided anything in this run.\n", nil
	}
	return s.String(), b.answer(err, "run", runID)
}

// decisionLine is one decision as text: when, what, by which line, why.
func decisionLine(d hooks.Decision) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s  %-18s %-10s %s", d.At.UTC().Format("15:04:05.000"), d.Event, d.Action, show(decisionPlace(d)))
	if d.Reason != "" {
		fmt.Fprintf(&s, "  %s", show(oneLine(d.Reason)))
	}
	if d.Error != nil {
		fmt.Fprintf(&s, "  %s", show(oneLine(d.Error.Message)))
	}
	fmt.Fprintf(&s, "  (%d µs)", d.DurationUs)
	for _, c := range d.Changes {
		fmt.Fprintf(&s, "\n    %s: %s → %s", c.Path, show(string(c.Before)), show(string(c.After)))
	}
	if d.Printed != "" {
		fmt.Fprintf(&s, "\n    printed: %s", show(strings.TrimRight(d.Printed, "\n")))
	}
	return s.String()
}

func (c *content) transcript(ctx context.Context, sessionID, runID string) (string, error) {
	b := c.bridge
	var s strings.Builder
	err := b.find(ctx, b.runs.folderOf(runID), func(api run.API) error {
		s.Reset()
		for after := int64(0); ; {
			page, last, err := api.Events(ctx, sessionID, after, 1000)
			if err != nil {
				return err
			}
			for _, e := range page {
				if after = e.Seq; e.RunID == runID {
					writeTranscript(&s, b.wire.event(e))
				}
			}
			if len(page) == 0 || after >= last {
				return nil
			}
		}
	})
	return s.String(), b.answer(err, "session", sessionID)
}

func writeTranscript(s *strings.Builder, e Event) {
	switch e.Type {
	case report.RunStarted:
		fmt.Fprintf(s, "> %s\n\n", e.Prompt)
	case report.Message:
		fmt.Fprintf(s, "%s\n\n", e.Text)
	case report.RunFinished:
		fmt.Fprintf(s, "%s\n", finishedLine(e))
	default:
		if line := eventLine(e); line != "" {
			fmt.Fprintf(s, "  %s\n", line)
		}
	}
}

// present makes a document available and opens it in the editor beside what
// the caller does next. It returns where the document is: its agent: URI where
// the client can ask for it, else a file in the state folder.
func (c *content) present(ctx context.Context, uri, text string) string {
	b := c.bridge
	caps := b.host.Client.Capabilities()
	place, target := uri, uri
	if caps.TextDocumentContent {
		c.shownMu.Lock()
		c.shown[uri] = true
		c.shownMu.Unlock()
	} else {
		path, err := c.write(uri, text)
		if err != nil {
			b.log.Error("writing a document", "uri", uri, "err", err)
			b.logMessage(protocol.MessageTypeInfo, show(text)) // nothing is lost
			return "the log"
		}
		place, target = path, b.host.Workspace.URI(path)
	}
	if caps.ShowDocument {
		b.background(func(ctx context.Context) {
			var result struct {
				Success bool `json:"success"`
			}
			params := map[string]any{"uri": target, "takeFocus": false}
			err := b.call(ctx, protocol.MethodWindowShowDocument, params, &result)
			if ctx.Err() == nil && (err != nil || !result.Success) {
				b.logMessage(protocol.MessageTypeInfo, "see "+place)
			}
		})
	} else {
		b.logMessage(protocol.MessageTypeInfo, "see "+place)
	}
	return place
}

// refresh tells the client that documents which it may hold have a new text.
func (c *content) refresh(uris ...string) {
	b := c.bridge
	for _, uri := range uris {
		c.shownMu.Lock()
		shown := c.shown[uri]
		c.shownMu.Unlock()
		if shown {
			b.background(func(ctx context.Context) {
				// A client that cannot refresh shows the older text, no more.
				_ = b.call(ctx, protocol.MethodWorkspaceTextDocumentContentRefresh, map[string]string{"uri": uri}, nil)
			})
		}
	}
}

// write puts a document into the state folder, for the user's eyes only.
func (c *content) write(uri, text string) (string, error) {
	if c.bridge.opts.StateDir == "" {
		return "", errors.New("there is no state folder")
	}
	dir := filepath.Join(c.bridge.opts.StateDir, "documents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	c.tidy.Do(func() { removeOld(dir, time.Now().Add(-keptFiles)) })
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '-'
	}, strings.TrimPrefix(uri, contentScheme+":/"))
	path := filepath.Join(dir, name)
	temp, err := os.CreateTemp(dir, "."+name+"-*")
	if err != nil {
		return "", err
	}
	_, err = temp.WriteString(text)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return path, nil
}

// removeOld removes the files that are older than a moment. What cannot be
// removed stays for the next time.
func removeOld(dir string, before time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
