// Package trust owns what the user trusts of a workspace: entries of its
// settings that start a process (command hooks, diagnostics commands, MCP
// servers), each in exactly the content that the user saw. Start at Store for
// what is kept, at Item for what the content is.
//
// Nothing is trusted by default. What cannot be read, and what cannot be
// known for certain, is never trusted.
package trust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// State is how an entry stands with the user. The values are those of
// docs/protocol.md.
type State string

const (
	Unknown   State = ""
	NotNeeded State = "notNeeded" // the entry is the user's own, or the organisation's
	Trusted   State = "trusted"   // in exactly this content
	Untrusted State = "untrusted" // the user was never asked, or took it back
	Changed   State = "changed"   // another content of this entry is trusted
)

// Allows says whether an entry in this state may start its process.
func (s State) Allows() bool { return s == NotNeeded || s == Trusted }

// Kind is what an entry is.
type Kind string

const (
	Hook        Kind = "hook"        // [[hook]]
	Diagnostics Kind = "diagnostics" // [diagnostics]
	MCP         Kind = "mcp"         // [mcp.NAME]
)

// Entry is something that the user trusts.
type Entry struct {
	Root   string // the workspace, absolute, symlinks resolved
	Kind   Kind
	Name   string
	Digest string
	At     time.Time // since when
}

// The ways in which Trust and Forget refuse.
var (
	// ErrSandboxed: the agent's own commands asked.
	ErrSandboxed = errors.New("trust is refused inside the sandbox of the agent's own commands")
	// ErrNoState: there is no folder to keep it in.
	ErrNoState = errors.New("there is no state folder to keep trust in")
)

// maxContents is how many contents of one entry stay trusted: a branch that
// is switched back and forth is not asked about each time. The oldest goes.
const maxContents = 32

// State says how an entry of a workspace with this digest stands. An error
// names the file; the state is then Untrusted.
func (s *Store) State(ctx context.Context, root string, kind Kind, name, digest string) (State, error) {
	if s == nil || digest == "" {
		return Untrusted, nil
	}
	have, err := s.entries(ctx, root, kind, name)
	if err != nil || len(have) == 0 {
		return Untrusted, err
	}
	for _, e := range have {
		if e.Digest == digest {
			return Trusted, nil
		}
	}
	return Changed, nil
}

// Trust records that the user trusts this content of an entry. Only a
// person's own doing may call it: the agent's commands are refused, by their
// environment here and by the sandbox, which keeps the file from them.
func (s *Store) Trust(ctx context.Context, e Entry) error {
	if err := s.mayChange(); err != nil {
		return err
	}
	switch {
	case e.Root == "" || e.Name == "" || e.Digest == "":
		return fmt.Errorf("trust %s %q: an entry has a workspace, a name and a digest", e.Kind, e.Name)
	case e.Kind != Hook && e.Kind != Diagnostics && e.Kind != MCP:
		return fmt.Errorf("trust %q: unknown kind %q; the kinds are hook, diagnostics and mcp", e.Name, e.Kind)
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	return s.add(ctx, e)
}

// Forget takes back all trust in an entry, whatever its content. It says
// whether there was any.
func (s *Store) Forget(ctx context.Context, root string, kind Kind, name string) (bool, error) {
	if err := s.mayChange(); err != nil {
		return false, err
	}
	return s.remove(ctx, root, kind, name)
}

// List gives what the user trusts of a workspace, of all for "", oldest first.
func (s *Store) List(ctx context.Context, root string) ([]Entry, error) {
	if s == nil {
		return nil, nil
	}
	return s.list(ctx, root)
}

func (s *Store) mayChange() error {
	if os.Getenv("AGENT_LS_SANDBOX") != "" {
		return ErrSandboxed
	}
	if s == nil || s.path == "" {
		return ErrNoState
	}
	return nil
}
