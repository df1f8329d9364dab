package lsp

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"agent-ls/lsp/internal/feature"
	"agent-ls/lsp/internal/text"
)

// referencePage returns what gives the URI of the page that explains the codes
// of diagnostics. The page is a file of ours, so that it is there without a
// network and speaks of this version; it is written when it is first needed.
// Without a cache folder there is none.
func referencePage(cacheDir string, log *slog.Logger) func() string {
	return sync.OnceValue(func() string {
		if cacheDir == "" {
			return ""
		}
		path := filepath.Join(cacheDir, "docs", "diagnostics.md")
		if err := writePage(path, feature.Reference()); err != nil {
			log.Warn("writing the reference page", "error", err)
			return ""
		}
		return text.FileURI(path)
	})
}

// writePage writes a page unless it is there already. Other servers may do the
// same at the same time.
func writePage(path, page string) error {
	if had, err := os.ReadFile(path); err == nil && string(had) == page {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".page-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(page)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
