package loop

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
