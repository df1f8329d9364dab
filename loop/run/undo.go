package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// Undo puts back what a run changed, or one call of it: through file tools, and
// by commands in files that git tracks. A file that is no longer as the run left it stays and is a conflict; so is one
// that somebody else changed between two edits of the run. A dry run only says
// what would be done. A run that is under way cannot be undone.
func (s *Service) Undo(ctx context.Context, runID, callID string, dryRun bool) (Undone, error) {
	row, err := s.opt.Journal.SessionOf(ctx, runID)
	if errors.Is(err, journal.ErrNotFound) {
		return Undone{}, fmt.Errorf("run %s: %w", runID, ErrUnknownID)
	}
	if err != nil {
		return Undone{}, err
	}
	if row.RunID == runID && !over(row) && s.standing(row) != report.Interrupted && !dryRun {
		return Undone{}, fmt.Errorf("run %s is under way: %w", runID, ErrSessionBusy)
	}
	edits, err := s.opt.Journal.Edits(ctx, runID, callID)
	if err != nil {
		return Undone{}, err
	}
	if callID != "" && len(edits) == 0 {
		return Undone{}, fmt.Errorf("call %s of run %s changed no file: %w", callID, runID, ErrUnknownID)
	}
	out := Undone{Edits: []report.Edit{}, Conflicts: []string{}}
	for _, c := range chains(edits) {
		if err := s.undoFile(ctx, c, dryRun, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// chain is what happened to one file, in order.
type chain struct {
	path  string
	edits []journal.Edit
}

// chains groups edits by file, the file that was changed last first.
func chains(edits []journal.Edit) []chain {
	var list []chain
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		found := false
		for k := range list {
			if list[k].path == e.Path {
				list[k].edits = append([]journal.Edit{e}, list[k].edits...)
				found = true
			}
		}
		if !found {
			list = append(list, chain{path: e.Path, edits: []journal.Edit{e}})
		}
	}
	return list
}

func (s *Service) undoFile(ctx context.Context, c chain, dryRun bool, out *Undone) error {
	now, there, err := s.bytesOf(ctx, c.path)
	if err != nil {
		return fmt.Errorf("undo %s: %w", c.path, err)
	}
	if n := len(c.edits); c.edits[n-1].Planned && same(now, there, c.edits[n-1].Before, !c.edits[n-1].Created) {
		c.edits = c.edits[:n-1] // the process died before it got that far
	}
	if len(c.edits) == 0 {
		return nil
	}
	first, newest := c.edits[0], c.edits[len(c.edits)-1]
	if !same(now, there, newest.After, !newest.Gone) || !unbroken(c.edits) {
		out.Conflicts = append(out.Conflicts, c.path)
		return nil
	}
	name := s.shortPath(c.path)
	if first.Created && newest.Gone {
		return s.markUndone(ctx, c, dryRun) // it came and went
	}
	edit := report.Edit{Path: c.path, Diff: tool.Diff(name, now, first.Before), Hunks: tool.Hunks(now, first.Before)}
	if !dryRun {
		switch err := s.putBack(ctx, first, now, there); {
		case errors.Is(err, loop.ErrFileChanged):
			out.Conflicts = append(out.Conflicts, c.path)
			return nil
		case err != nil:
			return fmt.Errorf("undo %s: %w", name, err)
		}
		if err := s.markUndone(ctx, c, dryRun); err != nil {
			return err
		}
	}
	out.Edits = append(out.Edits, edit)
	return nil
}

func (s *Service) markUndone(ctx context.Context, c chain, dryRun bool) error {
	if dryRun {
		return nil
	}
	return s.opt.Journal.Undone(ctx, c.edits)
}

// unbroken says that each edit began with what the one before left.
func unbroken(edits []journal.Edit) bool {
	for i := 1; i < len(edits); i++ {
		if !bytes.Equal(edits[i].Before, edits[i-1].After) || edits[i].Created != edits[i-1].Gone {
			return false
		}
	}
	return true
}

func same(now []byte, there bool, want []byte, wantThere bool) bool {
	return there == wantThere && bytes.Equal(now, want)
}

func (s *Service) bytesOf(ctx context.Context, path string) (content []byte, there bool, err error) {
	text, err := s.files().Read(ctx, path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return text.Bytes, true, nil
}

// remover is a Files that can take a file away, in the editor too.
type remover interface {
	Remove(ctx context.Context, path string, before []byte) error
}

// putBack makes the file what it was before the edit.
func (s *Service) putBack(ctx context.Context, e journal.Edit, now []byte, there bool) error {
	files := s.files()
	if !e.Created {
		if now = nonNil(now); !there {
			now = nil // it must not be there, then
		}
		if err := files.Write(ctx, e.Path, now, nonNil(e.Before)); err != nil || e.Mode == 0 {
			return err
		}
		return setMode(e.Path, fs.FileMode(e.Mode))
	}
	if r, ok := files.(remover); ok {
		return r.Remove(ctx, e.Path, now)
	}
	return os.Remove(e.Path)
}

// setMode gives a file the permissions that it had, where it is on the disk
// and has others.
func setMode(path string, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() == mode.Perm() {
		return nil //nolint:nilerr // the editor has not written it yet
	}
	return os.Chmod(path, mode.Perm())
}

// nonNil is the bytes of a file that is there: nil would mean that it is not.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
