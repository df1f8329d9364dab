package cache

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"agent-ls/hooks/replay"
	"agent-ls/lsp/internal/text"
)

// Kind is what a document is to us.
type Kind uint8

const (
	NoKind   Kind = iota // nothing that we know about
	Script               // a hook script
	Manifest             // agent.toml, agents/NAME.toml, the user's or an organisation's settings
	Fixture              // cases of a hook script: NAME_test.toml beside NAME.risor
)

// String names the kind for logs.
func (k Kind) String() string {
	switch k {
	case Script:
		return "script"
	case Manifest:
		return "manifest"
	case Fixture:
		return "fixture"
	}
	return "other"
}

// AgentDir is the folder that holds a workspace's agent.
const AgentDir = ".agent-ls"

// kindOf goes by the path, then by what the client calls the language.
func kindOf(path, language string, settings []string) Kind {
	switch {
	case strings.EqualFold(filepath.Ext(path), ".risor"):
		return Script
	case isManifest(path, settings):
		return Manifest
	case isFixture(path):
		return Fixture
	case strings.EqualFold(language, "risor"):
		return Script
	}
	return NoKind
}

func isManifest(path string, settings []string) bool {
	for _, s := range settings {
		if path != "" && path == s {
			return true
		}
	}
	if filepath.Ext(path) != ".toml" {
		return false
	}
	dir := filepath.Dir(path)
	if filepath.Base(dir) == AgentDir {
		return filepath.Base(path) == "agent.toml"
	}
	return filepath.Base(dir) == "agents" && filepath.Base(filepath.Dir(dir)) == AgentDir
}

// isFixture goes by the folder, or by the script that a fixture is beside: other
// programs call files so, too.
func isFixture(path string) bool {
	script, ok := replay.IsFixture(path)
	if !ok {
		return false
	}
	if strings.Contains(filepath.ToSlash(path), "/"+AgentDir+"/") {
		return true
	}
	info, err := os.Stat(script)
	return err == nil && info.Mode().IsRegular()
}

// Document is a text that is open in the editor, or a file that is not. It
// never changes.
type Document struct {
	Key        string // what the session knows it by; see text.Key
	URI        string // as the client spells it
	Path       string // "" unless it is a file
	Resolved   string // Path with symlinks resolved as far as they exist
	LanguageID string
	Version    int32
	Kind       Kind
	Open       bool
	Source     *text.Source
}

// Dirty reports whether the document differs from its file. One that is no
// file, or whose file cannot be read, is dirty.
func (d *Document) Dirty() bool {
	if d.Path == "" {
		return true
	}
	disk, err := os.ReadFile(d.Path)
	if err != nil {
		return true
	}
	return string(bytes.TrimPrefix(disk, []byte("\ufeff"))) != strings.TrimPrefix(d.Source.Text(), "\ufeff")
}

// resolve follows symlinks as far as the path exists.
func resolve(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	if dir == filepath.Clean(path) || base == "" {
		return path
	}
	return filepath.Join(resolve(dir), base)
}

// maxFile is the largest file that is read from disk for the editor.
const maxFile = 4 << 20

// readFile reads a file that is not open as a document.
func readFile(path, uri string, settings []string) (*Document, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, os.ErrInvalid
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &Document{
		Key: text.Key(uri), URI: uri, Path: path, Resolved: resolve(path),
		Kind: kindOf(path, "", settings), Source: text.NewSource(string(content)),
	}, nil
}

// AgentRoot is the nearest folder above a file that has an agent; "" if there
// is none.
func AgentRoot(path string) string {
	if path == "" {
		return ""
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, AgentDir)); err == nil && info.IsDir() {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
