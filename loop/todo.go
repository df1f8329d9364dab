package loop

import (
	"fmt"
	"strings"
)

// TodoStatus is how far a task is.
type TodoStatus string

const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
)

// Todo is one task of the list that a model keeps for itself.
type Todo struct {
	Content string     `json:"content"`
	Status  TodoStatus `json:"status"`
}

// TodoList is a session's tasks in their order.
type TodoList struct {
	Items []Todo `json:"items"`
}

// Open counts the tasks that are not completed.
func (l *TodoList) Open() int {
	if l == nil {
		return 0
	}
	n := 0
	for _, t := range l.Items {
		if t.Status != TodoCompleted {
			n++
		}
	}
	return n
}

// shownTasks bounds how many open tasks a reminder names.
const shownTasks = 20

// reminder names the open tasks to a model that is about to stop.
func (l *TodoList) reminder() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the %d tasks on your list are still open:\n", l.Open(), len(l.Items))
	shown := 0
	for _, t := range l.Items {
		if t.Status == TodoCompleted {
			continue
		}
		if shown == shownTasks {
			fmt.Fprintf(&b, "and %d more\n", l.Open()-shown)
			break
		}
		shown++
		fmt.Fprintf(&b, "- %s (%s)\n", strings.Join(strings.Fields(t.Content), " "), t.Status)
	}
	b.WriteString("Go on with them. If they are done, or are not to be done, write that into the list with todowrite, and end with your answer.")
	return b.String()
}
