//go:build unix

package tool

import (
	"io/fs"
	"os"
	"syscall"
)

// umask is the process's own, read once while nothing runs yet.
var umask = func() fs.FileMode {
	m := syscall.Umask(0o022)
	syscall.Umask(m)
	return fs.FileMode(m).Perm()
}()

// keepOwner gives a new file the owner of the one that it replaces, where the
// user may do that.
func keepOwner(f *os.File, like fs.FileInfo) {
	if like == nil {
		return
	}
	if st, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
