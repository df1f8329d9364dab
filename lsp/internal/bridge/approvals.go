package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"agent-ls/loop/report"
	"agent-ls/loop/run"
)

// The values of ApprovalResolved.By.
const (
	byHere      = "here"
	byElsewhere = "elsewhere"
	byCancel    = "cancel"
	byTimeout   = "timeout"
	byPolicy    = "policy"
)

// keptOutcomes is how many settled approvals are remembered, for the data of
// alreadyResolved.
const keptOutcomes = 256

// approvals are the open ones that this connection shows, and how the last
// ones ended.
//
// An approval can be answered on several surfaces at once: the request to the
// editor, agent/resolve, another window, a grant, a cancel. The service
// decides which was first. Here only the two that pass through this process
// could be told the wrong outcome; they take turns under showing.turn.
type approvals struct {
	mu    sync.Mutex
	open  map[string]*showing
	ended map[string]ending
	order []string // keys of ended, oldest first
	// watched are those that another server shows and that this editor listed.
	watched map[string]bool
}

// ending is how an approval was settled.
type ending struct {
	outcome report.ApprovalOutcome
	by      string
}

// showing is one approval that is in front of the user.
type showing struct {
	approval report.Approval
	// turn holds a token that is taken while an answer is being settled.
	turn chan struct{}
	// The rest is guarded by approvals.mu.
	settled   bool
	withdrawn ending // what an event said; by is "" until then
	// takeDown ends the request to the editor where no run's context does.
	takeDown context.CancelFunc
}

func newApprovals() *approvals {
	return &approvals{open: map[string]*showing{}, ended: map[string]ending{}}
}

// show notes that an approval is in front of the user. takeDown is called when
// it is settled, and nil where the run's own context ends then.
func (a *approvals) show(ap report.Approval, takeDown context.CancelFunc) *showing {
	s := &showing{approval: ap, turn: make(chan struct{}, 1), takeDown: takeDown}
	s.turn <- struct{}{}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[ap.ID] = s
	if _, again := a.ended[ap.ID]; again { // a resumed run asks once more
		delete(a.ended, ap.ID)
		a.order = slices.DeleteFunc(a.order, func(id string) bool { return id == ap.ID })
	}
	return s
}

// shown is the open approval with an id, nil if it is not shown here.
func (a *approvals) shown(id string) *showing {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[id]
}

// settle notes how an approval ended and reports whether that was news.
func (a *approvals) settle(id string, e ending) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.open[id]; s != nil {
		if s.settled {
			return false
		}
		s.settled = true
		if s.takeDown != nil {
			s.takeDown()
		}
	}
	if _, known := a.ended[id]; known {
		return false
	}
	a.ended[id] = e
	if a.order = append(a.order, id); len(a.order) > keptOutcomes {
		delete(a.ended, a.order[0])
		a.order = a.order[1:]
	}
	return true
}

// hide forgets that an approval is shown.
func (a *approvals) hide(s *showing) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[s.approval.ID] == s {
		delete(a.open, s.approval.ID)
	}
}

// withdrawn notes who took an approval down, and reports whether it is shown
// to a run that waits and will see for itself.
func (a *approvals) withdrawn(id string, e ending) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.open[id]
	if s != nil {
		s.withdrawn = e
	}
	return s != nil && s.takeDown == nil
}

// withdrawal is what withdrawn noted.
func (a *approvals) withdrawal(s *showing) ending {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.withdrawn.by == "" {
		return ending{report.DenyOnce, byCancel}
	}
	return s.withdrawn
}

// settled is how an approval ended, as far as this process knows.
func (a *approvals) settled(id string) (report.ApprovalOutcome, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.ended[id]
	return e.outcome, e.by
}

// approve is Frontend.Approve: it puts an approval to the user and waits.
func (b *bridge) approve(ctx context.Context, ap report.Approval) (report.Answer, error) {
	s := b.approvals.show(ap, nil)
	defer b.approvals.hide(s)
	b.out.flush(ctx) // approval_requested comes first
	answer, err := b.ask(ctx, ap)
	// Whoever has the turn is settling it, and knows better how it ended.
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	if ctx.Err() != nil { // answered elsewhere, or withdrawn
		b.resolved(ap.ID, b.endingOf(ctx, s))
		return report.Answer{}, ctx.Err()
	}
	if err != nil {
		b.resolved(ap.ID, ending{report.DenyOnce, byPolicy})
		b.logMessage(protocol.MessageTypeWarning, fmt.Sprintf("denied: %s: %v", show(ap.Title), err))
		return report.Answer{}, err
	}
	b.resolved(ap.ID, ending{answer.Outcome, byHere})
	return answer, nil
}

// resolved tells every surface, once, that an approval is no longer open.
func (b *bridge) resolved(id string, e ending) {
	if b.approvals.settle(id, e) {
		b.out.notify(methodApprovalResolved, ApprovalResolved{ID: id, Outcome: e.outcome, By: e.by})
	}
}

// endingOf is how an approval ended whose context did: the service says so in
// the context's cause, an event may have said so before.
func (b *bridge) endingOf(ctx context.Context, s *showing) ending {
	var settled *run.Settled
	if errors.As(context.Cause(ctx), &settled) {
		return endingFrom(settled.Outcome, settled.By)
	}
	return b.approvals.withdrawal(s)
}

