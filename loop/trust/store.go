package trust

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// layout is that of the database that this program writes.
const layout = 1

// Store is the user's trust, in trust.db of the state folder. Its methods may
// be called from many goroutines, and several processes may have the same
// file open. A nil Store trusts nothing.
type Store struct {
	path string // "" when there is no state folder

	openMu sync.Mutex // guards db
	db     *sql.DB
}

// New makes a Store over the state folder. It opens and makes nothing before
// it is asked.
func New(stateDir string) *Store {
	if stateDir == "" {
		return &Store{}
	}
	return &Store{path: filepath.Join(stateDir, "trust.db")}
}

// Path is the file, "" when there is none to be. It changes whenever trust does.
func (s *Store) Path() string {
	if s == nil {
		return ""
	}
	return s.path
}

// Close lets go of the file. The Store opens it again when it is asked again.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	s.openMu.Lock()
	defer s.openMu.Unlock()
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

// open opens the file. With create it makes one that is not there; without, a
// file that is not there is a nil database.
func (s *Store) open(create bool) (*sql.DB, error) {
	s.openMu.Lock()
	defer s.openMu.Unlock()
	if s.path == "" {
		return nil, nil
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.db != nil { // taken away under us: what it said is gone with it
			err := s.db.Close()
			s.db = nil
			if err != nil {
				return nil, err
			}
		}
		if !create {
			return nil, nil
		}
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	if s.db != nil {
		return s.db, nil
	}
	if err := private(s.path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(s.path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := migrate(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.db = db
	return db, nil
}

// private makes the file and its folder, for the user only.
func private(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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

// dsn keeps the plain journal of SQLite: the file itself changes with each
// commit, which is what those who watch it look at.
func dsn(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(DELETE)", "synchronous(FULL)"}}
	return (&url.URL{Scheme: "file", Path: p, RawQuery: q.Encode()}).String()
}

func migrate(db *sql.DB) error {
	have := 0
	if err := db.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	if have > layout {
		return fmt.Errorf("it was written by a newer agent-ls (layout %d, this one knows %d)", have, layout)
	}
	if have == layout {
		return nil
	}
	_, err := db.Exec(`
		BEGIN IMMEDIATE;
		CREATE TABLE IF NOT EXISTS trusted (
			root TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL, at INTEGER NOT NULL,
			PRIMARY KEY (root, kind, name, digest)
		) WITHOUT ROWID;
		PRAGMA user_version = 1;
		COMMIT;`)
	return err
}

// explain puts the file in front of what went wrong with it.
func (s *Store) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in %s: %w", doing, s.path, err)
}

func (s *Store) entries(ctx context.Context, root string, kind Kind, name string) ([]Entry, error) {
	return s.query(ctx, "SELECT root, kind, name, digest, at FROM trusted WHERE root = ? AND kind = ? AND name = ?", root, kind, name)
}

func (s *Store) list(ctx context.Context, root string) ([]Entry, error) {
	return s.query(ctx, "SELECT root, kind, name, digest, at FROM trusted WHERE root = ? OR ? = '' ORDER BY at, root, kind, name", root, root)
}

func (s *Store) query(ctx context.Context, text string, args ...any) (out []Entry, err error) {
	defer func() { err = s.explain("read what is trusted", err) }()
	db, err := s.open(false)
	if err != nil || db == nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e Entry
		var at int64
		if err := rows.Scan(&e.Root, &e.Kind, &e.Name, &e.Digest, &at); err != nil {
			return nil, err
		}
		e.At = time.UnixMilli(at).UTC()
		out = append(out, e)
	}
	return out, rows.Err()
}

func (s *Store) add(ctx context.Context, e Entry) (err error) {
	defer func() { err = s.explain("trust "+e.Name, err) }()
	db, err := s.open(true)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing to do behind a commit
	if _, err := tx.ExecContext(ctx, "INSERT INTO trusted VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at",
		e.Root, e.Kind, e.Name, e.Digest, e.At.UnixMilli()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM trusted WHERE root = ?1 AND kind = ?2 AND name = ?3 AND digest NOT IN
		(SELECT digest FROM trusted WHERE root = ?1 AND kind = ?2 AND name = ?3 ORDER BY at DESC, digest LIMIT ?4)`,
		e.Root, e.Kind, e.Name, maxContents); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Store) remove(ctx context.Context, root string, kind Kind, name string) (had bool, err error) {
	defer func() { err = s.explain("forget the trust in "+name, err) }()
	db, err := s.open(false)
	if err != nil || db == nil {
		return false, err
	}
	done, err := db.ExecContext(ctx, "DELETE FROM trusted WHERE root = ? AND kind = ? AND name = ?", root, kind, name)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}
