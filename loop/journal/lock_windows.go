package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks the file for as long as it stays open; held is false when
// somebody else has it.
func tryLock(f *os.File, alone bool) (held bool, err error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
