package journal

import "context"

// SQLite empties its write-ahead log into the database in the commit that
// makes it long, with two waits for the disk: a stall for whoever happens to
// commit then. Here a goroutine does it, over a connection of its own, while
// commits go on; what they add meanwhile, little, it then copies with the
// writers held, since only a log that was copied whole begins anew.

const (
	// logSize is how many bytes of steps make the log worth emptying.
	logSize = 8 << 20
	// rowPages is what a commit writes beside the bytes of its rows: pages that
	// it changes in part, of the table and of its index.
	rowPages = 2 * 4096
)

// wrote counts what a commit has written and has the log emptied when that
// has become much. The caller holds writerMu.
func (j *Journal) wrote(rows []encoded) {
	j.moved += rowPages
	for i := range rows {
		j.moved += rows[i].size()
	}
	if j.moved < logSize || j.emptying != nil {
		return
	}
	done := make(chan struct{})
	j.emptying = done
	go j.emptyLog(done) // Close waits for it
}

// size is about how many bytes the row and what is beside it take.
func (e *encoded) size() int {
	n := len(e.ask)
	for _, c := range e.columns {
		switch c := c.(type) {
		case string:
			n += len(c)
		case []byte:
			n += len(c)
		}
	}
	for _, d := range e.decisions {
		n += len(d)
	}
	for i := range e.done {
		n += len(e.done[i].Before) + len(e.done[i].After)
	}
	return n
}

// emptyLog copies the log into the database. Where that fails, because a
// reader still needs it, nothing is lost: the log goes on growing, and it is
// tried again after as many bytes.
func (j *Journal) emptyLog(done chan struct{}) {
	j.copyLog() // most of it, beside the writers
	j.writerMu.Lock()
	defer j.writerMu.Unlock()
	defer close(done)
	j.copyLog()
	j.moved, j.emptying = 0, nil
}

func (j *Journal) copyLog() {
	db := j.reader()
	if db == nil {
		return
	}
	var busy, pages, copied int
	_ = db.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &copied)
}
