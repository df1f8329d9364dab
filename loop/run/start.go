package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"agent-ls/loop"
	"agent-ls/loop/journal"
	"agent-ls/loop/policy"
	"agent-ls/loop/report"
	"agent-ls/loop/tool"
)

// Start begins a run and returns while it goes on. What keeps it from
// starting is a *CannotStart with everything that is wrong; the model has not
// been called then. A session with a run under way is ErrSessionBusy; a run of
// it that a process left behind when it died is ended as cancelled first.
func (s *Service) Start(ctx context.Context, p StartParams) (Started, error) {
	if strings.TrimSpace(p.Prompt) == "" {
		return Started{}, errors.New("the prompt is empty")
	}
	switch p.Mode {
	case "", loop.ModeAsk, loop.ModePlan, loop.ModeAuto:
	default:
		return Started{}, fmt.Errorf("unknown mode %q; the modes are ask, plan and auto", p.Mode)
	}
	session := p.SessionID
	if session == "" {
		session = newID("ses")
	}
	release, err := s.claim(session)
	if err != nil {
		return Started{}, err
	}
	defer release()
	before, err := s.former(ctx, p.SessionID)
	if err != nil {
		return Started{}, err
	}
	p.Mode = cmp.Or(p.Mode, before.state.Chosen.Mode)
	p.Model = cmp.Or(p.Model, before.state.Chosen.Model)
	started, err := s.begin(ctx, session, p, before)
	if err != nil && p.SessionID != "" {
		err = joined(err, s.opt.Journal.Release(ctx, session))
	}
	return started, err
}

// joined adds a second error to the first without hiding the first's type.
func joined(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}

func (s *Service) begin(ctx context.Context, session string, p StartParams, before former) (Started, error) {
	pin, findings := s.load(ctx, p.Agent, p.Model, p.Mode)
	if pin == nil {
		return Started{}, &CannotStart{Findings: findings}
	}
	if len(p.OutputSchema) > 0 {
		pin.agent().Output = p.OutputSchema
	}
	if why := outputFinding(pin.agent().Output); why != "" {
		findings = append(findings, cannot(pin.agent().Path, why))
	}
	tracker := s.trackerFor(ctx, session, before.saw)
	g, more, err := s.equip(ctx, pin, tracker)
	findings = append(findings, more...)
	if len(findings) > 0 {
		return Started{}, &CannotStart{Findings: findings}
	}
	if err != nil {
		return Started{}, err
	}
	prompt, err := s.prompt(ctx, p)
	if err != nil {
		return Started{}, err
	}
	return s.launch(ctx, session, p, prompt, pin, g, before)
}

// launch journals the run's beginning and lets it go.
func (s *Service) launch(ctx context.Context, session string, p StartParams, prompt []loop.Block, pin *pinned, g *gear, before former) (Started, error) {
	body, err := pin.encode()
	if err != nil {
		return Started{}, err
	}
	if err := s.loadGrants(); err != nil {
		return Started{}, err
	}
	if before.state.Active() {
		if err := s.endFormer(ctx, &before); err != nil {
			return Started{}, err
		}
	}
	r := newRun(s, newID("run"), session, pin, g)
	r.state, r.seq, r.usage = before.state, before.seq, before.usage
	row := journal.SessionRow{ID: session, Title: titleOf(p.Prompt), StartedAt: s.now()}
	switch err := s.opt.Journal.Begin(ctx, row, r.id, body); {
	case errors.Is(err, journal.ErrOwned):
		return Started{}, ErrSessionBusy
	case err != nil:
		return Started{}, err
	}
	r.status = report.Running
	pointedAt := make([]string, len(p.Context))
	for i, c := range p.Context {
		pointedAt[i] = c.Path
	}
	instructions, from := tool.Instructions(s.opt.Root, pointedAt...)
	mark := before.state.Mark
	if mark == "" {
		mark = newMark()
	}
	for i := range prompt {
		prompt[i].Text = strings.ReplaceAll(prompt[i].Text, mark, "…")
	}
	first := loop.Event{
		Kind: loop.Started, RunID: r.id, SessionID: session, Mark: mark, Label: g.labelOf(pin, append(pointedAt, from...)...),
		Prompt: prompt, Course: pin.course(g, instructions), Tasks: s.reconcile(r, before.state.Tasks),
	}
	if err := s.adopt(r, first); err != nil {
		return Started{}, err
	}
	s.recheck(session)
	s.keep(pin.Config.Sessions.Keep)
	return Started{RunID: r.id, SessionID: session}, nil
}

