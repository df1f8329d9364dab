package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"agent-ls/loop"
)

// Background tasks are commands that run on while the agent does something
// else. They belong to a session and may outlive the run that started them,
// if that run is done; they end with a run that is cancelled or fails, and with
// the program: nothing that it started outlives it. They hold no permit of
// [concurrency].subprocs.

// The bounds of background tasks.
const (
	maxTasks     = 8         // of a session, at once
	keptTasks    = 64        // in memory, ended ones included
	taskOutput   = 256 << 10 // bytes of output kept for each
	taskTail     = 4 << 10   // bytes of it that the events of hooks have
	stallAfter   = time.Minute
	taskEndsSoon = endWithin / 2
)

// tasks are the background tasks of a service.
type tasks struct {
	mu   sync.Mutex // guards what follows, and the owners of the tasks
	list []*task    // oldest first
	wait sync.WaitGroup
}

// task is one of them.
type task struct {
	loop.Task        // as it began
	session   string // that it belongs to
	owner     string // the run: the one that started it, or that it was given to
	began     time.Time
	out       tail
	stop      context.CancelFunc
	done      chan struct{}
	end       loop.TaskEnd // behind done
}

// tail keeps the last bytes of what is written, and how many there were.
type tail struct {
	mu    sync.Mutex // guards what follows
	kept  []byte
	total int64
	read  int64 // of total, what shell_output has given
	// quiet fires when nothing was written for after.
	quiet *time.Timer
	after time.Duration
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.total += int64(len(b))
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - taskOutput; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.quiet != nil {
		t.quiet.Reset(t.after)
	}
	t.mu.Unlock()
	return len(b), nil
}

// watch has f called once nothing was written for that long; unwatch ends it.
func (t *tail) watch(after time.Duration, f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.after, t.quiet = after, time.AfterFunc(after, f)
}

func (t *tail) unwatch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quiet.Stop()
	t.quiet = nil
}

// last is the end of what was written.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return visibleEnd(t.kept, n)
}

// fresh is what was written since it was asked last, with a line for what is
// gone.
func (t *tail) fresh() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := t.total - int64(len(t.kept))
	from := max(t.read, first)
	text := visibleEnd(t.kept[from-first:], taskOutput)
	if missing := from - t.read; missing > 0 {
		text = fmt.Sprintf("[… %d bytes left out …]\n%s", missing, text)
	}
	t.read = t.total
	return text
}

// keep is the loop.KeepRunning of one call.
func (d *dispatched) keep(t loop.Task, begin func(context.Context, io.Writer) (func() loop.TaskEnd, error)) (string, error) {
	r := d.run
	s := r.svc
	t.ID, t.CallID, t.RunID, t.Status = newID("task"), d.call.ID, r.id, loop.TaskRuns
	k := &task{Task: t, session: r.session, owner: r.id, began: time.Now(), done: make(chan struct{})}
	if err := s.tasks.add(k); err != nil {
		return "", err
	}
	// It ends with the service, not with the call.
	ctx, stop := context.WithCancel(s.background)
	k.stop = stop
	wait, err := begin(ctx, &k.out)
	if err != nil {
		stop()
		s.tasks.drop(k)
		close(k.done)
		return "", err
	}
	k.out.watch(s.stallAfter, func() { s.stalled(k) })
	_, ok := r.tell(posted{event: loop.Event{Kind: loop.TaskStarted, Task: &t}})
	s.tasks.wait.Go(func() { s.watchTask(k, wait) }) // behind the word that it began
	if !ok {
		stop() // the run is over: nobody would know of it
		return "", errStopped
	}
	return t.ID, nil
}

// add takes a place for a task, and forgets the oldest ended ones.
func (ts *tasks) add(k *task) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	alive := 0
	for _, other := range ts.list {
		if other.session == k.session && !other.over() {
			alive++
		}
	}
	if alive >= maxTasks {
		return fmt.Errorf("%d background tasks run already, which is as many as may: end one with shell_kill", alive)
	}
	for i := 0; len(ts.list) >= keptTasks && i < len(ts.list); {
		if ts.list[i].over() {
			ts.list = slices.Delete(ts.list, i, i+1)
			continue
		}
		i++
	}
	ts.list = append(ts.list, k)
	return nil
}

func (ts *tasks) drop(k *task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.list = slices.DeleteFunc(ts.list, func(o *task) bool { return o == k })
}

// find gives a session's task.
func (ts *tasks) find(session, id string) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, k := range ts.list {
		if k.ID == id && k.session == session {
			return k
		}
	}
	return nil
}