// endingFrom puts what the loop says of an answer into the protocol's words.
// One without an outcome was withdrawn; an answer by anything that is not
// listed, such as one that was dismissed, was given here.
func endingFrom(outcome report.ApprovalOutcome, by string) ending {
	withdrawn := outcome == ""
	if !slices.Contains([]report.ApprovalOutcome{report.AllowOnce, report.AllowSession, report.AllowAlways}, outcome) {
		outcome = report.DenyOnce
	}
	switch {
	case slices.Contains([]string{byHere, byElsewhere, byCancel, byTimeout, byPolicy}, by):
	case withdrawn:
		by = byCancel
	default:
		by = byHere
	}
	return ending{outcome, by}
}

// ask asks the user by the best way that the editor has. An error that is not
// the context's means that this editor cannot ask anybody.
func (b *bridge) ask(ctx context.Context, ap report.Approval) (report.Answer, error) {
	if b.host.Client.Capabilities().Agent.Approvals {
		answer, err := b.askByApprove(ctx, ap)
		if !isMethodNotFound(err) {
			return answer, err
		}
		b.log.Warn("the editor declared approvals and does not know agent/approve")
	}
	answer, err := b.askByMessage(ctx, ap)
	if isMethodNotFound(err) {
		return answer, fmt.Errorf("this editor can show neither agent/approve nor window/showMessageRequest: %w", run.ErrNoApprover)
	}
	return answer, err
}

func (b *bridge) askByApprove(ctx context.Context, ap report.Approval) (report.Answer, error) {
	var raw json.RawMessage
	if err := b.call(ctx, methodApprove, b.wire.approval(ap), &raw); err != nil {
		return b.unanswered(ctx, err)
	}
	return validAnswer(raw, ap), nil
}

// unanswered judges an error in place of an answer. An error answer of the
// editor is a denial. A lost connection is no answer at all: the approval
// stays open until the service lets go of it.
func (b *bridge) unanswered(ctx context.Context, err error) (report.Answer, error) {
	if ctx.Err() != nil {
		return report.Answer{}, ctx.Err()
	}
	var rpc *jsonrpc2.Error
	if !errors.As(err, &rpc) {
		<-ctx.Done()
		return report.Answer{}, ctx.Err()
	}
	switch rpc.Code {
	case jsonrpc2.MethodNotFound:
		return report.Answer{}, rpc
	case codeRequestCancelled:
		return dismissed(), nil
	}
	return malformed("it answered with the error %q", rpc.Message), nil
}

func isMethodNotFound(err error) bool {
	var rpc *jsonrpc2.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc2.MethodNotFound
}

func dismissed() report.Answer { return report.Answer{Outcome: report.DenyOnce, By: "dismissed"} }

// malformed is the denial that an answer becomes which cannot be honoured.
func malformed(format string, args ...any) report.Answer {
	return report.Answer{
		Outcome:  report.DenyOnce,
		By:       "malformed",
		Feedback: "the editor's answer could not be honoured, so the call is denied: " + show(fmt.Sprintf(format, args...)),
	}
}

// validAnswer reads an answer to an approval. Only what was offered counts:
// everything else is a denial.
func validAnswer(raw json.RawMessage, ap report.Approval) report.Answer {
	if isNull(raw) {
		return dismissed()
	}
	var got ApprovalAnswer
	if err := json.Unmarshal(raw, &got); err != nil {
		return malformed("%v", err)
	}
	return validOutcome(got, ap)
}

func validOutcome(got ApprovalAnswer, ap report.Approval) report.Answer {
	answer := report.Answer{Outcome: got.Outcome, Feedback: got.Feedback, By: byHere}
	switch {
	case got.Outcome == "":
		return malformed("it has no outcome")
	case got.Outcome == report.DenyOnce:
		return answer // always honoured; nothing else in it counts
	case !slices.Contains(ap.Outcomes, got.Outcome):
		return malformed("the outcome %q was not offered", got.Outcome)
	}
	if !isNull(got.Arguments) {
		if !isObject(got.Arguments) {
			return malformed("its arguments are no object")
		}
		answer.Arguments = got.Arguments
	}
	if got.Hunks != nil {
		if why := badHunks(got.Hunks, ap); why != "" {
			return malformed("%s", why)
		}
		answer.Hunks = got.Hunks
	}
	if answer.Arguments != nil && answer.Hunks != nil {
		return malformed("it has both arguments and hunks, which are of different texts")
	}
	return answer
}

// badHunks says what is wrong with a choice of hunks, "" if nothing is.
func badHunks(chosen []int, ap report.Approval) string {
	known := map[int]bool{}
	for _, e := range ap.Edits {
		for _, h := range e.Hunks {
			known[h.N] = true
		}
	}
	if len(known) == 0 {
		return "it has hunks, and the call is no edit"
	}
	if len(chosen) == 0 {
		return "it allows the call and accepts none of its hunks"
	}
	seen := map[int]bool{}
	for _, n := range chosen {
		if !known[n] {
			return fmt.Sprintf("there is no hunk %d", n)
		}
		if seen[n] {
			return fmt.Sprintf("hunk %d is in it twice", n)
		}
		seen[n] = true
	}
	return ""
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
