package tracked

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxIndex is the largest index of git that is read, in bytes, and maxFiles
// the most files that are looked at: each costs a look before and after every
// command.
const (
	maxIndex = 64 << 20
	maxFiles = 50_000
)

// entry is a file as git's index has it.
type entry struct {
	name  string // from the top of the work tree, with slashes
	blob  string // its object, hexadecimal; "" where there are several
	mtime time.Time
	size  int64
	exec  bool
}

// repository is where git keeps what it tracks.
type repository struct {
	top string // of the work tree
	dir string // of git's own
}

// repositoryOf finds the repository that a folder is in, as git does.
func repositoryOf(root string) (repository, bool) {
	for at := root; ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		if info, err := os.Stat(git); err == nil {
			if info.IsDir() {
				return repository{at, git}, true
			}
			if dir, ok := gitFile(git); ok {
				return repository{at, dir}, true
			}
		}
		if at == filepath.Dir(at) {
			return repository{}, false
		}
	}
}

// gitFile reads a .git that names the folder: of a linked work tree or a
// submodule.
func gitFile(path string) (string, bool) {
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", false
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(path), dir)
	}
	return dir, true
}

var (
	errIndex = errors.New("git's index is not one that can be read here (split, sparse, SHA-256 or damaged)")
	errMany  = fmt.Errorf("git tracks more than %d files", maxFiles)
)

// read gives the files that the index tracks, and when it was written. An
// index that is there in part only (split, sparse entries) is not followed.
func (r repository) read() ([]entry, time.Time, error) {
	f, err := os.Open(filepath.Join(r.dir, "index"))
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, time.Time{}, errIndex
	}
	if info.Size() > maxIndex {
		return nil, time.Time{}, errMany
	}
	text, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return nil, time.Time{}, err
	}
	entries, err := parseIndex(text)
	return entries, info.ModTime(), err
}

const (
	sumSize     = 20 // SHA-1; an index of a SHA-256 repository does not parse
	fixedSize   = 40 + sumSize + 2
	typeMask    = 0o170000
	regularFile = 0o100000
)

// parseIndex reads version 2 to 4. What does not fit is an error, so that
// nothing is taken for something else.
func parseIndex(text []byte) ([]entry, error) {
	if len(text) < 12+sumSize || string(text[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(text[4:]), binary.BigEndian.Uint32(text[8:])
	if version < 2 || version > 4 {
		return nil, errIndex
	}
	if count > maxFiles {
		return nil, errMany
	}
	rest, body := text[12:len(text)-sumSize], []entry{}
	name := ""
	for range count {
		e, mode, size, ok := parseEntry(rest, version, name)
		if !ok {
			return nil, errIndex
		}
		rest, name = rest[size:], e.name
		if mode&typeMask != regularFile {
			continue // a link, a submodule
		}
		if n := len(body); n > 0 && body[n-1].name == e.name { // stages of a conflict
			body[n-1].blob, body[n-1].size = "", -1
			continue
		}
		body = append(body, e)
	}
	for len(rest) >= 8 {
		size := int(binary.BigEndian.Uint32(rest[4:]))
		if string(rest[:4]) == "link" || string(rest[:4]) == "sdir" || size < 0 || size > len(rest)-8 {
			return nil, errIndex
		}
		rest = rest[8+size:]
	}
	return body, nil
}

func parseEntry(b []byte, version uint32, before string) (e entry, mode uint32, size int, ok bool) {
	if len(b) < fixedSize {
		return e, 0, 0, false
	}
	word := func(n int) uint32 { return binary.BigEndian.Uint32(b[4*n:]) }
	e.mtime = time.Unix(int64(word(2)), int64(word(3)))
	mode, e.size = word(6), int64(word(9))
	e.exec = mode&0o111 != 0
	e.blob = hexText(b[40 : 40+sumSize])
	flags := binary.BigEndian.Uint16(b[40+sumSize:])
	at := fixedSize
	if flags&0x4000 != 0 {
		if version < 3 || len(b) < at+2 {
			return e, 0, 0, false
		}
		at += 2
	}
	if flags>>12&3 != 0 {
		e.blob, e.size = "", -1 // a stage of a conflict
	}
	if version == 4 {
		strip, n := varint(b[at:])
		if n == 0 || strip > len(before) {
			return e, 0, 0, false
		}
		at += n
		end := bytes.IndexByte(b[at:], 0)
		if end < 0 {
			return e, 0, 0, false
		}
		e.name = before[:len(before)-strip] + string(b[at:at+end])
		return e, mode, at + end + 1, true
	}
	end := bytes.IndexByte(b[at:], 0)
	if end < 0 {
		return e, 0, 0, false
	}
	e.name = string(b[at : at+end])
	size = (at + end + 8) &^ 7
	return e, mode, size, size <= len(b)
}

// varint reads git's offset encoding; n is 0 when there is none.
func varint(b []byte) (v, n int) {
	for n < len(b) && n < 5 {
		c := b[n]
		n++
		v = v<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return v, n
		}
		v++
	}
	return 0, 0
}

const digits = "0123456789abcdef"

func hexText(b []byte) string {
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}
