package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agent-ls/loop/realpath"
)

// secrets are the files that rules deny to read: commands do not see them.
type secrets struct {
	denied  func(path string) bool
	outside []string // folders and files beside the workspace that may hold some

	mu     sync.Mutex // guards what follows
	looked bool
	why    string // some are not hidden
}

// secretEntries bounds the entries that are looked at for files to hide.
const secretEntries = 250_000

// mostSecrets bounds the files and folders that are hidden from one command.
const mostSecrets = 2000

// Hide makes the floor keep from commands what denied says yes to: files and
// whole folders below the workspace, and below the paths outside, absolute,
// which may hold some. The files themselves are hidden, by whatever link they
// are reached; what is in a repository's history is not.
func (f *Floor) Hide(denied func(path string) bool, outside ...string) *Floor {
	g := *f
	g.secrets = &secrets{denied: denied, outside: outside}
	return &g
}

// Exposed says why commands may see files that are to be hidden, as of the
// last command, "" if they see none. Where it says something a command should
// ask. The first call looks for the files.
func (f *Floor) Exposed() string {
	if f == nil || f.secrets == nil || f.kind == None {
		return ""
	}
	s := f.secrets
	s.mu.Lock()
	looked, why := s.looked, s.why
	s.mu.Unlock()
	if !looked {
		_, why = f.secretFiles()
	}
	return why
}

// secretFiles finds what is to be hidden, resolved and sorted, and says why
// that is not all.
func (f *Floor) secretFiles() (found []string, why string) {
	s := f.secrets
	if s == nil {
		return nil, ""
	}
	seen := 0
	for _, top := range append([]string{f.dirs.Root}, s.outside...) {
		if top == "" {
			continue
		}
		err := filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
			if seen++; seen > secretEntries || len(found) > mostSecrets {
				return errTooMany
			}
			switch {
			case err != nil || e.Type()&fs.ModeSymlink != 0:
				return nil // what cannot be looked at, commands cannot see; a link's target counts by its own name
			case s.denied(p):
				found = append(found, p)
				if n := otherNames(e); n > 0 {
					why = fmt.Sprintf("%s may not be read and has %d other names (hard links) by which a command could read it", p, n)
				}
				if e.IsDir() {
					return filepath.SkipDir
				}
			case e.IsDir() && slices.Contains(gitBulk, e.Name()) && strings.EqualFold(filepath.Base(filepath.Dir(p)), ".git"):
				return filepath.SkipDir
			}
			return nil
		})
		if errors.Is(err, errTooMany) {
			why = "there are too many files to hide from commands all that may not be read"
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	s.mu.Lock()
	s.looked, s.why = true, why
	s.mu.Unlock()
	return found, why
}

var errTooMany = errors.New("too many")

// otherNames is how many more names a file has.
func otherNames(e fs.DirEntry) int {
	if !e.Type().IsRegular() {
		return 0
	}
	info, err := e.Info()
	if err != nil {
		return 0
	}
	return links(info) - 1
}

// hideArgs makes bubblewrap hide files and folders. It comes behind all that
// shows them.
func hideArgs(paths []string) []string {
	var args []string
	for _, p := range paths {
		info, err := os.Lstat(p)
		switch {
		case err != nil || info.Mode()&fs.ModeSymlink != 0:
		case info.IsDir():
			args = append(args, "--tmpfs", p, "--remount-ro", p)
		default:
			args = append(args, "--ro-bind-try", "/dev/null", p)
		}
	}
	return args
}

// between lists the folders from one folder down to those that hold the paths
// below it, each once.
func between(folder string, paths []string) []string {
	var out []string
	for _, p := range paths {
		if p == folder || !realpath.Within(folder, p) {
			continue
		}
		for d := filepath.Dir(p); realpath.Within(folder, d); d = filepath.Dir(d) {
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
			if d == folder {
				break
			}
		}
	}
	return out
}
