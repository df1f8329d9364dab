package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agent-ls/loop"
	"agent-ls/loop/report"
)

// answeringScreen is a front end that can be asked questions.
type answeringScreen struct {
	*screen
	questions chan report.Question
	reply     func(context.Context, report.Question) (report.Reply, error)
	taken     chan error
}

func (s *answeringScreen) Ask(ctx context.Context, q report.Question) (report.Reply, error) {
	s.questions <- q
	if s.reply != nil {
		return s.reply(ctx, q)
	}
	<-ctx.Done()
	s.taken <- context.Cause(ctx)
	return report.Reply{}, ctx.Err()
}

func withQuestions(r *rig, reply func(context.Context, report.Question) (report.Reply, error)) *answeringScreen {
	s := &answeringScreen{screen: r.screen, questions: make(chan report.Question, 10), taken: make(chan error, 10), reply: reply}
	r.svc.opt.Frontend = s
	return s
}

const askCall = `ask_user {"header":"Port","prompt":"Which port?","options":[{"label":"80"},{"label":"8080","description":"the usual"}]}`

func asks(_ context.Context, req loop.ModelRequest) turn {
	if req.Turn == 0 {
		return turn{calls: []string{askCall}}
	}
	return turn{text: lastText(req)}
}

func TestAskUser(t *testing.T) {
	r := newRig(t)
	s := withQuestions(r, func(_ context.Context, q report.Question) (report.Reply, error) {
		return report.Reply{Text: q.Options[1].Label}, nil
	})
	r.family(asks)
	run := r.start("go")
	end := r.wait(run.RunID)
	if *end.Output != "the user answers: 8080" {
		t.Errorf("output = %q", *end.Output)
	}
	q := <-s.questions
	if q.Header != "Port" || q.RunID != run.RunID || !q.FreeText || len(q.Options) != 2 {
		t.Errorf("question = %+v", q)
	}
	text := r.screen.text()
	if asked, closed := strings.Index(text, "question_asked"), strings.Index(text, "question_closed"); asked < 0 || closed < asked {
		t.Errorf("events:\n%s", text)
	}
}

func TestNobodyToAskIsSaidAtOnce(t *testing.T) {
	for name, reply := range map[string]func(context.Context, report.Question) (report.Reply, error){
		"the front end cannot": nil,
		"nobody sits there":    func(context.Context, report.Question) (report.Reply, error) { return report.Reply{}, ErrNoApprover },
		"it breaks": func(context.Context, report.Question) (report.Reply, error) {
			return report.Reply{}, errors.New("gone")
		},
		"the person has no time": func(context.Context, report.Question) (report.Reply, error) {
			return report.Reply{Dismissed: true}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if reply != nil {
				withQuestions(r, reply)
			}
			r.family(asks)
			want := "no approver"
			if name == "the person has no time" {
				want = "dismissed"
			}
			if end := r.wait(r.start("go").RunID); !strings.Contains(*end.Output, want) {
				t.Errorf("output = %q, want %q in it", *end.Output, want)
			}
		})
	}
}

func TestAQuestionSurvivesARestart(t *testing.T) {
	r := newRig(t)
	s := withQuestions(r, nil)
	r.family(asks)
	run := r.start("go")
	q := <-s.questions
	list, _, err := r.svc.Sessions(context.Background(), 1, "", "")
	if err != nil || list[0].Status != report.Waiting {
		t.Errorf("the session is %v, %v; want waiting", list, err)
	}
	r.close()
	r.open()
	s = withQuestions(r, nil)
	r.family(asks)
	_, open, err := r.svc.Pending(context.Background())
	if err != nil || len(open) != 1 || open[0].ID != q.ID {
		t.Fatalf("Pending() = %+v, %v", open, err)
	}
	// The answer resumes the run; it is not asked again.
	answer := "9090"
	if err := r.svc.Resolve(context.Background(), q.ID, report.Answer{Reply: &answer}); err != nil {
		t.Fatal(err)
	}
	if end := r.wait(run.RunID); *end.Output != "the user answers: 9090" {
		t.Errorf("output = %q", *end.Output)
	}
	if len(s.questions) > 0 {
		t.Error("it was asked again")
	}
	if err := r.svc.Resolve(context.Background(), q.ID, report.Answer{Reply: &answer}); !errors.Is(err, ErrAlreadyResolved) {
		t.Errorf("a second answer: %v", err)
	}
	if _, open, _ = r.svc.Pending(context.Background()); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
}

func TestAQuestionResumedIsShownAgain(t *testing.T) {
	r := newRig(t)
	s := withQuestions(r, nil)
	r.family(asks)
	run := r.start("go")
	q := <-s.questions
	r.close()
	r.open()
	s = withQuestions(r, func(context.Context, report.Question) (report.Reply, error) { return report.Reply{Text: "80"}, nil })
	r.family(asks)
	if _, err := r.svc.Resume(context.Background(), run.SessionID); err != nil {
		t.Fatal(err)
	}
	if again := <-s.questions; again.ID != q.ID {
		t.Errorf("asked as %s, want the same question %s", again.ID, q.ID)
	}
	if end := r.wait(run.RunID); *end.Output != "the user answers: 80" {
		t.Errorf("output = %q", *end.Output)
	}
}

func TestCancelWithdrawsAQuestion(t *testing.T) {
	r := newRig(t)
	s := withQuestions(r, nil)
	r.family(asks)
	run := r.start("go")
	q := <-s.questions
	begun := time.Now()
	if _, err := r.svc.Cancel(context.Background(), run.RunID, ""); err != nil {
		t.Fatal(err)
	}
	r.wait(run.RunID)
	if took := time.Since(begun); took > time.Second {
		t.Errorf("the cancel took %v", took)
	}
	<-s.taken
	if _, open, _ := r.svc.Pending(context.Background()); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
	answer := "late"
	if err := r.svc.Resolve(context.Background(), q.ID, report.Answer{Reply: &answer}); !errors.Is(err, ErrAlreadyResolved) {
		t.Errorf("a late answer: %v", err)
	}
}

// TestAnotherWindowAnswersAQuestion: two processes, one journal.
func TestAnotherWindowAnswersAQuestion(t *testing.T) {
	r := newRig(t)
	s := withQuestions(r, nil)
	r.family(asks)
	run := r.start("go")
	q := <-s.questions
	other, err := openAgain(r)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.AnswerQuestion(context.Background(), q.ID, report.Reply{Text: "443", By: "here"}); err != nil {
		t.Fatal(err)
	}
	if end := r.wait(run.RunID); *end.Output != "the user answers: 443" {
		t.Errorf("output = %q", *end.Output)
	}
	var settled *Settled
	if cause := <-s.taken; !errors.As(cause, &settled) || settled.By != "elsewhere" {
		t.Errorf("taken down because %v", cause)
	}
}