// claim keeps others from starting something in the session meanwhile.
func (s *Service) claim(session string) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.sessions[session] != nil || s.starting[session] {
		return nil, ErrSessionBusy
	}
	s.starting[session] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.starting, session)
	}, nil
}

// former is what the journal knows of a session.
type former struct {
	state loop.State
	seq   int64
	usage loop.Usage
	saw   map[string]string
	row   journal.SessionRow
}

// former reads a session from the journal and makes this process the one that
// drives it; "" is a new one.
func (s *Service) former(ctx context.Context, session string) (former, error) {
	f := former{saw: map[string]string{}}
	if session == "" {
		return f, nil
	}
	switch err := s.opt.Journal.Acquire(ctx, session); {
	case errors.Is(err, journal.ErrNotFound):
		return f, fmt.Errorf("session %s: %w", session, ErrUnknownID)
	case errors.Is(err, journal.ErrOwned):
		return f, ErrSessionBusy
	case err != nil:
		return f, err
	}
	var err error
	if f.row, err = s.opt.Journal.Session(ctx, session); err != nil {
		return f, err
	}
	f.seq, f.usage, err = s.opt.Journal.Replay(ctx, session, func(e loop.Event) {
		f.state, _ = loop.Apply(f.state, e)
		for path, digest := range e.Saw {
			f.saw[path] = digest
		}
	})
	if err != nil {
		return f, fmt.Errorf("read session %s: %w", session, err)
	}
	return f, nil
}

// endFormer closes a run that a process left behind: its calls get results,
// its approvals are withdrawn, and it gets the end that every run has.
func (s *Service) endFormer(ctx context.Context, f *former) error {
	r := newRun(s, f.state.RunID, f.state.SessionID, nil, nil)
	r.state, r.seq, r.usage = f.state, f.seq, f.usage
	for _, k := range []loop.EventKind{loop.RunResumed, loop.CancelWanted} {
		p := posted{event: loop.Event{Kind: k}}
		r.apply(&p)
		if err := r.commit(); err != nil {
			return err
		}
	}
	if r.state.Phase == loop.Closing { // there is nobody left to see it end
		p := posted{event: loop.Event{Kind: loop.Closed, Step: r.state.Step}}
		r.apply(&p)
		if err := r.commit(); err != nil {
			return err
		}
	}
	f.state, f.seq, f.usage = r.state, r.seq, r.usage
	r.stop(errStopped)
	s.endChildren(ctx, r.id)
	return s.opt.Journal.Release(ctx, r.session)
}

// trackerFor is what the session knows of files. What a dead process knew is
// believed for files that are the same still.
func (s *Service) trackerFor(ctx context.Context, session string, saw map[string]string) *tool.Tracker {
	s.mu.Lock()
	t := s.trackers[session]
	if t == nil {
		t = tool.NewTracker()
		s.trackers[session] = t
	}
	s.mu.Unlock()
	for path, digest := range saw {
		if t.Seen(path) != "" {
			continue
		}
		text, err := s.files().Read(ctx, path)
		if err != nil {
			continue
		}
		probe := tool.NewTracker()
		probe.Saw(path, text.Bytes)
		if probe.Seen(path) == digest {
			t.Saw(path, text.Bytes)
		}
	}
	return t
}

func (s *Service) files() loop.Files {
	if s.opt.Files != nil {
		return s.opt.Files
	}
	return tool.Disk(s.opt.Root)
}

