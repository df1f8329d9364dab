package journal

// A step is what one application of the core came to: the core's event, what
// was shown of it and how far the session's numbering of shown events got.
const schema = `
CREATE TABLE sessions (
	id         TEXT PRIMARY KEY,
	title      TEXT NOT NULL,
	started_at INTEGER NOT NULL,          -- Unix milliseconds
	status     TEXT NOT NULL,             -- running, waiting, done, failed, cancelled
	run_id     TEXT NOT NULL DEFAULT '',  -- the newest run
	owner      TEXT NOT NULL DEFAULT '',  -- the process that drives it
	changed_at INTEGER NOT NULL DEFAULT 0, -- when the status last changed, Unix milliseconds
	parent     TEXT NOT NULL DEFAULT '',  -- the session that it was forked from
	head       BLOB,                      -- the chain's link at head_step
	head_step  INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_newest ON sessions (started_at DESC, id DESC);
CREATE TABLE runs (
	id         TEXT PRIMARY KEY,
	session_id TEXT NOT NULL REFERENCES sessions (id),
	pin        TEXT NOT NULL
);
CREATE INDEX runs_session ON runs (session_id);
CREATE TABLE pins (
	digest TEXT PRIMARY KEY,
	body   BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE steps (
	id         INTEGER PRIMARY KEY,
	session_id TEXT NOT NULL,
	last_seq   INTEGER NOT NULL,          -- of the shown events so far
	turn       INTEGER NOT NULL,
	event      BLOB NOT NULL,             -- loop.Event
	shown      BLOB,                      -- []report.Event
	usage      TEXT,                      -- the session's, where it changed
	chain      BLOB                       -- see chain.go; NULL where layout 1 wrote it
);
CREATE INDEX steps_session ON steps (session_id, id);
CREATE TABLE decisions (
	n          INTEGER PRIMARY KEY,
	run_id     TEXT NOT NULL,
	hook_id    TEXT NOT NULL,
	event      TEXT NOT NULL,
	path       TEXT NOT NULL,
	action     TEXT NOT NULL,
	body       BLOB NOT NULL,
	step       INTEGER NOT NULL DEFAULT 0 -- the one that it was written with
);
CREATE INDEX decisions_run ON decisions (run_id, n);
CREATE INDEX decisions_hook ON decisions (hook_id, n);
CREATE INDEX decisions_path ON decisions (path, n);
CREATE TABLE approvals (
	id         TEXT PRIMARY KEY,
	session_id TEXT NOT NULL,
	run_id     TEXT NOT NULL,
	call_id    TEXT NOT NULL,
	body       BLOB NOT NULL,
	state      TEXT NOT NULL,             -- open, answered, withdrawn
	answer     BLOB,
	by         TEXT NOT NULL DEFAULT ''
);
CREATE INDEX approvals_open ON approvals (state, session_id);
CREATE TABLE edits (
	n          INTEGER PRIMARY KEY,
	run_id     TEXT NOT NULL,
	call_id    TEXT NOT NULL,
	path       TEXT NOT NULL,
	before     BLOB,
	after      BLOB,
	created    INTEGER NOT NULL,
	state      TEXT NOT NULL,             -- planned, done, undone
	step       INTEGER NOT NULL DEFAULT 0, -- the one that it was written with
	gone       INTEGER NOT NULL DEFAULT 0, -- the file was removed; after counts for nothing
	mode       INTEGER NOT NULL DEFAULT 0 -- the file's permissions before, where they count
);
CREATE INDEX edits_run ON edits (run_id, n);
CREATE TABLE signals (
	n          INTEGER PRIMARY KEY,
	session_id TEXT NOT NULL,
	kind       TEXT NOT NULL,             -- cancel, steer
	body       BLOB NOT NULL
);
CREATE INDEX signals_session ON signals (session_id, n);
PRAGMA user_version = 2;
`

// upgrades bring a database from one layout to the next, by the layout that it
// has.
var upgrades = map[int]string{
	1: `
ALTER TABLE sessions ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN head BLOB;
ALTER TABLE sessions ADD COLUMN head_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN chain BLOB;
ALTER TABLE decisions ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE edits ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE edits ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE edits ADD COLUMN mode INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET changed_at = started_at;
PRAGMA user_version = 2;
`,
}

const (
	stepColumns = 7
	stepValues  = `(?, ?, ?, ?, ?, ?, ?)`
	insertStep  = `INSERT INTO steps (session_id, last_seq, turn, event, shown, usage, chain) VALUES ` + stepValues
)
