package bridge

import (
	"sync"

	"agent-ls/loop/report"
)

// keptRuns is how many finished runs are remembered: enough for commands
// without arguments and late progress, while a long session stays small.
const keptRuns = 256

// runs is what the bridge remembers of the runs of this connection, in the
// order in which they were first heard of.
type runs struct {
	mu    sync.Mutex
	byID  map[string]*runState
	order []string
}

// runState is one run. Its fields are guarded by runs.mu.
type runState struct {
	id, sessionID string
	folder        *folder
	prompt        string
	child         bool          // a sub-agent's
	finished      *report.Event // run_finished, nil while it goes on
	plain         bool          // started by a command: its result is shown when it ends
	resultShown   bool
	outdated      map[string]bool // scripts that the editor was told about
	progress      *progress
}

func newRuns() *runs { return &runs{byID: map[string]*runState{}} }

// get returns the state of a run and makes it at the first mention. The caller
// holds mu.
func (r *runs) get(id string) *runState {
	s := r.byID[id]
	if s == nil {
		s = &runState{id: id}
		r.byID[id] = s
		r.order = append(r.order, id)
		r.forget()
	}
	return s
}

// forget drops the oldest finished runs over the number to keep.
func (r *runs) forget() {
	for i := 0; len(r.order) > keptRuns && i < len(r.order); {
		id := r.order[i]
		if r.byID[id].finished == nil {
			i++
			continue
		}
		delete(r.byID, id)
		r.order = append(r.order[:i], r.order[i+1:]...)
	}
}

// started notes a run that this connection asked for.
func (r *runs) started(id, sessionID string, f *folder, prompt string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.get(id)
	s.sessionID = sessionID
	if f != nil { // else an event says it
		s.folder = f
	}
	if prompt != "" {
		s.prompt = prompt
	}
}

// observe notes what an event says of its run, and returns the run's progress
// if there is one.
func (r *runs) observe(f *folder, e report.Event) *progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.get(e.RunID)
	s.folder, s.sessionID, s.child = f, e.SessionID, e.ParentRunID != ""
	switch e.Type {
	case report.RunStarted:
		s.prompt = e.Prompt
	case report.RunFinished:
		s.finished = &e
	}
	return s.progress
}

// folderOf is the folder of a run that this connection knows, else nil.
func (r *runs) folderOf(id string) *folder {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.byID[id]; s != nil {
		return s.folder
	}
	return nil
}

// folderOfSession is the folder of a session that this connection knows.
func (r *runs) folderOfSession(id string) *folder {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byID {
		if s.sessionID == id && s.folder != nil {
			return s.folder
		}
	}
	return nil
}

// busy is the run that a session is busy with, "" if it is none of ours.
func (r *runs) busy(sessionID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.order) - 1; i >= 0; i-- {
		if s := r.byID[r.order[i]]; s.sessionID == sessionID && s.finished == nil {
			return s.id
		}
	}
	return ""
}

// newest is the newest run that is no sub-agent's, "" if there was none.
func (r *runs) newest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.order) - 1; i >= 0; i-- {
		if s := r.byID[r.order[i]]; !s.child {
			return s.id
		}
	}
	return ""
}
