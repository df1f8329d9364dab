package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agent-ls/loop"
)

//go:embed todowrite.md
var todoWriteDoc string

const todoReadDoc = "Shows the list of tasks that you keep with `todowrite`."

const (
	maxTodos    = 100
	maxTodoText = 1000 // bytes of one task
)

type todoRead struct{}

func (todoRead) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "todoread", Description: todoReadDoc, Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{}}`)}
}

func (todoRead) Prepare(context.Context, json.RawMessage) (loop.Plan, error) {
	return loop.Plan{Effect: loop.Read, Title: "read the tasks", ConcurrencySafe: true}, nil
}

func (todoRead) Run(_ context.Context, call loop.Invocation) loop.ToolResult {
	return success(todoText(call.Todos))
}

type todoWrite struct{}

func (todoWrite) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: "todowrite", Description: todoWriteDoc, Schema: json.RawMessage(`{
"type":"object","additionalProperties":false,"required":["todos"],"properties":{
"todos":{"type":"array","maxItems":100,"description":"The whole list in its order; it replaces the one before.","items":{
"type":"object","required":["content","status"],"properties":{
"content":{"type":"string","minLength":1,"description":"The task in a few words."},
"status":{"type":"string","enum":["pending","in_progress","completed"]}}}}}}`)}
}

// Prepare says that the call only reads: what it changes is the session's own
// note, neither a file nor anything that outlives the session.
func (todoWrite) Prepare(_ context.Context, args json.RawMessage) (loop.Plan, error) {
	list, err := todosOf(args)
	if err != nil {
		return loop.Plan{}, err
	}
	title := fmt.Sprintf("keep %d tasks, %d of them open", len(list.Items), list.Open())
	return loop.Plan{Effect: loop.Read, Title: title}, nil
}

func (todoWrite) Run(_ context.Context, call loop.Invocation) loop.ToolResult {
	list, err := todosOf(call.Arguments)
	if err != nil {
		return failure(err.Error())
	}
	if call.KeepTodos == nil {
		return failure("nobody keeps tasks here")
	}
	call.KeepTodos(list)
	return success(todoText(list))
}

func todosOf(args json.RawMessage) (*loop.TodoList, error) {
	var a struct {
		Todos []loop.Todo `json:"todos"`
	}
	if err := decode(args, &a); err != nil {
		return nil, err
	}
	if len(a.Todos) > maxTodos {
		return nil, fmt.Errorf("%d tasks are more than %d", len(a.Todos), maxTodos)
	}
	list := &loop.TodoList{Items: []loop.Todo{}}
	for i, t := range a.Todos {
		t.Content = strings.TrimSpace(visible(t.Content))
		switch {
		case t.Content == "":
			return nil, fmt.Errorf("task %d is empty", i+1)
		case len(t.Content) > maxTodoText:
			return nil, fmt.Errorf("task %d has %d bytes, more than %d", i+1, len(t.Content), maxTodoText)
		}
		switch t.Status {
		case loop.TodoPending, loop.TodoInProgress, loop.TodoCompleted:
		default:
			return nil, errors.New("a task's status is pending, in_progress or completed")
		}
		list.Items = append(list.Items, t)
	}
	return list, nil
}

var todoMarks = map[loop.TodoStatus]string{loop.TodoPending: "[ ]", loop.TodoInProgress: "[>]", loop.TodoCompleted: "[x]"}

func todoText(list *loop.TodoList) string {
	if list == nil || len(list.Items) == 0 {
		return "there are no tasks"
	}
	var b strings.Builder
	for _, t := range list.Items {
		fmt.Fprintf(&b, "%s %s\n", todoMarks[t.Status], t.Content)
	}
	fmt.Fprintf(&b, "%d of %d open", list.Open(), len(list.Items))
	return b.String()
}
