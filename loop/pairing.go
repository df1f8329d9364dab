package loop

import "fmt"

// WellFormed says what is wrong with a history: a call without exactly one
// result right behind it, a result without a call, or a message whose role
// does not fit what it holds. An open batch at the end is wrong too: no request
// may carry it.
func WellFormed(messages []Message) error {
	var open []string
	for i, m := range messages {
		results, err := checkMessage(m)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if len(open) != len(results) {
			return fmt.Errorf("message %d: %d calls before it, %d results in it", i, len(open), len(results))
		}
		for k := range open {
			if open[k] != results[k] {
				return fmt.Errorf("message %d: the result for %s is where the one for %s belongs", i, results[k], open[k])
			}
		}
		open = calls(m)
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls at the end have no result", len(open))
	}
	return nil
}

func checkMessage(m Message) (results []string, err error) {
	if len(m.Blocks) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	for _, b := range m.Blocks {
		switch {
		case b.Kind == CallBlock && (m.Role != Assistant || b.Call == nil):
			return nil, fmt.Errorf("a call that is not the model's")
		case b.Kind == ResultBlock && (m.Role != User || b.Result == nil):
			return nil, fmt.Errorf("a result that is not the user's")
		case b.Kind == ResultBlock:
			results = append(results, b.Result.CallID)
		}
	}
	return results, nil
}

func calls(m Message) []string {
	var ids []string
	for _, b := range m.Blocks {
		if b.Kind == CallBlock && b.Call != nil {
			ids = append(ids, b.Call.ID)
		}
	}
	return ids
}

// Repair makes a history well-formed, whatever it was: calls without a result
// get one that says so, results without a call and empty messages go. It
// returns the ids of the calls that it changed something for; a history that
// was right comes back as it is.
func Repair(messages []Message) ([]Message, []string) {
	if WellFormed(messages) == nil {
		return messages, nil
	}
	var repaired []Message
	var touched []string
	seen := map[string]bool{}
	for i, m := range messages {
		var kept []Block
		for _, b := range m.Blocks {
			switch {
			case b.Kind == ResultBlock: // put back behind its call, below
				if b.Result != nil && !resultWanted(messages, i, b.Result.CallID) {
					touched = append(touched, b.Result.CallID)
				}
			case b.Kind == CallBlock && (b.Call == nil || m.Role != Assistant || seen[b.Call.ID]):
				if b.Call != nil {
					touched = append(touched, b.Call.ID)
				}
			default:
				if b.Kind == CallBlock {
					seen[b.Call.ID] = true
				}
				kept = append(kept, b)
			}
		}
		if len(kept) == 0 {
			continue
		}
		m.Blocks = kept
		repaired = append(repaired, m)
		if ids := calls(m); len(ids) > 0 {
			results, lost := resultsFor(ids, messages, i)
			repaired, touched = append(repaired, Message{Role: User, Blocks: results}), append(touched, lost...)
		}
	}
	return repaired, touched
}

// resultWanted says whether the message before i has that call.
func resultWanted(messages []Message, i int, id string) bool {
	if i == 0 {
		return false
	}
	for _, have := range calls(messages[i-1]) {
		if have == id {
			return true
		}
	}
	return false
}

func resultsFor(ids []string, messages []Message, i int) (blocks []Block, lost []string) {
	for _, id := range ids {
		var found *ToolResult
		if i+1 < len(messages) {
			for _, b := range messages[i+1].Blocks {
				if b.Kind == ResultBlock && b.Result != nil && b.Result.CallID == id && found == nil {
					found = b.Result
				}
			}
		}
		if found == nil {
			lost = append(lost, id)
			found = &ToolResult{CallID: id, IsError: true, Outcome: CallInterrupted, Text: "the result of this call is lost: it may or may not have happened"}
		}
		blocks = append(blocks, Block{Kind: ResultBlock, Result: found})
	}
	return blocks, lost
}
