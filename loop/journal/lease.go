package journal

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// A lease is a lock on a file named after the process that holds it. The
// system gives the lock up when the process ends, however it ends, so a dead
// server's sessions can be taken over at once and a slow one's cannot.

func newOwner() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (j *Journal) leaseFile(owner string) string {
	return filepath.Join(filepath.Dir(j.path), "servers", owner+".lock")
}

// showLife takes this process's lock, once.
func (j *Journal) showLife() error {
	j.leaseMu.Lock()
	defer j.leaseMu.Unlock()
	if j.lease != nil {
		return nil
	}
	path := j.leaseFile(j.owner)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("journal: lease: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("journal: lease: %w", err)
	}
	held, err := tryLock(f, exclusive)
	if err != nil || !held {
		f.Close()
		return fmt.Errorf("journal: lease %s cannot be locked: %v", path, err)
	}
	j.lease = &fileLock{file: f}
	return nil
}

// ownerOf says whether the process of that name lives.
func (j *Journal) ownerOf(owner string) Owner {
	switch owner {
	case "":
		return Nobody
	case j.owner:
		return Here
	}
	f, err := os.OpenFile(j.leaseFile(owner), os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return Nobody
	}
	if err != nil {
		return Elsewhere // better busy than driven twice
	}
	defer f.Close()
	if free, err := tryLock(f, shared); err != nil || !free {
		return Elsewhere
	}
	os.Remove(f.Name()) // names are never used twice
	return Nobody
}

// Those who only look take a shared lock, so that two of them at once do not
// take each other for the owner.
const (
	exclusive = true
	shared    = false
)

// fileLock is a locked file.
type fileLock struct{ file *os.File }

func (l *fileLock) release() error {
	name := l.file.Name()
	err := l.file.Close()
	if e := os.Remove(name); e != nil && !os.IsNotExist(e) && err == nil {
		err = e
	}
	return err
}