// owned gives the tasks that a choice holds for.
func (ts *tasks) owned(choose func(*task) bool) []*task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var out []*task
	for _, k := range ts.list {
		if choose(k) {
			out = append(out, k)
		}
	}
	return out
}

func (k *task) over() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// now is the task as it stands.
func (k *task) now() loop.Task {
	t := k.Task
	t.DurationMs = time.Since(k.began).Milliseconds()
	t.Output = k.out.last(taskTail)
	if k.over() {
		t.Status, t.Note = loop.TaskExited, k.end.Note
		code := k.end.ExitCode
		t.ExitCode = &code
		if k.end.Killed {
			t.Status, t.ExitCode = loop.TaskKilled, nil
		}
	}
	return t
}

// watchTask waits for a task's end and tells the run that has it then.
func (s *Service) watchTask(k *task, wait func() loop.TaskEnd) {
	k.end = wait()
	close(k.done)
	k.stop()
	k.out.unwatch()
	s.tellOwner(k, loop.TaskEnded)
}

// stalled says that a task printed nothing for long. It waits for the next
// output before it may be said again.
func (s *Service) stalled(k *task) {
	if !k.over() {
		s.tellOwner(k, loop.TaskStalled)
	}
}

// tellOwner posts an event about a task to the run that its session has under
// way. Without one the next run finds out by itself.
func (s *Service) tellOwner(k *task, kind loop.EventKind) {
	s.tasks.mu.Lock()
	session, t := k.session, k.now()
	t.RunID = k.owner
	s.tasks.mu.Unlock()
	if kind == loop.TaskStalled {
		t.IdleMs = s.stallAfter.Milliseconds()
	}
	s.mu.Lock()
	r := s.sessions[session]
	s.mu.Unlock()
	if r != nil {
		r.post(posted{event: loop.Event{Kind: kind, Task: &t, Waits: kind == loop.TaskStalled}})
	}
}

// reconcile finds out what became of the tasks that a session had when its
// last run ended, or when the program did. Those that run still are the new
// run's; ended are the others.
func (s *Service) reconcile(r *activeRun, known []loop.Task) (ended []loop.Task) {
	for _, t := range known {
		if t.Status != loop.TaskRuns {
			continue
		}
		k := s.tasks.find(r.session, t.ID)
		if k == nil {
			t.Status = loop.TaskLost
			ended = append(ended, t)
			continue
		}
		s.tasks.mu.Lock()
		now := k.now()
		if now.Status == loop.TaskRuns {
			now.RunID = k.owner
			r.adopted = append(r.adopted, now)
		} else {
			ended = append(ended, now)
		}
		s.tasks.mu.Unlock()
	}
	return ended
}

// recheck tells a run of tasks that ended between reconcile and its start.
func (s *Service) recheck(session string) {
	for _, k := range s.tasks.owned(func(k *task) bool { return k.session == session && k.over() }) {
		s.tellOwner(k, loop.TaskEnded)
	}
}

// reassign gives the tasks of a sub-agent that is done to the run that
// spawned it.
func (s *Service) reassign(childSession string, to *activeRun) {
	for _, k := range s.tasks.owned(func(k *task) bool { return k.session == childSession && !k.over() }) {
		s.tasks.mu.Lock()
		from := k.owner
		k.session, k.owner = to.session, to.id
		t := k.now()
		t.RunID = to.id
		s.tasks.mu.Unlock()
		to.post(posted{event: loop.Event{Kind: loop.TaskStarted, Task: &t, ID: from}})
		if k.over() { // it ended meanwhile, and told nobody
			s.tellOwner(k, loop.TaskEnded)
		}
	}
}

// endTasks ends the tasks of a run that was cancelled or failed.
func (s *Service) endTasks(runID string) {
	for _, k := range s.tasks.owned(func(k *task) bool { return k.owner == runID }) {
		k.stop()
	}
}

// closeTasks waits for the tasks to end with the service.
func (s *Service) closeTasks() error {
	s.endBackground()
	ended := make(chan struct{})
	go func() {
		s.tasks.wait.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(taskEndsSoon):
		return errors.New("close: background tasks did not end in time")
	}
}

// unwatchedTask says why a background command could change protected files
// unnoticed, "" where it cannot: they are compared when it ends, which may be
// never, and no floor keeps it from making new ones.
func (r *activeRun) unwatchedTask(c *loop.CommandPlan) string {
	if c == nil || !c.Background {
		return ""
	}
	return "it runs on in the background, where a change of protected files is seen only when it ends, if ever"
}
