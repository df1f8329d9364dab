// Package journal owns what sessions leave behind: the list of core events
// that a session is a function of, what was shown of them, decisions,
// approvals and the bytes of changed files. One SQLite database in WAL mode
// per workspace, shared by every server of that workspace. Start at Open and
// Journal.Append. What Append returned from without an error survives the
// death of the process at any moment.
package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver
)

// version is the layout of the database that this program writes.
const version = 2

// Journal is an open journal. It may be used from many goroutines.
type Journal struct {
	path  string
	owner string // names this process among those that have the journal open
	read  *sql.DB
	write *sql.DB

	writerMu turns // one writer in this process, so that none waits busily
	conn     *sql.Conn
	append   *sql.Stmt
	// appendMany writes several steps at once: [n-2] writes n, made when it is needed.
	appendMany [mostPlain - 1]*sql.Stmt
	heads      map[string]head  // newest link of the sessions that this process writes
	firings    map[string]int64 // bytes that are kept of the sessions' firings, where known
	moved      int              // bytes that went to the log since it was last emptied, about
	emptying   chan struct{}    // closed when the log is empty again; nil while nobody empties it

	leaseMu sync.Mutex
	lease   *fileLock // what shows others that this process lives, once needed

	watchMu sync.Mutex
	watch   *sql.Conn // sees data_version change
}

// Path is where the journal of a workspace is: below the user's state folder,
// by a hash of the workspace's root.
func Path(stateDir, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(stateDir, "workspaces", hex.EncodeToString(sum[:16]), "journal.db")
}

// Open opens the journal at path, and makes it if it is not there, readable by
// the user only. A file that is no journal, is damaged or was written by a
// newer program is an error that says so; it is left as it is.
func Open(path string) (*Journal, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if err := private(path); err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	j := &Journal{path: path, writerMu: newTurns(), owner: newOwner(), heads: map[string]head{}, firings: map[string]int64{}}
	if err := j.open(); err != nil {
		err = errors.Join(err, j.Close())
		return nil, j.explain(err)
	}
	return j, nil
}

// private makes the file and its folder, for the user only. SQLite gives the
// files beside it the same mode.
func private(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	return errors.Join(err, f.Close())
}

func (j *Journal) open() error {
	var err error
	if j.write, err = sql.Open("sqlite", dsn(j.path, false)); err != nil {
		return err
	}
	j.write.SetMaxOpenConns(1)
	ctx := context.Background()
	if j.conn, err = j.write.Conn(ctx); err != nil {
		return err
	}
	if err := j.migrate(ctx); err != nil {
		return err
	}
	if _, err := j.conn.ExecContext(ctx, familySchema+firingsSchema); err != nil {
		return err
	}
	if j.append, err = j.conn.PrepareContext(ctx, insertStep); err != nil {
		return err
	}
	// The log is emptied beside the writer: see emptyLog.
	if _, err := j.conn.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 0"); err != nil {
		return err
	}
	if j.read, err = sql.Open("sqlite", dsn(j.path, true)); err != nil {
		return err
	}
	j.read.SetMaxOpenConns(4)
	j.read.SetMaxIdleConns(2)
	return nil
}

func dsn(path string, readOnly bool) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	q := url.Values{}
	// NORMAL is safe against the death of the process, which is what a resume
	// is for; a power cut can cost the last steps but not the database.
	q["_pragma"] = []string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(ON)", "secure_delete(ON)"}
	q.Set("_txlock", "immediate")
	if readOnly {
		q["_pragma"] = []string{"busy_timeout(10000)", "query_only(ON)"}
		q.Set("_txlock", "deferred")
	}
	return (&url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}).String()
}

func (j *Journal) migrate(ctx context.Context) error {
	var have int
	if err := j.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch {
	case have == version:
		return nil
	case have > version:
		return fmt.Errorf("it was written by a newer agent-ls (layout %d, this one knows %d)", have, version)
	}
	tx, err := j.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Another server may have made the tables while this one waited.
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have == version {
		return tx.Commit()
	}
	if have > 0 {
		return j.upgrade(ctx, tx, have)
	}
	var tables int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 {
		return errors.New("it is a database, but not a journal of agent-ls")
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	return tx.Commit()
}

// upgrade brings an older layout up to this program's, all of it or nothing.
func (j *Journal) upgrade(ctx context.Context, tx *sql.Tx, have int) error {
	for ; have < version; have++ {
		text, known := upgrades[have]
		if !known {
			return fmt.Errorf("it has layout %d, which nothing leads on from", have)
		}
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("bring it from layout %d to %d: %w", have, have+1, err)
		}
	}
	return tx.Commit()
}

// explain turns SQLite's words for a damaged file into ours.
func (j *Journal) explain(err error) error {
	text := err.Error()
	for _, sign := range []string{"not a database", "malformed", "corrupt"} {
		if strings.Contains(text, sign) {
			return fmt.Errorf("journal %s is damaged (%w); move it away to begin a new one", j.path, err)
		}
	}
	return fmt.Errorf("journal %s: %w", j.path, err)
}

// Close gives up this process's leases and closes the database. A closed
// journal can be closed again.
func (j *Journal) Close() error {
	j.writerMu.Lock()
	defer j.writerMu.Unlock()
	for j.emptying != nil {
		done := j.emptying
		j.writerMu.Unlock()
		<-done
		j.writerMu.Lock()
	}
	j.watchMu.Lock()
	defer j.watchMu.Unlock()
	var errs []error
	for _, s := range append(j.appendMany[:], j.append) {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	j.appendMany = [mostPlain - 1]*sql.Stmt{}
	if j.watch != nil {
		errs = append(errs, j.watch.Close())
	}
	if j.conn != nil {
		errs = append(errs, j.conn.Close())
	}
	if j.write != nil {
		errs = append(errs, j.write.Close())
	}
	if j.read != nil {
		errs = append(errs, j.read.Close())
	}
	j.append, j.watch, j.conn, j.write, j.read = nil, nil, nil, nil, nil
	j.leaseMu.Lock()
	defer j.leaseMu.Unlock()
	if j.lease != nil {
		errs = append(errs, j.lease.release())
		j.lease = nil
	}
	return errors.Join(errs...)
}

var errClosed = errors.New("the journal is closed")

// change runs f in a transaction that no other writer can be in, and then,
// behind a commit, what depends on that.
func (j *Journal) change(ctx context.Context, f func(*sql.Tx) error, then ...func()) error {
	j.writerMu.Lock()
	defer j.writerMu.Unlock()
	if j.conn == nil {
		return errClosed
	}
	tx, err := j.conn.BeginTx(ctx, nil)
	if err != nil {
		return j.explain(err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return j.explain(err)
	}
	for _, do := range then {
		do()
	}
	return nil
}

// Changed says whether anything was written to the journal, by this process or
// another one, since the version that it is given, and what version it has
// now. It is cheap enough to be asked many times a second.
func (j *Journal) Changed(ctx context.Context, since int64) (bool, int64, error) {
	j.watchMu.Lock()
	defer j.watchMu.Unlock()
	if j.read == nil {
		return false, since, errClosed
	}
	if j.watch == nil {
		conn, err := j.read.Conn(ctx)
		if err != nil {
			return false, since, j.explain(err)
		}
		j.watch = conn
	}
	var now int64
	if err := j.watch.QueryRowContext(ctx, "PRAGMA data_version").Scan(&now); err != nil {
		return false, since, j.explain(err)
	}
	return now != since, now, nil
}
