package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/check"
	"agent-ls/lsp/internal/text"
)

// Snapshot is everything at one moment. It never changes; what it computes on
// demand is computed once.
type Snapshot struct {
	ID       int64
	Encoding text.Encoding

	session *Session
	docs    map[string]*Document // the open ones, by key
	views   []*View              // one for each folder, in the client's order
	runs    map[string]RunFindings
}

// RunFindings are what runs found in one file.
type RunFindings struct {
	Digest   string // of the text that they are about; "" for whatever it is
	Findings []check.Finding
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Documents are the open ones, by URI.
func (s *Snapshot) Documents() []*Document {
	docs := make([]*Document, 0, len(s.docs))
	for _, d := range s.docs {
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b *Document) int { return strings.Compare(a.URI, b.URI) })
	return docs
}

// Views are those of the workspace folders.
func (s *Snapshot) Views() []*View { return s.views }

// Open returns an open document.
func (s *Snapshot) Open(uri string) *Document { return s.docs[text.Key(uri)] }

// Document returns a document, from the disk when it is not open; nil when
// there is none.
func (s *Snapshot) Document(uri string) *Document {
	if doc := s.Open(uri); doc != nil {
		return doc
	}
	path := text.Path(uri)
	if path == "" {
		return nil
	}
	return s.File(path)
}

// File returns the document of a path: the open one, whatever its spelling,
// else the one that a view has read, else the disk's; nil when there is none.
func (s *Snapshot) File(path string) *Document {
	if doc := s.ByPath(path); doc != nil {
		return doc
	}
	for _, v := range s.views {
		if doc := v.file(path); doc != nil {
			return doc
		}
	}
	doc, err := readFile(path, s.URI(path), s.session.settings())
	if err != nil {
		return nil
	}
	return doc
}

// ByPath returns the open document of a file. Symlinks count as what they lead
// to.
func (s *Snapshot) ByPath(path string) *Document {
	if doc := s.docs["file:"+path]; doc != nil {
		return doc
	}
	real := ""
	for _, doc := range s.docs {
		if doc.Path == "" || filepath.Base(doc.Resolved) != filepath.Base(path) && filepath.Base(doc.Path) != filepath.Base(path) {
			continue
		}
		if real == "" {
			real = resolve(path)
		}
		if doc.Resolved == real {
			return doc
		}
	}
	return nil
}

// URI is how the client spells a path: as it opened it, else below the URI of
// its folder.
func (s *Snapshot) URI(path string) string {
	if doc := s.ByPath(path); doc != nil {
		return doc.URI
	}
	for _, base := range [2]func(Folder) string{
		func(f Folder) string { return f.Path }, func(f Folder) string { return f.Root },
	} {
		for _, v := range s.views {
			if rel, ok := below(base(v.Folder), path); ok {
				return v.Folder.URI + "/" + text.EscapePath(filepath.ToSlash(rel))
			}
		}
	}
	return text.FileURI(path)
}

// below reports whether path lies in dir, and how it goes on from there.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// configuredBy lists the roots of the folders whose configuration may depend
// on a document.
func (s *Snapshot) configuredBy(doc *Document) []string {
	var roots []string
	for _, v := range s.views {
		if v.dependsOn(doc) {
			roots = append(roots, v.Folder.Root)
		}
	}
	return roots
}

// View returns the view of the folder that a file is in, the innermost one;
// without any the first; nil when there is no folder.
func (s *Snapshot) View(path string) *View {
	var found *View
	for _, v := range s.views {
		_, spelled := below(v.Folder.Path, path)
		_, real := below(v.Folder.Root, path)
		if (spelled || real) && (found == nil || len(v.Folder.Root) > len(found.Folder.Root)) {
			found = v
		}
	}
	if found == nil && len(s.views) > 0 {
		return s.views[0]
	}
	return found
}
