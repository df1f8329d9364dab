// Package textfile reads the files that people write: scripts, manifests,
// fixtures, schemas. It knows nothing of what is in them.
package textfile

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Max is how many bytes a file may have that nobody gave another bound.
const Max = 16 << 20

// ErrNotRegular is for folders, pipes, sockets and devices: reading one could
// wait forever, or never end.
var ErrNotRegular = errors.New("not a regular file")

// Read reads a regular file of at most max bytes, through links. It never waits
// for somebody to write: a pipe is ErrNotRegular.
func Read(path string, max int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(max)+1))
	if err == nil && len(text) > max {
		err = fmt.Errorf("larger than %d bytes", max)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}