// loadGrants reads what was granted for this workspace for good.
func (s *Service) loadGrants() error {
	grants, err := policy.LoadAlways(s.opt.StateDir, s.opt.Root)
	if err != nil {
		return fmt.Errorf("read the lasting grants: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = grants
	return nil
}

// prompt is the prompt with the files that the user pointed at.
func (s *Service) prompt(ctx context.Context, p StartParams) ([]loop.Block, error) {
	blocks := []loop.Block{{Kind: loop.TextBlock, Text: p.Prompt}}
	for _, c := range p.Context {
		text, err := s.files().Read(ctx, c.Path)
		if err != nil {
			return nil, fmt.Errorf("read %s for the prompt: %w", c.Path, err)
		}
		body, where := string(text.Bytes), s.shortPath(c.Path)
		if c.StartLine > 0 {
			body, where = linesOf(body, c.StartLine, c.EndLine), fmt.Sprintf("%s, lines %d to %d", where, c.StartLine, max(c.StartLine, c.EndLine))
		}
		if len(body) > maxContextFile {
			body = body[:maxContextFile] + "\n[cut]"
		}
		blocks = append(blocks, loop.Block{Kind: loop.TextBlock, Text: where + ":\n" + strings.ToValidUTF8(body, "\uFFFD")})
	}
	return blocks, nil
}

// maxContextFile bounds one file that goes along with a prompt, in bytes.
const maxContextFile = 256 << 10

func linesOf(text string, start, end int) string {
	lines := strings.SplitAfter(text, "\n")
	start = min(start, len(lines)+1)
	end = min(max(end, start), len(lines))
	return strings.Join(lines[start-1:end], "")
}

// shortPath names a file the way people do: below the root, relative to it.
func (s *Service) shortPath(path string) string {
	if rel, err := filepath.Rel(s.opt.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func titleOf(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	const most = 100
	if utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:most-1]) + "…"
	}
	return line
}

func newMark() string {
	var b [6]byte
	rand.Read(b[:])
	return "host-" + hex.EncodeToString(b[:])
}

// Resume goes on with the run of a session that a process left behind when it
// died. A session whose newest run is over, or that another process drives,
// has nothing to resume; the reason says so.
func (s *Service) Resume(ctx context.Context, sessionID string) (Resumed, error) {
	release, err := s.claim(sessionID)
	if errors.Is(err, ErrSessionBusy) {
		return Resumed{Reason: "the session's run is under way in this window"}, nil
	}
	if err != nil {
		return Resumed{}, err
	}
	defer release()
	f, err := s.former(ctx, sessionID)
	if errors.Is(err, ErrSessionBusy) {
		return Resumed{Reason: "the session's run is under way in another window"}, nil
	}
	if err != nil {
		return Resumed{}, err
	}
	if !f.state.Active() {
		reason := "the session's newest run is over"
		if f.state.RunID == "" {
			reason = "the session has no run"
		}
		return Resumed{Reason: reason}, s.opt.Journal.Release(ctx, sessionID)
	}
	why, err := s.heldBy(ctx, sessionID)
	if err == nil && why != "" {
		return Resumed{Reason: why}, s.opt.Journal.Release(ctx, sessionID)
	}
	var res Resumed
	if err == nil {
		res, err = s.takeUp(ctx, f, nil)
	}
	if err != nil {
		err = joined(err, s.opt.Journal.Release(ctx, sessionID))
	}
	return res, err
}

// takeUp drives a run that somebody else began; parent is the one that
// spawned it, nil for a run that a person began.
func (s *Service) takeUp(ctx context.Context, f former, parent *parentLink) (Resumed, error) {
	body, err := s.opt.Journal.Pin(ctx, f.state.RunID)
	if err != nil {
		return Resumed{}, fmt.Errorf("read what run %s pinned: %w", f.state.RunID, err)
	}
	pin, err := decodePin(body)
	if err != nil {
		return Resumed{}, err
	}
	if err := s.loadGrants(); err != nil {
		return Resumed{}, err
	}
	session := f.state.SessionID
	g, findings, err := s.equip(ctx, pin, s.trackerFor(ctx, session, f.saw))
	if len(findings) > 0 {
		return Resumed{}, &CannotStart{Findings: findings}
	}
	if err != nil {
		return Resumed{}, err
	}
	r := newRun(s, f.state.RunID, session, pin, g)
	r.state, r.seq, r.usage, r.status = f.state, f.seq, f.usage, f.row.Status
	r.parent = parent
	r.keepGrants()
	r.ledger.begin(&r.state)
	if why := f.mismatch(); why != "" {
		return s.refuse(ctx, r, f, why)
	}
	res := Resumed{RunID: r.id}
	res.Done, res.Resuming = batchIDs(&f.state)
	for _, c := range f.state.Batch {
		if c.Phase != loop.CallDone {
			r.planned[c.ID] = c.Phase == loop.CallRunning && c.Effect == loop.Read
		}
	}
	return res, s.adopt(r, loop.Event{Kind: loop.RunResumed, Tasks: s.reconcile(r, f.state.Tasks)})
}
