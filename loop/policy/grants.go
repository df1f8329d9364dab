package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// Grant is a lasting answer of a person: a rule that allows.
type Grant struct {
	Rule   string
	Always bool // beyond this session
}

// grantsFile is grants.toml: rules by workspace root.
type grantsFile struct {
	Workspace []workspaceGrants `toml:"workspace"`
}

type workspaceGrants struct {
	Root  string   `toml:"root"`
	Allow []string `toml:"allow"`
}

// grantsMu keeps two appends of this process apart; the file's lock keeps two
// processes apart.
var grantsMu sync.Mutex

func grantsPath(stateDir string) string { return filepath.Join(stateDir, "grants.toml") }

// LoadAlways reads the rules that a person granted a workspace for good. A
// file that is not there grants nothing; one that cannot be read is an error.
func LoadAlways(stateDir, root string) ([]Grant, error) {
	file, err := readGrants(stateDir)
	if err != nil {
		return nil, err
	}
	root = resolveFolder(root)
	var out []Grant
	for _, w := range file.Workspace {
		if w.Root != root {
			continue
		}
		for _, r := range w.Allow {
			out = append(out, Grant{Rule: r, Always: true})
		}
	}
	return out, nil
}

func readGrants(stateDir string) (grantsFile, error) {
	var file grantsFile
	b, err := os.ReadFile(grantsPath(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, fmt.Errorf("reading the granted rules: %w", err)
	}
	if err := toml.Unmarshal(b, &file); err != nil {
		return file, fmt.Errorf("reading the granted rules in %s: %w", grantsPath(stateDir), err)
	}
	return file, nil
}

// AppendAlways adds a rule for a workspace to the user's file, for good. The
// file is replaced at once or not at all, and only the user can read it.
func AppendAlways(stateDir, root, text string) error {
	if _, err := parseRule(text); err != nil {
		return fmt.Errorf("granting %q: %w", text, err)
	}
	grantsMu.Lock()
	defer grantsMu.Unlock()
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return fmt.Errorf("granting %q: %w", text, err)
	}
	unlock, err := lockFile(grantsPath(stateDir) + ".lock")
	if err != nil {
		return fmt.Errorf("granting %q: %w", text, err)
	}
	defer unlock()
	file, err := readGrants(stateDir)
	if err != nil {
		return err // never over a file that could not be read
	}
	root = resolveFolder(root)
	i := slices.IndexFunc(file.Workspace, func(w workspaceGrants) bool { return w.Root == root })
	if i < 0 {
		file.Workspace = append(file.Workspace, workspaceGrants{Root: root})
		i = len(file.Workspace) - 1
	}
	if slices.Contains(file.Workspace[i].Allow, text) {
		return nil
	}
	file.Workspace[i].Allow = append(file.Workspace[i].Allow, text)
	b, err := toml.Marshal(file)
	if err != nil {
		return err
	}
	return replaceFile(grantsPath(stateDir), b)
}

func replaceFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".grants-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
