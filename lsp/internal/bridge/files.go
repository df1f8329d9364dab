package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agent-ls/loop"
	"agent-ls/lsp/internal/server"
	"agent-ls/lsp/internal/text"
)

// Files is loop.Files for an editor: what is open in it comes before the disk,
// so that the agent reads what the user sees and never writes over what the
// user types.
//
// A change of an open document takes one of two ways. One with unsaved changes
// is edited in the editor, at the version that the edit was made for. One
// without is edited there and saved (agent/save); an editor that cannot save
// on request would be left with a document that commands do not see, so there
// the file is written on disk and the editor reads it again by itself.
type Files struct {
	host *server.Host
	disk loop.Files
	log  *slog.Logger

	writeMu sync.Mutex
	writing map[string]chan struct{} // a token per path that is being written

	staleMu sync.Mutex
	stale   map[string]staleText // by path
}

// staleText is a document whose file was written on disk: until the editor
// reads it again, what the user will see is the file.
type staleText struct {
	uri     string
	version int32
	held    string // what the editor still holds
	written string // the file, as the editor will hold it
}

// editAttempts is how often an edit is sent again because the document's
// version moved while its text stayed the same.
const editAttempts = 4

var _ loop.Files = (*Files)(nil)

func newFiles(host *server.Host, disk loop.Files, log *slog.Logger) *Files {
	return &Files{
		host: host, disk: disk, log: log,
		writing: map[string]chan struct{}{}, stale: map[string]staleText{},
	}
}

// Read implements loop.Files.
func (f *Files) Read(ctx context.Context, path string) (loop.FileText, error) {
	doc, open := f.host.Documents.ByPath(path)
	if !open {
		return f.disk.Read(ctx, path)
	}
	now := f.textOf(path, doc)
	on := f.onDisk(ctx, path)
	return loop.FileText{Bytes: []byte(now), Open: true, Unsaved: !on.shows(now, doc.Dirty)}, nil
}

// Open implements loop.Files.
func (f *Files) Open() map[string]bool {
	out := map[string]bool{}
	for _, doc := range f.host.Documents.Open() {
		if doc.Path == "" {
			continue
		}
		path := resolved(doc.Path)
		out[path] = !f.onDisk(context.Background(), path).shows(f.textOf(path, doc), doc.Dirty)
	}
	return out
}

// Write implements loop.Files.
func (f *Files) Write(ctx context.Context, path string, before, after []byte) error {
	release, err := f.lock(ctx, path)
	if err != nil {
		return err
	}
	defer release()
	for attempt := 1; ; attempt++ {
		doc, open := f.host.Documents.ByPath(path)
		if !open {
			return f.disk.Write(ctx, path, before, after)
		}
		now := f.textOf(path, doc)
		if now != string(before) || (before == nil && now != "") {
			return fmt.Errorf("write %s: its text in the editor is another one: %w", path, loop.ErrFileChanged)
		}
		err := f.writeOpen(ctx, path, doc, now, string(after))
		if !errors.Is(err, server.ErrVersionMoved) && !errors.Is(err, server.ErrNotOpen) {
			return err
		}
		// The next round looks at the text as it is now: the same one is
		// edited at its new version, another one is a conflict.
		if attempt == editAttempts {
			return fmt.Errorf("write %s: the document keeps changing in the editor: %w", path, loop.ErrFileChanged)
		}
	}
}

// writeOpen changes an open document from now to after.
func (f *Files) writeOpen(ctx context.Context, path string, doc server.Document, now, after string) error {
	caps := f.host.Client.Capabilities()
	on := f.onDisk(ctx, path)
	clean := on.shows(now, doc.Dirty)
	canEdit := caps.ApplyEdit && caps.VersionedEdits
	if clean && (!caps.Agent.Save || !canEdit) {
		return f.writeClean(ctx, path, doc, on, now, after)
	}
	if !canEdit {
		return fmt.Errorf("write %s: it has unsaved changes in an editor that takes no versioned edits: %w", path, loop.ErrFileChanged)
	}
	if now == after {
		return nil
	}
	edit := server.DocumentEdit{URI: doc.URI, Version: doc.Version, Edits: minimalEdits(now, after)}
	err := f.host.Documents.ApplyEdit(ctx, "agent: edit "+filepath.Base(path), edit)
	switch {
	case errors.Is(err, server.ErrVersionMoved), errors.Is(err, server.ErrNotOpen):
		return err
	case err != nil:
		return fmt.Errorf("write %s: %w", path, err)
	}
	if clean {
		f.save(ctx, doc.URI)
	}
	return nil
}

