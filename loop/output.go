package loop

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MaxOutputAsks is how often in a run the model is asked for an output that
// fits the schema, behind an answer that does not.
const MaxOutputAsks = 3

// OutputCourse is the structured output that a run ends with.
type OutputCourse struct {
	Schema json.RawMessage `json:"schema"` // a JSON schema
}

// OutputFormat asks a model for an answer that is one JSON value and nothing
// else. The provider is made to keep to it where it can.
type OutputFormat struct {
	Name   string // letters, digits and _
	Schema json.RawMessage
}

// endsHere says that the run ends with the stage when the model is done, as
// things stand.
func (s *State) endsHere() bool {
	_, goesOn := s.next(OnFinished)
	return !goesOn
}

// OutputFormat is what the next answer has to be, nil when it may be anything.
func (s *State) OutputFormat() *OutputFormat {
	if s.Course.Output == nil || !s.OutputDue {
		return nil
	}
	return &OutputFormat{Name: "final_output", Schema: s.Course.Output.Schema}
}

// outputWanted tells a model whose answer ends the run what that answer has to
// be.
func (s *State) outputWanted() string {
	if s.Course.Output == nil || !s.endsHere() {
		return ""
	}
	return fmt.Sprintf("A program reads your last answer, the one without tool calls. It has to be one JSON value and nothing else, without prose and without a code fence, and to fit this JSON schema:\n%s",
		s.Clean(strings.TrimSpace(string(s.Course.Output.Schema))))
}

// finalText is the text of the newest message, if that is an answer.
func (s *State) finalText() string {
	messages := s.History.Messages()
	if n := len(messages); n > 0 && messages[n-1].Role == Assistant {
		return blockText(messages[n-1].Blocks)
	}
	return ""
}

// readsOutput has the output read from the answer that would end the run.
// False means that the run wants none.
func (m *machine) readsOutput() bool {
	if m.Course.Output == nil {
		return false
	}
	m.readOutput(m.finalText())
	return true
}

func (m *machine) readOutput(text string) {
	m.Phase = Reading
	m.ask(Command{Kind: CheckOutput, Text: text})
}

// outputChecked goes on with the output, or asks the model for another one.
func (m *machine) outputChecked(e Event) {
	if m.Phase != Reading || e.Step != m.Step {
		return
	}
	fits := e.Error == "" && len(e.Structured) > 0
	if m.Outcome == "left" { // on_completion gave it
		if !fits {
			m.failLeft(StopHook, "on_completion replaced the output by one that cannot be used: "+e.Error)
			return
		}
		m.Structured, m.Output = e.Structured, string(e.Structured)
		m.finish(Ending{Status: RunDone, Stop: StopEnd})
		return
	}
	switch {
	case len(m.Steers)+len(m.FollowUps) > 0:
		m.finishStage() // it was not the last answer
	case fits:
		m.Structured, m.Output = e.Structured, string(e.Structured)
		m.leave(OnFinished)
	case m.OutputAsks >= MaxOutputAsks:
		m.failLeft(StopModel, fmt.Sprintf("the answer is no output that can be used, after %d more requests for one: %s", m.OutputAsks, e.Error))
	default:
		m.OutputAsks++
		m.OutputDue = true
		m.addUser(Block{Kind: ReminderBlock, Text: "your last answer cannot be used as the output: " + e.Error + ". Give the output now: the JSON value alone, in the form that the system text asks for"})
		m.nextTurn()
	}
}
