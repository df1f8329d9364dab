package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/hooks/lazyexp"
	"agent-ls/hooks/shell"
	"agent-ls/loop/realpath"
)

// The bounds of what one digest reads. What has more is not trusted: its
// content cannot be known within a time that somebody waits for.
const (
	maxFiles = 512
	maxBytes = 256 << 20
	maxWords = 2048
)

// Item is an entry of a workspace that starts a process, in the content that
// trust is about.
type Item struct {
	Kind Kind
	// Name tells entries of one kind apart and stays when the content changes.
	Name string
	// Entry is the entry as it is declared, as plain JSON with sorted keys.
	Entry json.RawMessage
	// Line is the shell line that it runs, Argv its words where no shell
	// reads them. URL is the server that it connects to in place of both.
	Line string   `json:",omitempty"`
	Argv []string `json:",omitempty"`
	URL  string   `json:",omitempty"`
	// Env is what the entry sets for its process; it may name files, too.
	Env map[string]string `json:",omitempty"`
}

// File is a file of the workspace that a command names.
type File struct {
	Path string // absolute, symlinks resolved
	Sum  string // SHA-256 of its bytes, in hex
}

// Digest is the SHA-256, in hex, of the entry and of each file of the
// workspace that its command names, as they are on disk now. An error says
// why the content cannot be known; such an entry is not to be trusted.
func (i Item) Digest(root string) (string, error) {
	files, err := i.Files(root)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s\n", len(s), s) }
	part("agent-ls trust 1")
	part(string(i.Kind))
	part(string(i.Entry))
	for _, f := range files {
		part(f.Path)
		part(f.Sum)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Files are the files of the workspace that the command names, sorted. Words
// are read as the shell reads them, wherever a path may stand in one, and from
// each folder that the command names, too: it may go there first.
func (i Item) Files(root string) ([]File, error) {
	root = realpath.Resolve(root)
	if err := i.unread(); err != nil {
		return nil, err
	}
	whole, open := i.openWords()
	words := i.words()
	for _, w := range whole {
		if usableWord(w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) > maxWords {
		return nil, fmt.Errorf("the command of %s has more than %d words", i.Name, maxWords)
	}
	l := &lookup{root: root, named: map[string]bool{}, walked: map[string]bool{}}
	bases, onPath := folders(root, words), searched(root)
	deep := i.deep()
	for _, w := range words {
		l.word(bases, w, deep[w])
		if w != "." { // it is no program to search for
			l.word(onPath, w, false)
		}
	}
	for _, w := range open {
		found := false
		for _, c := range candidates(w.text) {
			found = l.word(bases, c, true) || found
		}
		if !found && l.err == nil {
			return nil, w.error(i.Name)
		}
	}
	if l.err != nil {
		return nil, fmt.Errorf("the command of %s %w", i.Name, l.err)
	}
	named := l.named
	if len(named) > maxFiles {
		return nil, fmt.Errorf("the command of %s names more than %d files", i.Name, maxFiles)
	}
	paths := make([]string, 0, len(named))
	for p := range named {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	left := int64(maxBytes)
	var out []File
	for _, p := range paths {
		sum, size, err := sumOf(p, left)
		if err != nil {
			return nil, fmt.Errorf("read %s, which the command of %s names: %w", p, i.Name, err)
		}
		left -= size
		out = append(out, File{Path: p, Sum: sum})
	}
	return out, nil
}

// words are all words in which the command may name a file.
func (i Item) words() []string {
	var out []string
	add := func(w string) {
		out = append(out, w)
		out = append(out, apart.Split(w, -1)...)
		// An option and its value in one word: -cFILE, -IDIR.
		if len(w) > 2 && w[0] == '-' && w[1] != '-' {
			out = append(out, w[2:])
		}
	}
	for _, w := range i.Argv {
		add(w)
	}
	if i.Line != "" {
		for _, c := range shell.Commands(i.Line) {
			for _, w := range c.Words() {
				add(w.Text)
			}
			for _, r := range c.Redirects {
				add(r.Target.Text)
			}
			for _, a := range c.Assigns {
				add(a.Value.Text)
			}
		}
		// What the reader could not make out is looked at as text.
		out = append(out, apart.Split(i.Line, -1)...)
	}
	for _, v := range i.Env {
		add(v)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(w string) bool { return !usableWord(w) })
}

func usableWord(w string) bool { return w != "" && len(w) <= 4096 && strings.IndexByte(w, 0) < 0 }

// deep are the words of which all files count if they name a folder. Of one
// that a command only goes to, and of names in the text of a script, what
// starts by itself does.
func (i Item) deep() map[string]bool {
	out := map[string]bool{}
	for _, w := range i.Argv {
		out[w] = true
	}
	for _, v := range i.Env {
		for _, w := range apart.Split(v, -1) {
			out[w] = true
		}
	}
	for _, line := range append([]string{i.Line}, i.Argv...) {
		for _, c := range shell.Commands(line) {
			if base := c.Base(); base == "cd" || base == "pushd" {
				continue
			}
			for _, a := range c.Args {
				out[a.Text] = true
				if _, value, ok := strings.Cut(a.Text, "="); ok {
					out[value] = true
				}
			}
		}
	}
	return out
}

// apart is where one word may hold several: a list of paths, an option with
// its value, a script in quotes.
var apart = lazyexp.New("[\\s\"'`=;|&()<>,:{}@]+")

// folders are the root and the folders of the workspace that a word names.
func folders(root string, words []string) []string {
	out := []string{root}
	for _, w := range words {
		path := realpath.Resolve(absolute(root, w))
		if info, err := os.Stat(path); err == nil && info.IsDir() && realpath.Within(root, path) && !slices.Contains(out, path) && len(out) < 64 {
			out = append(out, path)
		}
	}
	return out
}

// searched are the folders of PATH that lie in the workspace.
func searched(root string) []string {
	var out []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		if dir = realpath.Resolve(dir); realpath.Within(root, dir) && !slices.Contains(out, dir) && len(out) < 16 {
			out = append(out, dir)
		}
	}
	return out
}

func sumOf(path string, most int64) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, errors.New("it is no regular file any more")
	}
	h := sha256.New()
	size, err = io.Copy(h, io.LimitReader(f, most+1))
	if err == nil && size > most {
		err = fmt.Errorf("together with the others it has more than %d bytes", int64(maxBytes))
	}
	return hex.EncodeToString(h.Sum(nil)), size, err
}

func absolute(base, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path)
}
