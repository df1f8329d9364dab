package policy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/shell"
)

// What git keeps of a file is not hidden with the file: its object store is
// compressed, and whoever works with a repository must be able to read that.
// So commands that bring to light what is in there are looked at here.

var (
	// gitHistory show or copy content of any commit.
	gitHistory = []string{"show", "cat-file", "archive", "format-patch", "fast-export", "bundle", "range-diff", "whatchanged", "difftool", "clone", "worktree", "checkout-index", "unpack-file", "request-pull", "filter-branch", "daemon", "upload-pack", "http-backend", "instaweb", "svn", "p4", "send-email"}
	// gitPlaces put what is in a commit into the work tree, where it is hidden
	// from the next command line but not from the rest of this one.
	gitPlaces = []string{"checkout", "switch", "restore", "reset", "merge", "rebase", "cherry-pick", "revert", "pull", "am", "stash", "read-tree", "bisect"}
	// gitPatches show content only with one of patchOptions.
	gitPatches = []string{"log", "reflog", "stash", "rev-list", "diff-tree", "shortlog"}
	// gitIndex show what is tracked, and with a revision what was.
	gitIndex = []string{"diff", "grep", "commit", "status", "add", "diff-index", "diff-files"}
)

// patchOptions make a git command that lists commits show what is in them.
func patchOption(a string) bool {
	return a == "-p" || a == "-u" || a == "-c" || a == "--cc" || a == "-m" || hasPrefix(a, "-L", "-U", "--patch", "--unified", "--word-diff", "--color-words", "--function-context", "-W", "--ext-diff", "--textconv", "--binary", "--remerge", "--diff-merges", "--dd")
}

// gitShows says why a git command may show a file that may not be read, ""
// if it does not.
func (l *line) gitShows(c shell.Command) string {
	if c.Base() != "git" || !l.hasReadDenials() {
		return ""
	}
	args := withoutGlobals("git", knownArgs(c))
	if len(args) == 0 {
		return ""
	}
	sub, args := args[0], args[1:]
	const history = "it shows what commits hold, and some files may not be read"
	switch {
	case slices.Contains(gitHistory, sub):
		return history
	case slices.Contains(gitPatches, sub) && slices.ContainsFunc(args, patchOption):
		return history
	case slices.Contains(gitPlaces, sub) && l.many:
		return "it brings files back that may not be read, and the line goes on"
	case slices.Contains(gitIndex, sub):
		if sub == "grep" && !slices.ContainsFunc(args, func(a string) bool { return hasPrefix(a, "-e", "-f") }) {
			// The first word is what is looked for.
			if i := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }); i >= 0 {
				args = slices.Delete(slices.Clone(args), i, i+1)
			}
		}
		if sub != "add" && sub != "status" && sub != "commit" && slices.ContainsFunc(args, l.revision) {
			return history
		}
		if sub == "status" && !slices.ContainsFunc(args, func(a string) bool { return a == "-v" || a == "-vv" || a == "--verbose" }) {
			return ""
		}
		if name := l.tracked(); name != "" {
			return "it shows what is tracked, and " + name + ", which may not be read, is"
		}
	}
	return ""
}

// revision tells whether a word of git's may name another commit than the
// one that is checked out.
func (l *line) revision(a string) bool {
	if a == "HEAD" || a == "--" || strings.HasPrefix(a, "-") {
		return false
	}
	for _, d := range l.dirs {
		if p, ok := resolve(d, a); ok {
			if _, err := os.Lstat(p); err == nil {
				return false // a path; should a branch be called the same, git refuses
			}
		}
	}
	return !strings.ContainsAny(a, " \n") // with blanks it is what is looked for
}

// maxIndex bounds a git index that is read, in bytes.
const maxIndex = 64 << 20

// tracked names a file that may not be read and that the workspace's
// repository tracks, "" if there is none. In doubt there is one.
func (r *Rules) tracked() string {
	dir := filepath.Join(r.root, ".git")
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "" // the root is no repository; one around it is outside
	case err != nil:
		return "something"
	case !info.IsDir():
		text, err := os.ReadFile(dir)
		to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
		if err != nil || !ok || len(text) > 4096 {
			return "something"
		}
		if dir = filepath.FromSlash(strings.TrimSpace(to)); !filepath.IsAbs(dir) {
			dir = filepath.Join(r.root, dir)
		}
	}
	path := filepath.Join(dir, "index")
	info, err = os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "" // nothing was added yet
	case err != nil, info.Size() > maxIndex:
		return "something"
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "something"
	}
	found := ""
	ok := indexPaths(b, func(name string) bool {
		if r.Unreadable(filepath.Join(r.root, filepath.FromSlash(name))) {
			found = name
		}
		return found == ""
	})
	if !ok {
		return "something"
	}
	return found
}

// indexPaths calls yield with the paths in a git index until it says no. It
// returns false where the index cannot be read.
func indexPaths(b []byte, yield func(string) bool) bool {
	if len(b) < 12 || string(b[:4]) != "DIRC" {
		return false
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return false
	}
	hash := 20
	for _, size := range []int{20, 32} { // SHA-1, or SHA-256 where the first does not fit
		hash = size
		if ok, whole := indexEntries(b[12:], version, count, hash, func(string) bool { return true }); ok && whole {
			break
		}
	}
	ok, _ := indexEntries(b[12:], version, count, hash, yield)
	return ok
}

// indexEntries reads the entries. whole tells that they end where they can.
func indexEntries(b []byte, version, count uint32, hash int, yield func(string) bool) (ok, whole bool) {
	head := 40 + hash + 2
	name := []byte{}
	for range count {
		if len(b) < head+1 {
			return false, false
		}
		size := head
		flags := binary.BigEndian.Uint16(b[40+hash:])
		if flags&0x4000 != 0 && version >= 3 {
			size += 2
		}
		if len(b) < size+1 {
			return false, false
		}
		rest := b[size:]
		if version == 4 {
			strip, n := stripped(rest)
			if n == 0 || strip > len(name) {
				return false, false
			}
			rest, size = rest[n:], size+n
			name = name[:len(name)-strip]
		} else {
			name = name[:0]
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 || end == 0 && len(name) == 0 {
			return false, false
		}
		name = append(name, rest[:end]...)
		size += end + 1
		if version < 4 {
			size = (size + 7) &^ 7
			if size > len(b) {
				size = len(b)
			}
		}
		if !yield(string(name)) {
			return true, false
		}
		b = b[size:]
	}
	return true, len(b) >= hash
}

// stripped reads the number of bytes that a name of version 4 does not share
// with the one before, and how many bytes the number takes; 0 if it is none.
func stripped(b []byte) (value, n int) {
	for n < len(b) && n < 5 {
		c := b[n]
		if n++; n > 1 {
			value = (value + 1) << 7
		}
		value |= int(c & 0x7f)
		if c&0x80 == 0 {
			return value, n
		}
	}
	return 0, 0
}