// writeClean writes a document without unsaved changes on disk, in the layout
// that the file has there.
func (f *Files) writeClean(ctx context.Context, path string, doc server.Document, on diskText, now, after string) error {
	if err := f.disk.Write(ctx, path, on.bytes, on.layout(now, after, doc.Dirty)); err != nil {
		return err
	}
	f.staleMu.Lock()
	defer f.staleMu.Unlock()
	held := doc.Source.Text()
	f.stale[path] = staleText{uri: doc.URI, version: doc.Version, held: held, written: after}
	return nil
}

// save asks the editor to save a document. One that it does not save stays
// unsaved, and Open says so.
func (f *Files) save(ctx context.Context, uri string) {
	params, err := encode(SaveParams{URIs: []string{uri}})
	if err != nil {
		f.log.Error("asking the editor to save", "uri", uri, "err", err)
		return
	}
	var result SaveResult
	if err := f.host.Client.Call(ctx, methodSave, params, &result); err != nil || !slices.Contains(result.Saved, uri) {
		f.log.Warn("the editor did not save a document", "uri", uri, "err", err)
	}
}

// textOf is what the user sees of a document, or will once the editor has read
// the file again that was written for it.
func (f *Files) textOf(path string, doc server.Document) string {
	now := doc.Source.Text()
	f.staleMu.Lock()
	defer f.staleMu.Unlock()
	s, ok := f.stale[path]
	if !ok {
		return now
	}
	if s.uri == doc.URI && s.version == doc.Version && s.held == now {
		return s.written
	}
	delete(f.stale, path)
	return now
}

// source is the present text of a file for conversions, nil if it has none.
func (f *Files) source(path string) *text.Source {
	got, err := f.Read(context.Background(), path)
	if err != nil {
		return nil
	}
	return text.NewSource(string(got.Bytes))
}

// lock makes the writes of one path take turns.
func (f *Files) lock(ctx context.Context, path string) (release func(), err error) {
	for {
		f.writeMu.Lock()
		busy, taken := f.writing[path]
		if !taken {
			mine := make(chan struct{})
			f.writing[path] = mine
			f.writeMu.Unlock()
			return func() {
				f.writeMu.Lock()
				delete(f.writing, path)
				f.writeMu.Unlock()
				close(mine)
			}, nil
		}
		f.writeMu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// diskText is a file as it lies on disk; bytes is nil when there is none.
type diskText struct {
	bytes   []byte
	unknown bool // it could not be read: nothing is known to be saved
}

func (f *Files) onDisk(ctx context.Context, path string) diskText {
	got, err := f.disk.Read(ctx, path)
	switch {
	case err == nil:
		return diskText{bytes: got.Bytes}
	case errors.Is(err, fs.ErrNotExist):
		return diskText{}
	}
	return diskText{unknown: true}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// shows says whether a document with this text has nothing that the file has
// not. Editors keep a byte order mark to themselves, some hold LF for CRLF,
// and some add a final newline when they read; dirty says that the user may
// have typed it.
func (d diskText) shows(doc string, dirty bool) bool {
	return !d.unknown && string(d.layout(doc, doc, dirty)) == string(d.bytes)
}

// layout puts a document's next text into the file's own layout. now is the
// document's text that the file shows.
func (d diskText) layout(now, after string, dirty bool) []byte {
	out := []byte(after)
	body := bytes.TrimPrefix(d.bytes, byteOrderMark)
	if usesCRLF(body) && !strings.Contains(now, "\r") {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	if !dirty && len(body) > 0 && body[len(body)-1] != '\n' && strings.HasSuffix(now, "\n") {
		out = bytes.TrimSuffix(bytes.TrimSuffix(out, []byte("\n")), []byte("\r"))
	}
	return append(d.mark(), out...)
}

// mark is the file's byte order mark, if it has one.
func (d diskText) mark() []byte {
	if bytes.HasPrefix(d.bytes, byteOrderMark) {
		return bytes.Clone(byteOrderMark)
	}
	return nil
}

// usesCRLF says whether every line of a text ends in CRLF.
func usesCRLF(b []byte) bool {
	lf := bytes.Count(b, []byte("\n"))
	return lf > 0 && lf == bytes.Count(b, []byte("\r\n"))
}

// resolved is a path with its symlinks followed, as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolved(dir), filepath.Base(path))
}
